"""An MCP server whose one tool allows to write files, except secret ones."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    number, method = message.get("id"), message.get("method")
    if number is None:
        continue
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "guard", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": "ask", "inputSchema": {"type": "object"}}]}
    else:
        given = message["params"]["arguments"]
        answer = {"behavior": "allow", "updatedInput": given["input"]}
        if "secret" in given["input"]["file_path"]:
            answer = {"behavior": "deny", "message": "not this file"}
        result = {"content": [{"type": "text", "text": json.dumps(answer)}]}
    print(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}), flush=True)
