"""What a provider's decoder emits: one answer of a model, piece by piece. Part of `types/events.py`, from which other
modules import it."""

from __future__ import annotations

from yume_shim.types.blocks import AssistantBlock
from yume_shim.types.errors import Failure
from yume_shim.types.models import Usage
from yume_shim.types.value import Value, fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from yume_shim.types.models import Stop
    from yume_shim.types.rate_limits import RateLimit

    DeltaKind = Literal["text", "thinking", "json", "signature"]


class ResponseStarted(Value):
    """The model began to answer. `model` is the name that the provider reported."""

    id: str
    model: str
    usage: Usage = Usage()
    request_id: str = ""


class BlockStarted(Value):
    """A block opened; `block` is its empty form (a ToolCall with {} input)."""

    index: int
    block: AssistantBlock


class BlockDelta(Value):
    """A piece of the open block: text, thinking, raw argument JSON, or a signature. `pieces`: several arrived at once,
    and `text` is all of them; dialects show each of them as if it had come alone."""

    index: int
    kind: DeltaKind
    text: str
    pieces: tuple[str, ...] = ()


_new_delta = object.__new__
_put_index, _put_kind, _put_text, _put_pieces = (BlockDelta.__dict__[name].__set__ for name in fields(BlockDelta))


def piece(index: int, kind: DeltaKind, text: str) -> BlockDelta:
    """`BlockDelta(index, kind, text)` for a quarter of its cost: decoders make one of these for each event of a
    stream."""
    made = _new_delta(BlockDelta)
    _put_index(made, index)
    _put_kind(made, kind)
    _put_text(made, text)
    _put_pieces(made, ())
    return made


class BlockEnded(Value):
    """The block is complete."""

    index: int
    block: AssistantBlock


class ResponseEnded(Value):
    """The answer is complete. `stop_reason` is Anthropic's name for `stop`; unknown names are passed through."""

    stop: Stop
    stop_reason: str
    usage: Usage
    usage_given: bool = True
    stop_sequence: str | None = None
    detail: str = ""
    """Why the provider refused, in its own words."""
    lost: Usage = Usage()
    """What the provider reported for earlier tries of this request, which failed before the answer began."""


class ResponseFailed(Value):
    """The answer failed, before its start or in the middle: the only other way in which a provider stream ends.

    `usage` is what the provider has reported; `usage_given` = these are its final figures, otherwise those so far."""

    failure: Failure
    usage: Usage = Usage()
    usage_given: bool = False
    lost: Usage = Usage()
    """As in `ResponseEnded`."""


class Notice(Value):
    """A provider or the engine degraded a feature (`system/warning`)."""

    code: str
    text: str


class LimitsReported(Value):
    """The provider reported its rate limits, and they have changed; the most used one first, at least one."""

    limits: tuple[RateLimit, ...]


ModelEvent = (
    ResponseStarted | BlockStarted | BlockDelta | BlockEnded | ResponseEnded | ResponseFailed | Notice | LimitsReported
)
