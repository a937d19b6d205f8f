"""Calls and results of the past told as words of both sides; who tells them says in which words.

The same history gives the same words, and a longer one begins with the same messages, so that prompt caches hold.
"""

from __future__ import annotations

from yume_shim.types.blocks import Document, Image, Other, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.types.blocks import Block, Message

    TellCall = Callable[[ToolCall], str]
    TellResult = Callable[[ToolResult, list[str], int, str], str]
    """(result, its texts, how many images and documents come behind it, the tool's name or "") -> its words."""


def tell_history(messages: tuple[Message, ...], call: TellCall, result: TellResult) -> tuple[Message, ...]:
    """The history without calls, results and thoughts; a message that has nothing left is left out."""
    names: dict[str, str] = {}
    told = (_tell_message(message, names, call, result) for message in messages)
    return tuple(message for message in told if message.blocks)


def _tell_message(message: Message, names: dict[str, str], call: TellCall, result: TellResult) -> Message:
    """Text beside a call or a result becomes one with it; other messages keep what they are."""
    if not any(isinstance(block, ToolCall | ToolResult | Thinking) for block in message.blocks):
        return message
    told: list[Block] = []
    for block in message.blocks:
        match block:
            case ToolCall():
                names[block.id] = block.name
                _join(told, call(block))
            case ToolResult():
                parts = (Text(block.content),) if isinstance(block.content, str) else block.content
                media = [part for part in parts if not isinstance(part, Text)]
                texts = [part.text for part in parts if isinstance(part, Text)]
                _join(told, result(block, texts, len(media), names.get(block.call_id, "")))
                told += media
            case Text():
                if told and isinstance(told[-1], Text):
                    _join(told, block.text)
                else:
                    told.append(block)
            case Thinking():
                pass
            case Image() | Document() | Other():
                told.append(block)
    return replace(message, blocks=tuple(told))


def _join(told: list[Block], text: str) -> None:
    last = told[-1] if told else None
    if isinstance(last, Text):
        told[-1] = Text(f"{last.text.rstrip()}\n{text}" if last.text.strip() else text)
    else:
        told.append(Text(text))
