"""A small MCP server over stdio: two tools, one of which fails."""

import json
import sys

TOOLS = [
    {"name": "lookup", "description": "Looks a word up.", "inputSchema": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}},
    {"name": "fail.now", "description": "Always fails.", "inputSchema": {"type": "object"}},
]
RESULTS = {
    "lookup": {"content": [{"type": "text", "text": "a flower"}], "structuredContent": {"meaning": "a flower"}},
    "fail.now": {"content": [{"type": "text", "text": "the dictionary is closed"}], "isError": True},
}
for line in sys.stdin:
    message = json.loads(line)
    number, method = message.get("id"), message.get("method")
    if number is None:
        continue
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "words", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": TOOLS}
    else:
        result = RESULTS[message["params"]["name"]]
    print(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}), flush=True)
