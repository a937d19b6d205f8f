"""Events that are not part of a model's turn: compaction, local commands, what changes in a session. Part of
`types/events.py`, from which other modules import them."""

from __future__ import annotations

from yume_shim.types.blocks import Message
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from yume_shim.types.blocks import Json
    from yume_shim.types.errors import Failure

    Trigger = Literal["manual", "auto"]


class Compacting(Value):
    """The model is asked to summarise the history. Its answer is not shown."""

    trigger: Trigger


class CompactEnded(Value):
    """The request for a summary has ended; `error` says why there is none ("" = there is one)."""

    error: str = ""
    failure: Failure | None = None
    """The provider's failure, if that is the reason."""


class Compacted(Value):
    """The history is now `summary`, then `kept`. The model no longer sees the earlier messages; the transcript keeps
    them. The event's own uuid is that of the summary, `boundary_uuid` that of the line before it. Sizes are in tokens;
    `dropped` counts all compactions of this session."""

    trigger: Trigger
    before: int
    after: int
    dropped: int
    duration_ms: int
    summary: Message
    kept: tuple[Message, ...]
    """Messages that stay in the history. They are written again after the summary, because a transcript is read from
    there on."""
    boundary_uuid: str
    instructions: str = ""
    estimated: bool = True


class LocalCommandDone(Value):
    """The output of a slash command that this program runs itself. `failed` is an error code ("" = success)."""

    name: str
    text: str
    failed: str = ""
    failure: Failure | None = None
    """The provider's failure, if that is the reason."""
    arguments: str = ""
    answers: bool = False
    """The text is what the user asked for, and shown in place of an answer of the model."""


class ServersChanged(Value):
    """The MCP servers as they are now, after one connected, failed, or changed its tools."""

    servers: tuple[Json, ...]
    tools: tuple[str, ...]
    commands: tuple[str, ...] = ()
    """Their prompts, as slash commands."""


class TitleChanged(Value):
    """The session has this title now: by `--name`, by the host, or made by the model."""

    title: str


class CommandsChanged(Value):
    """All slash commands as they are now, after the host was given another list."""

    commands: tuple[Json, ...]


class SessionEnding(Value):
    """No further turn follows. Emitted by sessions that have had background tasks, whose end could begin one."""
