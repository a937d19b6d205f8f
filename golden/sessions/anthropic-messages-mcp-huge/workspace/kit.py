"""A small MCP server over stdio whose tool returns as much text as it is asked for."""

import json
import sys

TOOLS = [{"name": "print", "description": "Prints words.", "inputSchema": {"type": "object", "properties": {"words": {"type": "integer"}}}}]

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
        result = {"content": [{"type": "text", "text": "words " * message["params"]["arguments"]["words"]}]}
    say({"jsonrpc": "2.0", "id": number, "result": result})
