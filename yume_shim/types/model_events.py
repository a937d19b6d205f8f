"""What comes out of a provider's decoder: one answer of a model, piece by piece. Part of `types/events.py`, from where
everybody imports it."""

from __future__ import annotations

from yume_shim.types.blocks import AssistantBlock
from yume_shim.types.errors import Failure
from yume_shim.types.models import Usage
from yume_shim.types.value import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from yume_shim.types.models import Stop

    DeltaKind = Literal["text", "thinking", "json", "signature"]


@value
class ResponseStarted:
    """The model began to answer. `model` is what upstream said it is."""

    id: str
    model: str
    usage: Usage = Usage()
    request_id: str = ""


@value
class BlockStarted:
    """A block opened; `block` is its empty form (a ToolCall with {} input)."""

    index: int
    block: AssistantBlock


@value
class BlockDelta:
    """A piece of the open block: text, thinking, raw argument JSON, or a signature."""

    index: int
    kind: DeltaKind
    text: str


@value
class BlockEnded:
    """The block is complete."""

    index: int
    block: AssistantBlock


@value
class ResponseEnded:
    """The answer is complete. `stop_reason` is Anthropic's word for `stop`; unknown words pass through."""

    stop: Stop
    stop_reason: str
    usage: Usage
    usage_given: bool = True
    stop_sequence: str | None = None


@value
class ResponseFailed:
    """The answer failed, before or in the middle. The only other way a provider stream ends."""

    failure: Failure


@value
class Notice:
    """A provider or the engine degraded something and says so (`system/warning`)."""

    code: str
    text: str


ModelEvent = ResponseStarted | BlockStarted | BlockDelta | BlockEnded | ResponseEnded | ResponseFailed | Notice
