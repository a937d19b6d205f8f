"""The control request `list_tools`."""

from __future__ import annotations

from yume_shim.app.pages import page, whole
from yume_shim.types.answer_records import ToolInfo, ToolsAnswer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from yume_shim.types.blocks import Json
    from yume_shim.types.models import ToolSpec
    from yume_shim.types.settings import Settings

MAX_DESCRIPTION = 300
"""Characters of a description: a menu needs its first sentence."""
PER_ANSWER = 500
MAX_OFFSET = 1_000_000


def tool_list(body: Json, specs: Iterable[ToolSpec], settings: Settings) -> Json:
    """The answer; raises BadLine."""
    offset = whole(body, "offset", 0, least=0, most=MAX_OFFSET)
    tools, following = page((_entry(spec) for spec in specs), offset, PER_ANSWER, settings)
    return ToolsAnswer(tools=tools, next_offset=following)  # type: ignore[arg-type]  # ToolInfo makes them


def _entry(spec: ToolSpec) -> Json:
    from_server = spec.name.startswith("mcp__")
    return ToolInfo(
        name=spec.name,
        description=" ".join(spec.description.split())[:MAX_DESCRIPTION],
        source="mcp" if from_server else "builtin",
        server=spec.name.split("__")[1] if from_server else None,
        read_only=spec.kind == "read",
    )
