"""A small MCP server over stdio whose first tool adds a second one."""

import json
import sys

TOOLS = [{"name": "grow", "description": "Adds a tool.", "inputSchema": {"type": "object"}}]

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
        name = message["params"]["name"]
        if name == "grow":
            TOOLS.append({"name": "fresh", "description": "Is new.", "inputSchema": {"type": "object"}})
            say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        result = {"content": [{"type": "text", "text": f"{name} is done"}]}
    say({"jsonrpc": "2.0", "id": number, "result": result})
