"""Lines and objects of the flat dialect that show what happens while it happens."""

from __future__ import annotations

from yume_shim.dialects.records.live_records import (
    ApprovalWithdrawnLine,
    CompactEndedLine,
    CompactStartedLine,
    ContextParts,
    ContextUsageLine,
    Patch,
    ResultImage,
    TodosLine,
    ToolOutputLine,
    ToolQueuedLine,
)
from yume_shim.types.blocks import Image
from yume_shim.types.events import (
    CompactEnded,
    Compacting,
    ContextMeasured,
    TodosChanged,
    ToolOutputAdded,
    ToolQueued,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json, ToolCall, ToolResult
    from yume_shim.types.file_patch import FilePatch

PATCH_SHARE = 3
"""A patch takes at most this part of a line: one third."""
IMAGE_SHARE = 2
"""Images take at most this part of a line: one half."""
WORST_ESCAPE = 6
"""Bytes a single character can take in JSON: `\\u0001`."""
HUNK_OVERHEAD = 80
LINE_OVERHEAD = 3


def live_line(event: Compacting | CompactEnded | ContextMeasured | TodosChanged | ToolOutputAdded | ToolQueued) -> Json:
    """The line of an event."""
    match event:
        case ToolQueued():
            return ToolQueuedLine(tool_use_id=event.call.id, name=event.call.name)
        case ToolOutputAdded():
            return ToolOutputLine(tool_use_id=event.call.id, content=event.text, dropped_bytes=event.dropped or None)
        case TodosChanged():
            return TodosLine(todos=list(event.todos))
        case Compacting():
            return CompactStartedLine(trigger=event.trigger)
        case CompactEnded():
            return CompactEndedLine(error=event.error or None)
        case ContextMeasured():
            return ContextUsageLine(
                used=event.used,
                window=event.window,
                estimated=True if event.estimated else None,
                parts=ContextParts(
                    system=event.system, tools=event.tools, memory=event.memory, messages=event.messages
                ),
            )


def withdrawn_line(call_id: str) -> Json:
    """`system/approval_withdrawn`."""
    return ApprovalWithdrawnLine(tool_use_id=call_id)


def patch_object(patch: FilePatch, room: int) -> Patch:
    """The patch, as many whole hunks of it as fit into a third of a line."""
    left, hunks = room // PATCH_SHARE, []
    for hunk in patch.hunks:
        left -= HUNK_OVERHEAD + sum(_size_of(line) + LINE_OVERHEAD for line in hunk["lines"])
        if left < 0:
            break
        hunks.append(hunk)
    cut = len(hunks) < len(patch.hunks)
    return Patch(file_path=patch.path, hunks=hunks, truncated=True if cut else None)  # type: ignore[arg-type]


def _size_of(line: str) -> int:
    """Bytes of a line in JSON, at most."""
    return len(line.encode("utf-8", "replace")) if line.isprintable() and '"' not in line else len(line) * WORST_ESCAPE


def image_objects(result: ToolResult, call: ToolCall, room: int) -> list[ResultImage]:
    """The images of a result."""
    if isinstance(result.content, str):
        return []
    left = room // IMAGE_SHARE
    made: list[ResultImage] = []
    for part in result.content:
        if not isinstance(part, Image):
            continue
        if part.data and len(part.data) <= left:
            left -= len(part.data)
            made.append(ResultImage(media_type=part.media_type, data=part.data))
            continue
        path = call.input.get("file_path")
        made.append(
            ResultImage(
                media_type=part.media_type,
                url=part.url or None,
                path=path if part.data and isinstance(path, str) else None,
                bytes=len(part.data) * 3 // 4 or None,
            )
        )
    return made
