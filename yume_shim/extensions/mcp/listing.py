"""Reads the lists of a server (tools, prompts, resources), page by page, and checks their entries."""

from __future__ import annotations

from yume_shim.extensions.mcp.errors import McpError, RpcError
from yume_shim.extensions.mcp.names import tool_name
from yume_shim.extensions.mcp.peer import METHOD_NOT_FOUND
from yume_shim.types.models import ToolSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from yume_shim.extensions.mcp.peer import Peer
    from yume_shim.types.blocks import Json
    from yume_shim.types.ports import Cancel

MAX_PAGES = 100
MAX_ENTRIES = 2_000
"""Limits of one list: a server that never ends its list is cut off here."""
MAX_DESCRIPTION = 2_048
"""Characters of a tool's description; the Claude CLI cuts longer ones too."""


def read_list(peer: Peer, method: str, field: str, seconds: float, cancel: Cancel) -> list[Json]:
    """All entries of a list; [] if the server does not have it. Raises McpError or Cancelled."""
    found: list[Json] = []
    cursor: Any = None
    for _ in range(MAX_PAGES):
        try:
            page = peer.request(method, {"cursor": cursor} if cursor else {}, seconds=seconds, cancel=cancel)
        except RpcError as error:
            if error.code == METHOD_NOT_FOUND:
                return found
            raise
        entries = page.get(field)
        found += [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
        cursor = page.get("nextCursor")
        if not isinstance(cursor, str) or not cursor or len(found) >= MAX_ENTRIES:
            return found[:MAX_ENTRIES]
    raise McpError(f"{method} has more than {MAX_PAGES} pages")


def tool_specs(server: str, entries: list[Json]) -> dict[str, tuple[str, ToolSpec]]:
    """Full name → (the server's own name, spec). The first of two tools whose full names are equal wins."""
    found: dict[str, tuple[str, ToolSpec]] = {}
    for entry in entries:
        own = entry.get("name")
        if not isinstance(own, str) or not own:
            continue
        full = tool_name(server, own)
        text = entry.get("description")
        spec = ToolSpec(
            full,
            text[:MAX_DESCRIPTION] if isinstance(text, str) else "",
            _schema(entry.get("inputSchema")),
            source="mcp",
            parallel=_hint(entry, "readOnlyHint"),
        )
        found.setdefault(full, (own, spec))
    return found


def _schema(given: Any) -> Json:
    """The schema of a tool's input, which must describe an object."""
    if not isinstance(given, dict):
        return {"type": "object", "properties": {}}
    return given if given.get("type") == "object" else {**given, "type": "object"}


def _hint(entry: Mapping[str, Any], name: str) -> bool:
    annotations = entry.get("annotations")
    return isinstance(annotations, dict) and annotations.get(name) is True
