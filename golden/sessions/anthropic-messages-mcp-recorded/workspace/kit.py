"""The small MCP server over stdio that `mcp/kit.jsonl` is a recording of; the replay never starts it."""

import json
import os
import sys

SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}}
TOOLS = [
    {"name": "lookup", "description": "Looks a word up.", "inputSchema": SCHEMA},
    {"name": "crash", "description": "Ends the server.", "inputSchema": {"type": "object"}},
]


def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


for line in sys.stdin:
    message = json.loads(line)
    number, method = message.get("id"), message.get("method")
    if number is None:
        continue
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "kit", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": TOOLS}
    else:
        if message["params"]["name"] == "crash":
            os._exit(3)
        token = message["params"].get("_meta", {}).get("progressToken")
        say({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": 1, "total": 2}})
        result = {"content": [{"type": "text", "text": "a flower"}]}
    say({"jsonrpc": "2.0", "id": number, "result": result})
