"""An MCP server over stdio whose tools return a picture and far too much text; standard library only."""

from __future__ import annotations

import json
import sys
from typing import Any

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
RESULTS: dict[str, list[dict[str, Any]]] = {
    "picture": [
        {"type": "text", "text": "A dot:"},
        {"type": "image", "data": PICTURE, "mimeType": "image/png"},
    ],
    "huge": [{"type": "text", "text": "many words " * 30_000}],
}


def main() -> None:
    """Answer until the input ends."""
    result: dict[str, Any]
    for line in sys.stdin:
        message = json.loads(line)
        match message["method"]:
            case "initialize":
                info = {"name": "kit", "version": "1"}
                result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
            case "tools/list":
                result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in RESULTS]}
            case _:
                result = {"content": RESULTS.get(message.get("params", {}).get("name"), [])}
        if "id" in message:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\n")
            sys.stdout.flush()


main()
