import json
import sys

TOOL = {"name": "look", "description": "Looks.", "inputSchema": {"type": "object"}}
ANSWERS = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "k", "version": "1"}},
    "tools/list": {"tools": [TOOL]},
    "tools/call": {"content": [{"type": "text", "text": "the key is 1234"}]},
}
for line in sys.stdin:
    request = json.loads(line)
    if "id" in request and request.get("method") in ANSWERS:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": ANSWERS[request["method"]]}), flush=True)
    elif "id" in request:
        error = {"code": -32601, "message": "unknown method"}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}), flush=True)
