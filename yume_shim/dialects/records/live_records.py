"""Lines of the flat dialect for hosts that draw what happens while it happens, and the objects inside them."""

from __future__ import annotations

from yume_shim.dialects.records.flat_records import FlatLine
from yume_shim.types.record import ABSENT, Record, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from yume_shim.types.blocks import Json


@record
class ToolUseDeltaLine(FlatLine):
    """A piece of a call's arguments as the model writes them (`--tool-use-deltas`): all `delta`s of one `id` are its
    JSON. The first one is empty. The call itself follows as `tool_use`, unless the response is dropped."""

    type: Literal["tool_use_delta"] = "tool_use_delta"
    id: str
    name: str
    delta: str


@record
class ToolQueuedLine(FlatLine):
    """A call of this answer waits until the calls before it have ended; its `tool_use` follows then."""

    type: Literal["system"] = "system"
    subtype: Literal["tool_queued"] = "tool_queued"
    tool_use_id: str
    name: str


@record
class ToolOutputLine(FlatLine):
    """What a running command has printed since the last such line, at most twice a second. It is for the eye: the
    `tool_result` has the output. `dropped_bytes` before it are not shown."""

    type: Literal["tool_output"] = "tool_output"
    tool_use_id: str
    content: str
    dropped_bytes: int | None = ABSENT


@record
class ContextParts(Record):
    """Estimated tokens by kind; `messages` is the rest."""

    system: int
    tools: int
    memory: int
    messages: int


@record
class ContextUsageLine(FlatLine):
    """How full the context is, in tokens, after each answer. `estimated` marks a `used` that the provider did not
    count."""

    type: Literal["system"] = "system"
    subtype: Literal["context_usage"] = "context_usage"
    used: int
    window: int
    estimated: Literal[True] | None = ABSENT
    parts: ContextParts


@record
class TodosLine(FlatLine):
    """The to-do list as it is now, after each change: items have `content`, `status` and `activeForm`."""

    type: Literal["system"] = "system"
    subtype: Literal["todos"] = "todos"
    todos: list[Json]


@record
class CompactStartedLine(FlatLine):
    """The history is being summarised."""

    type: Literal["system"] = "system"
    subtype: Literal["compact_started"] = "compact_started"
    trigger: Literal["manual", "auto"]


@record
class CompactEndedLine(FlatLine):
    """The summary is made, or `error` says why there is none. `compact_boundary` follows when the history changes."""

    type: Literal["system"] = "system"
    subtype: Literal["compact_ended"] = "compact_ended"
    error: str | None = ABSENT


@record
class ApprovalWithdrawnLine(FlatLine):
    """The question about this call no longer needs an answer."""

    type: Literal["system"] = "system"
    subtype: Literal["approval_withdrawn"] = "approval_withdrawn"
    tool_use_id: str


# ---------------------------------------------------------------- objects


@record
class Hunk(Record):
    """One place of a unified diff. `lines` begin with a blank, `-`, `+` or `\\`."""

    oldStart: int
    oldLines: int
    newStart: int
    newLines: int
    lines: list[str]


@record
class Patch(Record):
    """A change of one file. `truncated`: it was too long for the line, and later hunks are left out."""

    file_path: str
    hunks: list[Hunk]
    truncated: Literal[True] | None = ABSENT


@record
class ResultImage(Record):
    """An image of a result: `data` (base64) if the line has room for it, else where it comes from."""

    media_type: str
    data: str | None = ABSENT
    url: str | None = ABSENT
    path: str | None = ABSENT
    bytes: int | None = ABSENT
