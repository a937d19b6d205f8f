"""Prompts of MCP servers as slash commands: `/mcp__server__prompt words` becomes the text that the server makes."""

from __future__ import annotations

import shlex

from yume_shim.extensions.mcp.errors import McpError, NoAnswer
from yume_shim.extensions.mcp.names import PREFIX, plain
from yume_shim.extensions.mcp.results import resource_blocks
from yume_shim.types.errors import ToolFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from yume_shim.extensions.mcp.server import Server
    from yume_shim.types.blocks import Json
    from yume_shim.types.ports import Cancel

MAX_PROMPTS = 500
MAX_DESCRIPTION = 1_000
MAX_TEXT = 400_000
"""Characters of a prompt that the model gets; the rest is cut off, with a word about it."""


def commands(servers: Iterable[Server]) -> tuple[Json, ...]:
    """The commands of all connected servers, as `initialize` lists them."""
    found = [_listed(name, entry) for _, name, entry in _all(servers)]
    return tuple(found[:MAX_PROMPTS])


def prompt_text(servers: Iterable[Server], command: str, arguments: str, cancel: Cancel) -> str | None:
    """The text of a prompt; None if no server has it. Raises ToolFailed or Cancelled."""
    for server, name, entry in _all(servers):
        if name == command:
            return _fetch(server, entry, arguments, cancel)
    return None


def _all(servers: Iterable[Server]) -> Iterable[tuple[Server, str, Json]]:
    for server in servers:
        if server.status == "connected":
            for entry in server.prompts:
                if isinstance(entry.get("name"), str):
                    yield server, f"{PREFIX}{plain(server.config.name)}__{plain(entry['name'])}", entry


def _listed(name: str, entry: Json) -> Json:
    text = entry.get("description") or entry.get("title")
    hint = " ".join(f"<{given}>" if needed else f"[{given}]" for given, needed in _arguments(entry))
    return {
        "name": name,
        "description": text[:MAX_DESCRIPTION] if isinstance(text, str) else "",
        "argumentHint": hint[:MAX_DESCRIPTION],
    }


def _arguments(entry: Json) -> list[tuple[str, bool]]:
    """(name, required) of each argument."""
    listed = entry.get("arguments")
    each = [given for given in listed if isinstance(given, dict)] if isinstance(listed, list) else []
    return [(given["name"], given.get("required") is True) for given in each if isinstance(given.get("name"), str)]


def _fetch(server: Server, entry: Json, arguments: str, cancel: Cancel) -> str:
    wanted = _arguments(entry)
    given = dict(zip((name for name, _ in wanted), _words(arguments, len(wanted)), strict=False))
    missing = [name for name, needed in wanted if needed and name not in given]
    if missing:
        raise ToolFailed(f"Missing argument: {', '.join(missing)}")
    try:
        result = server.request("prompts/get", {"name": entry["name"], "arguments": given}, cancel)
    except NoAnswer:
        raise ToolFailed(f'MCP server "{server.config.name}" did not answer in time') from None
    except McpError as error:
        raise ToolFailed(error.message) from None
    messages = result.get("messages")
    each = [message for message in messages if isinstance(message, dict)] if isinstance(messages, list) else []
    text = "\n\n".join(part for message in each for part in _parts(message.get("content")) if part)
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}\n[cut off: {len(text)} characters]"


def _words(arguments: str, count: int) -> list[str]:
    """The arguments in order: quotes hold words together, and the last argument takes all that is left."""
    try:
        words = shlex.split(arguments)
    except ValueError:  # a quotation mark without its partner is a part of the text
        words = arguments.split()
    if count and len(words) > count:
        words = [*words[: count - 1], " ".join(words[count - 1 :])]
    return words


def _parts(content: object) -> list[str]:
    if not isinstance(content, dict):
        return []
    match content.get("type"):
        case "text":
            return [str(content.get("text", ""))]
        case "resource" if isinstance(content.get("resource"), dict):
            return [getattr(block, "text", "[content left out]") for block in resource_blocks(content["resource"])]
        case kind:
            return [f"[{kind} left out: a prompt can only hold text here]"]
