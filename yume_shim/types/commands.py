"""Everything the host can send on stdin, as frozen values. Only `host/input_lines.py` builds them."""

from __future__ import annotations

from yume_shim.types.blocks import Block
from yume_shim.types.value import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from yume_shim.types.blocks import Json
    from yume_shim.types.tasks import TaskOrigin


@value
class UserInput:
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


@value
class HistoryInput:
    """An `assistant` line from the host: added to the history without a turn."""

    blocks: tuple[Block, ...]


@value
class Interrupt:
    """Stop the running turn (flat line; the control request arrives as ControlAsk)."""


@value
class SetMode:
    """Change the permission mode (flat line)."""

    mode: str


@value
class SetModel:
    """Change the model from the next turn on (flat line)."""

    model: str


@value
class Compact:
    """Compact the history now (flat line)."""


@value
class Clear:
    """Start a new conversation (flat line)."""


@value
class Ping:
    """Answered with a pong at once."""


@value
class Approve:
    """The flat answer to a call that waits for approval: `tool_approval`."""

    call_id: str
    approved: bool
    input: Json | None = None
    reason: str = ""
    remember: str = ""
    """"session", "project" or "user"; "" = once."""
    rules: tuple[str, ...] = ()
    """What to remember; () = the very same call."""


@value
class ControlAsk:
    """A control request of the host. `id` is None when it gave none."""

    id: str | None
    subtype: str
    body: Json


@value
class ControlReply:
    """The host's answer to our request. `line` is the raw line, for the echo of `--replay-user-messages`."""

    id: str
    body: Json | None
    error: str
    line: Json


@value
class ControlCancel:
    """The host withdraws one of its requests."""

    id: str


@value
class Nothing:
    """A line that needs no action: blank, keep_alive, `$`, unknown types in the Claude forms."""


@value
class EndOfInput:
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
