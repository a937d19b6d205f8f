"""Repairs a history block by block, where `repair.py` cannot tell that there is nothing to do."""

from __future__ import annotations

from yume_shim.context.repair import SIGNED_API, Repaired, replayable
from yume_shim.types.blocks import NOTHING, Document, Image, Message, Other, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from yume_shim.types.blocks import Block
    from yume_shim.types.models import ModelSpec

MISSING_RESULT = (
    "This call was cut off before a result was recorded. It may have run in part or not at all: "
    "check its effects before relying on them or calling it again."
)
"""Replaces a result that was never recorded."""

OPENING_NOTE = "[The conversation before this point is not included.]"
"""Put before a history that starts with the assistant: dropping the answer would lose its content."""


def thoroughly(messages: tuple[Message, ...], target: ModelSpec) -> Repaired:
    """Check every block, pair every call with its result, repair what is not legal."""
    log = _Log()
    origin = target.origin
    readable = _merged((_readable(message, target, log) for message in messages), origin)
    if target.endpoint.api == SIGNED_API:
        readable = _merged((_without_last_thinking(message, log) for message in readable), origin)
    paired = _pair(readable, origin, log)
    if paired and paired[0].role == "assistant":
        paired.insert(0, Message("user", (Text(OPENING_NOTE),)))
        log.count("opening")
    return Repaired(tuple(paired), log.notes())


# ---------------------------------------------------------------- blocks


def _readable(message: Message, target: ModelSpec, log: _Log) -> Message:
    """The message without blocks that its role cannot have or the target cannot read."""
    kept: list[Block] = []
    for block in message.blocks:
        reason = _reason_to_drop(block, message, target)
        if reason:
            log.count(reason)
        else:
            kept.append(_without_blank_text(block) if isinstance(block, ToolResult) else block)
    blocks = tuple(kept)
    return message if blocks == message.blocks else replace(message, blocks=blocks)


def _reason_to_drop(block: Block, message: Message, target: ModelSpec) -> str:
    """Why the block cannot be sent ("" = it can)."""
    assistant = message.role == "assistant"
    match block:
        case Text():
            return "" if block.text.strip() else "blank"
        case Thinking():
            own = assistant and message.origin == target.origin
            return "" if own and replayable(block, target.endpoint.api) else "thinking"
        case ToolCall():
            return "" if assistant else "misplaced"
        case ToolResult() | Image() | Document():
            return "misplaced" if assistant else ""
        case Other():
            return "" if block.api == target.endpoint.api else "foreign"


def _without_blank_text(result: ToolResult) -> ToolResult:
    """The result without blank text among its parts: empty text blocks are refused, an empty string is not."""
    if isinstance(result.content, str):
        return result
    parts = tuple(part for part in result.content if not isinstance(part, Text) or part.text.strip())
    if len(parts) == len(result.content) and parts:
        return result
    return replace(result, content=parts or "")


def _without_last_thinking(message: Message, log: _Log) -> Message:
    blocks = message.blocks
    end = len(blocks)
    while message.role == "assistant" and end and isinstance(blocks[end - 1], Thinking):
        end -= 1
        log.count("thinking")
    return message if end == len(blocks) else replace(message, blocks=blocks[:end])


# ---------------------------------------------------------------- messages


def _merged(messages: Iterable[Message], origin: str) -> list[Message]:
    out: list[Message] = []
    for message in messages:
        _append(out, message, origin)
    return out


def _append(out: list[Message], message: Message, origin: str) -> None:
    """Add a message, joined to the last one if both have the same role. Empty messages are dropped."""
    if not message.blocks:
        return
    if not out or out[-1].role != message.role:
        out.append(message)
        return
    last = out[-1]
    if last.origin == message.origin:
        out[-1] = replace(last, blocks=last.blocks + message.blocks)
        return
    # Two authors in one message: it keeps the target's name if one of them is the target, so that the target gets its
    # opaque data back; the other author's data must not be mistaken for it.
    author = origin if origin in (last.origin, message.origin) else last.origin
    out[-1] = Message(last.role, _blocks_as(last, author) + _blocks_as(message, author), author)


def _blocks_as(message: Message, author: str) -> tuple[Block, ...]:
    """The blocks with `author` as their author: the opaque data of other authors is removed."""
    return message.blocks if message.origin == author else tuple(_without_opaque(block) for block in message.blocks)


def _without_opaque(block: Block) -> Block:
    if isinstance(block, (Text, Thinking, ToolCall)) and block.opaque:
        return replace(block, opaque=NOTHING)
    return block


# ---------------------------------------------------------------- calls and results


def _pair(messages: list[Message], origin: str, log: _Log) -> list[Message]:
    """Give every call its one result in the next message; drop results without a call."""
    out: list[Message] = []
    used: set[str] = set()
    waiting: list[tuple[str, str]] = []
    """The calls of the last assistant message: (id as stored, id as sent)."""
    for message in messages:
        if message.role == "assistant":
            if waiting:
                _append(out, Message("user", _answers(waiting, (), log)), origin)
            message, waiting = _unique_ids(message, used)
        else:
            rest = tuple(block for block in message.blocks if not isinstance(block, ToolResult))
            blocks = _answers(waiting, message.blocks, log) + rest
            if blocks != message.blocks:
                message = replace(message, blocks=blocks)
            waiting = []
        _append(out, message, origin)
    if waiting:
        _append(out, Message("user", _answers(waiting, (), log)), origin)
    return out


def _unique_ids(message: Message, used: set[str]) -> tuple[Message, list[tuple[str, str]]]:
    """Rename calls whose id was used before ("`tool_use` ids must be unique"). The new id depends only on earlier
    messages, so it does not change when the history grows."""
    pairs: list[tuple[str, str]] = []
    blocks: list[Block] = []
    for block in message.blocks:
        if isinstance(block, ToolCall):
            sent, count = block.id, 1
            while sent in used or not sent:
                count += 1
                sent = f"{block.id or 'call'}_{count}"
            used.add(sent)
            pairs.append((block.id, sent))
            if sent != block.id:
                block = replace(block, id=sent)
        blocks.append(block)
    if all(stored == sent for stored, sent in pairs):
        return message, pairs
    return replace(message, blocks=tuple(blocks)), pairs


def _answers(waiting: list[tuple[str, str]], blocks: tuple[Block, ...], log: _Log) -> tuple[Block, ...]:
    """One result for each waiting call, in their order: the recorded one, or one that says it is missing."""
    recorded: dict[str, list[ToolResult]] = {}
    for block in blocks:
        if isinstance(block, ToolResult):
            recorded.setdefault(block.call_id, []).append(block)
    answers: list[Block] = []
    for stored, sent in waiting:
        found = recorded.get(stored)
        if found:
            result = found.pop(0)
            answers.append(result if stored == sent else replace(result, call_id=sent))
        else:
            answers.append(ToolResult(sent, MISSING_RESULT, is_error=True))
            log.count("missing")
    for _ in range(sum(map(len, recorded.values()))):
        log.count("orphan")
    return tuple(answers)


# ---------------------------------------------------------------- notes

_SENTENCES = {
    "thinking": "reasoning blocks left out: another model's, unsigned, or without an answer after them: {}",
    "foreign": "blocks that only another API understands left out: {}",
    "misplaced": "blocks on the wrong side of the conversation left out: {}",
    "orphan": "tool results without a call left out: {}",
    "missing": "tool calls without a result answered with an error: {}",
    "opening": "the history began with the assistant; a note for the user was put before it: {}",
}


class _Log:
    """Counts changes by kind. Blank text is counted too, but has no sentence, because nothing is lost with it."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def count(self, kind: str) -> None:
        self._counts[kind] = self._counts.get(kind, 0) + 1

    def notes(self) -> tuple[str, ...]:
        return tuple(text.format(self._counts[kind]) for kind, text in _SENTENCES.items() if kind in self._counts)
