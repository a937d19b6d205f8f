"""An MCP server over stdio with many tools: `python many_tools_server.py COUNT WORDS`; standard library only."""

from __future__ import annotations

import json
import sys
from typing import Any


def main() -> None:
    """Answer until the input ends. Each description has WORDS words."""
    count, words = int(sys.argv[1]), int(sys.argv[2])
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    padding = " more" * words
    tools = [
        {"name": f"tool_{number:03d}", "description": f"Weather model {number}.{padding}", "inputSchema": schema}
        for number in range(count)
    ]
    result: dict[str, Any]
    for line in sys.stdin:
        message = json.loads(line)
        match message.get("method"):
            case "initialize":
                info = {"name": "many", "version": "1"}
                result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
            case "tools/list":
                result = {"tools": tools}
            case _:
                given = message.get("params", {})
                answer = f"{given.get('name')}: sunny in {given.get('arguments', {}).get('city')}"
                result = {"content": [{"type": "text", "text": answer}]}
        if "id" in message:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\n")
            sys.stdout.flush()


main()
