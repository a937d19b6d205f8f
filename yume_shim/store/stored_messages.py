"""Reads a stored conversation for people: messages with their calls, results, patches and images, in a bounded form."""

from __future__ import annotations

from yume_shim.disk.bounded import open_regular
from yume_shim.store.content import assistant_blocks, user_blocks
from yume_shim.store.transcript_reader import READ_BYTES, lines_of
from yume_shim.text.codec import dumps, loads_object
from yume_shim.types.answer_records import Hunk, StoredMessage, StoredPatch
from yume_shim.types.blocks import Document, Image, Text, ToolResult
from yume_shim.types.shapes import SYNTHETIC_MODEL, assistant_block, part_block, result_block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from yume_shim.types.blocks import Block, Json
    from yume_shim.types.stored_session import StoredSession

MAX_TEXT = 8_000
"""Characters of a text, and of each text inside a call's input."""
MAX_DATA = 16_000
"""Characters of a picture; a larger one is left out."""
MAX_BYTES = 40_000
"""Bytes of one message; what is longer is replaced by a note."""
MAX_DEPTH = 20
"""Levels of a call's input that are looked at."""
TOO_LONG = "[too long to be shown]"


def stored_messages(path: str, stored: StoredSession) -> Iterator[Json]:
    """The messages of the conversation, in order, without this program's notes to the model. Raises OSError."""
    chain = set(stored.chain)
    with open(open_regular(path), "rb", buffering=READ_BYTES) as file:
        for raw in lines_of(file):
            line = loads_object(raw)
            if line is None or line.get("uuid") not in chain or line.get("isMeta") or line.get("isSidechain"):
                continue
            message = _message(line)
            if message is not None:
                yield message


def _message(line: Json) -> Json | None:
    role, message = line.get("type"), line.get("message")
    if role not in ("user", "assistant") or not isinstance(message, dict):
        return None
    model = message.get("model")
    if model == SYNTHETIC_MODEL:
        return None
    cut = _Cut()
    if role == "user":
        shown = [_user_block(block) for block in user_blocks(message.get("content"))]
    else:
        private = line.get("yume")
        blocks = assistant_blocks(message.get("content"), private if isinstance(private, dict) else {})
        shown = [assistant_block(block) for block in blocks]  # type: ignore[arg-type]  # an answer's blocks
    content = [cut.value(block) for block in shown if block is not None]
    if not content:
        return None
    built = StoredMessage(
        uuid=str(line["uuid"]),
        role="user" if role == "user" else "assistant",
        timestamp=str(line.get("timestamp", "")),
        content=content,
        model=model if isinstance(model, str) and role == "assistant" else None,
        patch=_patch(line.get("toolUseResult"), cut),
        content_truncated=True if cut.done else None,
    )
    return built if len(dumps(built)) <= MAX_BYTES else _without_content(built)


def _user_block(block: Block) -> Json | None:
    if isinstance(block, ToolResult):
        return result_block(block)
    return part_block(block) if isinstance(block, Text | Image | Document) else None


def _patch(structured: Any, cut: _Cut) -> StoredPatch | None:
    """What a call changed in a file."""
    hunks = structured.get("structuredPatch") if isinstance(structured, dict) else None
    if not isinstance(hunks, list) or not hunks:
        return None
    read = [_hunk(hunk, cut) for hunk in hunks if isinstance(hunk, dict)]
    return StoredPatch(file_path=str(structured.get("filePath", "")), hunks=read)


def _hunk(hunk: Json, cut: _Cut) -> Hunk:
    def number(name: str) -> int:
        found = hunk.get(name)
        return found if isinstance(found, int) and not isinstance(found, bool) else 0

    lines = hunk.get("lines")
    return Hunk(
        oldStart=number("oldStart"),
        oldLines=number("oldLines"),
        newStart=number("newStart"),
        newLines=number("newLines"),
        lines=[str(cut.value(line)) for line in lines] if isinstance(lines, list) else [],
    )


class _Cut:
    """Cuts what is too long; `done` says whether it did."""

    def __init__(self) -> None:
        self.done = False

    def value(self, item: Any, depth: int = 0) -> Any:
        if isinstance(item, str):
            return self._text(item)
        if depth > MAX_DEPTH:
            self.done = True
            return None
        if isinstance(item, list):
            return [self.value(each, depth + 1) for each in item]
        if isinstance(item, dict):
            if item.get("type") == "base64" and isinstance(item.get("data"), str):
                self.done = self.done or len(item["data"]) > MAX_DATA
                return item if len(item["data"]) <= MAX_DATA else {**item, "data": ""}
            return {key: self.value(each, depth + 1) for key, each in item.items()}
        return item

    def _text(self, text: str) -> str:
        if len(text) <= MAX_TEXT:
            return text
        self.done = True
        return f"{text[: MAX_TEXT - 1]}…"


def _without_content(built: Json) -> Json:
    """A message that is still too long: the kinds and ids of its blocks stay."""
    small: list[Json] = []
    for block in built["content"][:MAX_DEPTH]:
        match block.get("type"):
            case "tool_use":
                small.append({**block, "input": {}})
            case "tool_result":
                small.append({**block, "content": TOO_LONG})
            case _:
                small.append({"type": "text", "text": TOO_LONG})
    kept = {key: item for key, item in built.items() if key != "patch"}
    return {**kept, "content": small, "content_truncated": True}
