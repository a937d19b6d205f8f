"""A small MCP server over stdio whose tool floods its client before it answers."""

import json
import sys

TOOLS = [{"name": "flood", "description": "Answers late.", "inputSchema": {"type": "object"}}]

def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


for line in sys.stdin:
    message = json.loads(line)
    number, method = message.get("id"), message.get("method")
    if number is None:
        continue
    if method == "initialize":
        tools = {"listChanged": True}
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": tools}, "serverInfo": {"name": "kit", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": TOOLS}
    else:
        token = message["params"].get("_meta", {}).get("progressToken")
        for step in range(500):
            say({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x" * 200}})
            say({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": step, "total": 500}})
            say({"jsonrpc": "2.0", "id": 10_000 + step, "result": {}})
        sys.stderr.write("noise\n" * 20_000)
        result = {"content": [{"type": "text", "text": "at last"}]}
    say({"jsonrpc": "2.0", "id": number, "result": result})
