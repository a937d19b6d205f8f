"""Removes reasoning that is no longer valid, because what came before it has changed.

The newest models bind their reasoning to everything before it: system prompt, tools, earlier turns. If that changes
(a summary, trimmed results), the API ignores or refuses the reasoning, so it is not sent.
"""

from __future__ import annotations

from yume_shim.types.blocks import Thinking
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from yume_shim.types.blocks import Message


def without_reasoning(messages: Sequence[Message], first: int) -> tuple[Message, ...]:
    """The messages, without reasoning in the first `first` of them. Counted from the front, so that a longer history
    starts with the same messages."""
    return tuple(_without(message) if place < first else message for place, message in enumerate(messages))


def _without(message: Message) -> Message:
    kept = tuple(block for block in message.blocks if not isinstance(block, Thinking))
    return message if len(kept) == len(message.blocks) else replace(message, blocks=kept)
