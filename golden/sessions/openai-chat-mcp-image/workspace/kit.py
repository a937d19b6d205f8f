"""A small MCP server over stdio whose tool returns content of several kinds."""

import json
import sys

TOOLS = [{"name": "show", "description": "Shows things.", "inputSchema": {"type": "object"}}]
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

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
        content = [
            {"type": "text", "text": "A dot:"},
            {"type": "image", "data": PICTURE, "mimeType": "image/png"},
            {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
            {"type": "resource_link", "uri": "file:///dot.svg", "name": "dot", "description": "The same as SVG"},
        ]
        result = {"content": content}
    say({"jsonrpc": "2.0", "id": number, "result": result})
