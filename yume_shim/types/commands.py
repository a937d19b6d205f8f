"""Everything the host can send on stdin, as frozen values. Only `host/input_lines.py` builds them."""

from __future__ import annotations

from yume_shim.types.blocks import Block
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from yume_shim.types.blocks import Json
    from yume_shim.types.tasks import TaskOrigin


class UserInput(Value):
    """A prompt. `content` is in the host's form, for echo and store; `blocks` is what the model receives."""

    blocks: tuple[Block, ...]
    content: str | tuple[Json, ...]
    uuid: str = ""
    priority: Literal["now", "next", "later"] = "next"
    should_query: bool = True
    expand: bool = True
    """False: the host composed the text itself, so `@file` in it is not expanded."""
    origin: TaskOrigin | None = None
    """Set if it is not from the host: it tells the model how a background task ended."""


class HistoryInput(Value):
    """An `assistant` line from the host: added to the history without a turn."""

    blocks: tuple[Block, ...]


class Interrupt(Value):
    """Stop the running turn (flat line; the control request arrives as ControlAsk)."""


class SetMode(Value):
    """Change the permission mode (flat line)."""

    mode: str


class SetModel(Value):
    """Change the model from the next turn on (flat line)."""

    model: str


class Compact(Value):
    """Compact the history now (flat line)."""


class Clear(Value):
    """Start a new conversation (flat line)."""


class Ping(Value):
    """Answered with a pong at once."""


class Approve(Value):
    """The flat answer to a call that waits for approval: `tool_approval`."""

    call_id: str
    approved: bool
    input: Json | None = None
    reason: str = ""
    remember: str = ""
    """"session", "project" or "user"; "" = once."""
    rules: tuple[str, ...] = ()
    """What to remember; () = the very same call."""


class ControlAsk(Value):
    """A control request of the host. `id` is None when it gave none."""

    id: str | None
    subtype: str
    body: Json


class ControlReply(Value):
    """The host's answer to our request. `line` is the raw line, for the echo of `--replay-user-messages`."""

    id: str
    body: Json | None
    error: str
    line: Json


class ControlCancel(Value):
    """The host withdraws one of its requests."""

    id: str


class Nothing(Value):
    """A line that needs no action: blank, keep_alive, `$`, unknown types in the Claude forms."""


class EndOfInput(Value):
    """stdin has ended."""


Command = (
    UserInput
    | HistoryInput
    | Interrupt
    | SetMode
    | SetModel
    | Compact
    | Clear
    | Ping
    | Approve
    | ControlAsk
    | ControlReply
    | ControlCancel
    | Nothing
    | EndOfInput
)
