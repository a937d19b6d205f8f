"""Reads what `yume-shim mcp add` and `add-json` get: words of the command line → the table for the file."""

from __future__ import annotations

import re

from yume_shim.config.mcp_settings import KIND_ALIASES
from yume_shim.text import codec
from yume_shim.types.errors import BadInvocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

SCOPES = ("local", "user", "project")
_MORE = {
    **dict.fromkeys(("-e", "--env"), re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")),
    **dict.fromkeys(("-H", "--header"), re.compile(r"[A-Za-z0-9-]+:")),
}
_KINDS = {str: "string", int: "number", float: "number", bool: "boolean", list: "array", dict: "object"}


def spread(argv: Sequence[str]) -> list[str]:
    """`-e A=1 B=2` as `-e A=1 -e B=2`: in the Claude CLI these options take several values."""
    made: list[str] = []
    option, takes = "", False
    for place, word in enumerate(argv):
        if word == "--":
            return made + list(argv[place:])
        if takes:
            takes = False
        elif word in _MORE:
            option, takes = word, True
        elif option and _MORE[option].match(word):
            made.append(option)
        else:
            option = ""
        made.append(word)
    return made


def check_scope(scope: str) -> str:
    """The scope; raises BadInvocation."""
    if scope not in SCOPES:
        raise BadInvocation(f"Invalid scope: {scope}. Must be one of: {', '.join(SCOPES)}")
    return scope


def table_of(transport: str, target: str, args: Sequence[str], env: Sequence[str], headers: Sequence[str]) -> Any:
    """The table of a server; raises BadInvocation."""
    transport = KIND_ALIASES.get(transport, transport)
    if transport not in ("stdio", "sse", "http"):
        raise BadInvocation(
            f"Invalid transport type: {transport}. Must be one of: stdio, sse, http (or streamable-http)"
        )
    if transport == "stdio":
        return {"type": "stdio", "command": target, "args": list(args), "env": dict(map(_variable, env))}
    if args:
        raise BadInvocation(f"A server with an address takes no further words: {' '.join(args)}")
    check_address(target)
    named = dict(map(_header, headers))
    return {"type": transport, "url": target, **({"headers": named} if named else {})}


def check_address(url: str) -> None:
    """Raises BadInvocation unless it is an address; `${VAR}` in it is replaced later, so it is not judged."""
    from yume_shim.net.url import parse_url

    if "${" in url:
        return
    try:
        parse_url(url)
    except ValueError as error:
        raise BadInvocation(f"Invalid URL {url}: {error}") from None


def table_of_json(text: str) -> dict[str, Any]:
    """The table that `add-json` gets; raises BadInvocation in the Claude CLI's words."""
    table = codec.loads_object(text.encode("utf-8", "replace"))
    if table is None:
        raise BadInvocation("Invalid configuration: not a JSON object. Check its quotes, commas and braces.")
    if "url" in table and "type" not in table:
        raise BadInvocation('Invalid configuration: it has a "url" but no "type". Add "type": "http" (or "sse").')
    kind = table.get("type", "stdio")
    kind = KIND_ALIASES.get(kind, kind) if isinstance(kind, str) else ""
    if kind not in ("stdio", "sse", "http"):
        raise BadInvocation(
            'Invalid configuration: unknown "type". Use "stdio", "sse" or "http" (or "streamable-http").'
        )
    needed: dict[str, type] = {"command": str} if kind == "stdio" else {"url": str}
    _check(table, needed, required=True)
    _check(table, {"args": list, "env": dict, "headers": dict}, required=False)
    if kind != "stdio":
        check_address(table["url"])
    return table


def _check(table: dict[str, Any], fields: dict[str, type], *, required: bool) -> None:
    for field, kind in fields.items():
        given = table.get(field)
        if field not in table and not required:
            continue
        if not isinstance(given, kind):
            got = _KINDS.get(type(given), "null" if field in table else "undefined")
            raise BadInvocation(f"Invalid configuration: {field}: expected {_KINDS[kind]}, received {got}")


def _variable(text: str) -> tuple[str, str]:
    name, equals, content = text.partition("=")
    if not equals or not name:
        raise BadInvocation(
            f"Invalid environment variable format: {text}, "
            "environment variables should be added as: -e KEY1=value1 -e KEY2=value2"
        )
    return name, content


def _header(text: str) -> tuple[str, str]:
    from yume_shim.net.message import is_sendable

    name, colon, content = text.partition(":")
    name, content = name.strip(), content.strip()
    if not colon or not name or not is_sendable(name, content):
        raise BadInvocation(f'Invalid header format: "{text}". Expected format: "Header-Name: value"')
    return name, content
