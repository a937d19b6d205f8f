"""A small MCP server over stdio with tools that misbehave: `python3 kit.py [SECONDS]` waits before its first answer."""

import json
import os
import sys
import time

TOOLS = [{"name": name, "description": text, "inputSchema": {"type": "object"}} for name, text in (
    ("lookup", "Looks a word up."), ("crash", "Ends the server."), ("hang", "Never answers."),
)]
PAUSE = float(sys.argv[1]) if len(sys.argv) > 1 else 0.0
for line in sys.stdin:
    message = json.loads(line)
    number, method = message.get("id"), message.get("method")
    if number is None:
        continue
    if method == "initialize":
        time.sleep(PAUSE)
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "kit", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": TOOLS}
    else:
        match message["params"]["name"]:
            case "crash":
                os._exit(3)
            case "hang":
                continue
            case _:
                result = {"content": [], "structuredContent": {"meaning": "a flower"}}
    print(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}), flush=True)
