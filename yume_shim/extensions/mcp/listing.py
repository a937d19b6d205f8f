"""Reads the lists of a server (tools, prompts, resources), page by page, and checks their entries."""

from __future__ import annotations

from yume_shim.extensions.mcp.errors import McpError, RpcError
from yume_shim.extensions.mcp.names import tool_name
from yume_shim.extensions.mcp.peer import METHOD_NOT_FOUND
from yume_shim.extensions.mcp.schemas import object_root
from yume_shim.types.models import ToolSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from yume_shim.extensions.mcp.peer import Peer
    from yume_shim.types.blocks import Json
    from yume_shim.types.ports import Cancel

MAX_PAGES = 100
MAX_ENTRIES = 2_000
"""Limits of one list: a server that never ends its list is cut off here."""
MAX_DESCRIPTION = 2_048
"""Characters of a tool's description; the Claude CLI cuts longer ones too."""
MAX_NAMED, MAX_LOGGED = 10, 80
"""Tools that a warning names, and characters of each name."""


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


def tool_specs(
    server: str, entries: list[Json], log: Callable[[str, str], None] | None = None
) -> dict[str, tuple[str, ToolSpec]]:
    """Full name → (the server's own name, spec). The first of two tools whose full names are equal wins. Tools that
    cannot be offered are left out, and the log says why."""
    found: dict[str, tuple[str, ToolSpec]] = {}
    left_out: list[str] = []
    for entry in entries:
        own, schema = entry.get("name"), object_root(entry.get("inputSchema"))
        if not isinstance(own, str) or not own:
            left_out.append(f"{str(own)[:MAX_LOGGED]!r} is not a name")
            continue
        full = tool_name(server, own)
        if schema is None or full in found:
            why = "its input schema does not describe an object" if schema is None else f"{full} is there already"
            left_out.append(f"{own[:MAX_LOGGED]}: {why}")
            continue
        text = entry.get("description")
        spec = ToolSpec(
            full,
            text[:MAX_DESCRIPTION] if isinstance(text, str) else "",
            schema,
            source="mcp",
            parallel=_hint(entry, "readOnlyHint"),
        )
        found[full] = (own, spec)
    if left_out and log is not None:
        more = f" and {len(left_out) - MAX_NAMED} more" if len(left_out) > MAX_NAMED else ""
        log("warning", f"MCP server {server}: tools are left out: {'; '.join(left_out[:MAX_NAMED])}{more}")
    return found


def _hint(entry: Mapping[str, Any], name: str) -> bool:
    annotations = entry.get("annotations")
    return isinstance(annotations, dict) and annotations.get(name) is True
