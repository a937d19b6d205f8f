"""Reasoning that no longer belongs to its place.

The newest models bind their reasoning to all that stood before it: system prompt, tools, earlier turns. Behind another
beginning (after a summary, after old results were cut) it is dropped unseen or refused, so it is not sent.
"""

from __future__ import annotations

from yume_shim.types.blocks import Thinking
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from yume_shim.types.blocks import Message


def without_reasoning(messages: Sequence[Message], first: int) -> tuple[Message, ...]:
    """The messages, the first so many of them without reasoning. Counted from the front, so that a longer history is
    sent the same way again."""
    return tuple(_without(message) if place < first else message for place, message in enumerate(messages))


def _without(message: Message) -> Message:
    kept = tuple(block for block in message.blocks if not isinstance(block, Thinking))
    return message if len(kept) == len(message.blocks) else replace(message, blocks=kept)
