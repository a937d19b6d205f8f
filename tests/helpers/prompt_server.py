"""An MCP server over stdio with prompts: `python prompt_server.py`; its tool `more` adds a prompt. Standard library."""

from __future__ import annotations

import json
import sys
from typing import Any

PROMPTS: list[dict[str, Any]] = [
    {
        "name": "greet.all",
        "description": "Greets somebody.",
        "arguments": [{"name": "name", "required": True}, {"name": "words"}],
    },
    {"name": "broken"},
]


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def fetched(params: dict[str, Any]) -> dict[str, Any]:
    if params["name"] == "broken":
        return {"error": {"code": -32000, "message": "the prompt is broken"}}
    text = {"type": "text", "text": f"Say hello: {json.dumps(params['arguments'])}"}
    file = {"type": "resource", "resource": {"uri": "note://x", "text": "From a resource."}}
    picture = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    return {"result": {"messages": [{"role": "user", "content": each} for each in (text, file, picture)]}}


def main() -> None:
    """Answer until the input ends."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        answer: dict[str, Any]
        match message["method"]:
            case "initialize":
                has = {"tools": {}, "prompts": {"listChanged": True}}
                info = {"name": "kit", "version": "1"}
                answer = {"result": {"protocolVersion": "2025-11-25", "capabilities": has, "serverInfo": info}}
            case "tools/list":
                answer = {"result": {"tools": [{"name": "more", "inputSchema": {"type": "object"}}]}}
            case "prompts/list":
                answer = {"result": {"prompts": PROMPTS}}
            case "prompts/get":
                answer = fetched(message["params"])
            case _:
                PROMPTS.append({"name": "new", "title": "A new one"})
                say({"method": "notifications/prompts/list_changed"})
                answer = {"result": {"content": [{"type": "text", "text": "added"}]}}
        say({"id": message["id"], **answer})


main()
