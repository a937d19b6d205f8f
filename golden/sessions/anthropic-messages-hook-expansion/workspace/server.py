import json
import sys

TOOL = {"name": "look", "description": "Looks.", "inputSchema": {"type": "object"}}
ANSWERS = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "prompts": {}}, "serverInfo": {"name": "k", "version": "1"}},
    "tools/list": {"tools": [TOOL]},
    "prompts/list": {"prompts": [{"name": "list", "description": "Lists.", "arguments": [{"name": "what"}]}]},
    "prompts/get": {"messages": [{"role": "user", "content": {"type": "text", "text": "List the notes."}}]},
    "tools/call": {"content": [{"type": "text", "text": '{"decision": "block", "reason": "the server says no"}'}]},
}
for line in sys.stdin:
    request = json.loads(line)
    if "id" in request and request.get("method") in ANSWERS:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": ANSWERS[request["method"]]}), flush=True)
    elif "id" in request:
        error = {"code": -32601, "message": "unknown method"}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}), flush=True)
