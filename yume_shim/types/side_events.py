"""What happens beside the turns of the model: the history is summed up, a command of ours has its say. Part of
`types/events.py`, from where everybody imports it."""

from __future__ import annotations

from yume_shim.types.blocks import Message
from yume_shim.types.value import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Trigger = Literal["manual", "auto"]


@value
class Compacting:
    """The model is asked to sum up the history. Its answer is not shown."""

    trigger: Trigger


@value
class CompactEnded:
    """The request for a summary is over; `error` says why there is none ("" = there is)."""

    error: str = ""


@value
class Compacted:
    """The history is now `summary`, then `kept`; what stood before them is gone from the model's sight, not from the
    transcript. The event's own uuid is that of the summary, `boundary_uuid` that of the line before it. Sizes are
    tokens; `dropped` is what all compactions of this session took away."""

    trigger: Trigger
    before: int
    after: int
    dropped: int
    duration_ms: int
    summary: Message
    kept: tuple[Message, ...]
    """As they stand in the history: a transcript that is read from the summary on needs them again behind it."""
    boundary_uuid: str
    instructions: str = ""
    estimated: bool = True


@value
class LocalCommandDone:
    """A slash command that this program runs itself has something to say. `failed` is the code of what went wrong
    ("" = nothing did)."""

    name: str
    text: str
    failed: str = ""


@value
class TaskStarted:
    """A command runs on beside the conversation, or (not `backgrounded`) the conversation waits for it for long."""

    task_id: str
    call_id: str
    description: str
    backgrounded: bool = True


@value
class TaskEnded:
    """It is over: by itself, or because it was stopped."""

    task_id: str
    call_id: str
    status: Literal["completed", "failed", "stopped"]
    output_file: str
    summary: str
