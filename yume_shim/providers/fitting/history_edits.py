"""Edits of the history for endpoints that refuse a part of it: reasoning, echo data, old images and documents."""

from __future__ import annotations

from yume_shim.providers.fitting.media.message_media import media_of
from yume_shim.types.blocks import NOTHING, Document, Image, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from yume_shim.types.blocks import Block, Message

TOO_LARGE = "[left out: the request was too large]"


def fingerprint(block: Block) -> int:
    """A number by which a block is found again in later requests."""
    return hash(repr(block))


# ---------------------------------------------------------------- reasoning


def has_private_data(block: Block) -> bool:
    """Is it reasoning, or does it carry data that only its own API understands?"""
    return isinstance(block, Thinking) or (isinstance(block, Text | ToolCall) and bool(block.opaque))


def without_reasoning(messages: tuple[Message, ...], omitted: Callable[[Block], bool]) -> tuple[Message, ...]:
    """The messages without the `omitted` reasoning blocks and without the echo data of `omitted` texts and calls."""

    def change(block: Block) -> Block | None:
        if not omitted(block):
            return block
        return replace(block, opaque=NOTHING) if isinstance(block, Text | ToolCall) else None

    return _each_block(messages, change)


def chain_lacks_reasoning(messages: tuple[Message, ...]) -> bool:
    """Does the chain of calls since the user's last prompt begin without reasoning?"""
    first: Message | None = None
    for message in reversed(messages):
        if message.role == "assistant":
            first = message
        elif not any(isinstance(block, ToolResult) for block in message.blocks):
            break
    return first is not None and not any(isinstance(block, Thinking) for block in first.blocks[:1])


# ---------------------------------------------------------------- images and documents


def older_media(messages: tuple[Message, ...]) -> dict[int, int]:
    """The images and documents of all messages but the newest that has any: fingerprint -> count."""
    counts: dict[int, int] = {}
    for message in messages[: _newest_media(messages)]:
        for item in media_of(message):
            mark = fingerprint(item)
            counts[mark] = counts.get(mark, 0) + 1
    return counts


def without_media(messages: tuple[Message, ...], counts: Mapping[int, int]) -> tuple[Message, ...]:
    """The messages with a note in place of so many images and documents of each fingerprint, the oldest first; those of
    the newest message that has any are kept."""
    left = dict(counts)

    def change_part(part: Text | Image | Document) -> Text | Image | Document:
        mark = 0 if isinstance(part, Text) else fingerprint(part)
        if not left.get(mark):
            return part
        left[mark] -= 1
        return Text(TOO_LARGE)

    def change(block: Block) -> Block:
        if isinstance(block, Image | Document):
            return change_part(block)
        if isinstance(block, ToolResult) and not isinstance(block.content, str):
            parts = tuple(map(change_part, block.content))
            return block if parts == block.content else replace(block, content=parts)
        return block

    newest = _newest_media(messages)
    return _each_block(messages[:newest], change) + messages[newest:]


def _newest_media(messages: tuple[Message, ...]) -> int:
    """The index of the newest message with images or documents; 0 if none has any."""
    return max((place for place, message in enumerate(messages) if any(True for _ in media_of(message))), default=0)


def _each_block(messages: tuple[Message, ...], change: Callable[[Block], Block | None]) -> tuple[Message, ...]:
    """The messages with each block changed or (None) removed; a message without any block left is removed too."""
    out: list[Message] = []
    for message in messages:
        blocks = tuple(kept for block in message.blocks if (kept := change(block)) is not None)
        if blocks:
            out.append(message if blocks == message.blocks else replace(message, blocks=blocks))
    return tuple(out)
