"""Answers to the host, and failures to start. Part of `types/events.py`, from which other modules import them."""

from __future__ import annotations

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json
    from yume_shim.types.errors import Failure


class InputRejected(Value):
    """A stdin line was not understood. `quote` is the beginning of the line."""

    message: str
    quote: str


class CommandRefused(Value):
    """A well-formed flat command cannot be carried out now (`error` line)."""

    message: str
    code: str = "bad_input"
    provider: str = ""
    """The provider that it is about; "" = the session's."""
    failure: Failure | None = None
    """The provider's failure, if that is the reason."""


class ControlAnswered(Value):
    """The answer to a control request of the host."""

    request_id: str | None
    body: Json | None = None
    error: str = ""
    error_code: str = ""


class Pong(Value):
    """Answers a ping."""


class LineEchoed(Value):
    """A stdin line is printed back unchanged (`--replay-user-messages`: the host's own control responses)."""

    line: Json


class StartFailed(Value):
    """The program cannot start; takes the place of init (`system/error`)."""

    message: str
    code: str


class ResumeFailed(Value):
    """The requested session cannot be resumed: a Claude form prints a `result` and ends."""

    message: str
    session_id: str


class EntriesWritten(Value):
    """Transcript entries as written to disk, for hosts that keep a copy (`--session-mirror`)."""

    path: str
    entries: tuple[Json, ...]


HostEvent = (
    InputRejected | CommandRefused | ControlAnswered | Pong | LineEchoed | StartFailed | ResumeFailed | EntriesWritten
)
