"""Rewrites earlier tool calls and results as plain text of assistant and user.

`history_as_text` takes the wording from its caller; `flatten_history` has its own, for endpoints that refuse calls and
results in their API's form. The same history always becomes the same text, and a longer history begins with the same
messages, so that prompt caches keep working.
"""

from __future__ import annotations

from yume_shim.text import codec
from yume_shim.types.blocks import NOTHING, Document, Image, Other, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.types.blocks import Block, Message
    from yume_shim.types.models import Request

    CallText = Callable[[ToolCall], str]
    ResultText = Callable[[ToolResult, list[str], int, str], str]
    """(result, its texts, how many images and documents follow it, the tool's name or "") -> its text."""


def history_as_text(messages: tuple[Message, ...], call_text: CallText, result_text: ResultText) -> tuple[Message, ...]:
    """The history without calls, results and reasoning; a message without any block left is removed."""
    names: dict[str, str] = {}
    rewritten = (_rewrite(message, names, call_text, result_text) for message in messages)
    return tuple(message for message in rewritten if message.blocks)


def _rewrite(message: Message, names: dict[str, str], call_text: CallText, result_text: ResultText) -> Message:
    """Joins the text of calls and results with the text before and after it; other messages are not changed."""
    if not any(isinstance(block, ToolCall | ToolResult | Thinking) for block in message.blocks):
        return message
    blocks: list[Block] = []
    for block in message.blocks:
        match block:
            case ToolCall():
                names[block.id] = block.name
                _join(blocks, call_text(block))
            case ToolResult():
                parts = (Text(block.content),) if isinstance(block.content, str) else block.content
                media = [part for part in parts if not isinstance(part, Text)]
                texts = [part.text for part in parts if isinstance(part, Text)]
                _join(blocks, result_text(block, texts, len(media), names.get(block.call_id, "")))
                blocks += media
            case Text():
                if blocks and isinstance(blocks[-1], Text):
                    _join(blocks, block.text)
                else:
                    blocks.append(block)
            case Thinking():
                pass
            case Image() | Document() | Other():
                blocks.append(block)
    return replace(message, blocks=tuple(blocks))


def _join(blocks: list[Block], text: str) -> None:
    last = blocks[-1] if blocks else None
    if isinstance(last, Text):
        blocks[-1] = Text(f"{last.text.rstrip()}\n{text}" if last.text.strip() else text)
    else:
        blocks.append(Text(text))


# ---------------------------------------------------------------- the default wording


def flatten_history(request: Request) -> Request:
    """The request with a history of texts and media only. New calls keep the API's form."""
    messages = tuple(map(_without_private_data, request.messages))
    return replace(request, messages=history_as_text(messages, _call_text, _result_text))


def _without_private_data(message: Message) -> Message:
    """Without what only its own API understands."""
    kept = (block for block in message.blocks if not isinstance(block, Other))
    blocks = tuple(replace(block, opaque=NOTHING) if isinstance(block, Text) else block for block in kept)
    return message if blocks == message.blocks else replace(message, blocks=blocks)


def _call_text(call: ToolCall) -> str:
    arguments = codec.dumps(call.input).decode() if call.broken is None else call.broken
    return f"[tool_call {call.name} {call.id}]\n{arguments}"


def _result_text(result: ToolResult, texts: list[str], media: int, name: str) -> str:
    failed = " error" if result.is_error else ""
    return "\n".join((f"[tool_result {name or 'unknown'} {result.call_id}{failed}]", *texts)).rstrip("\n")
