"""Content of transcript lines (Anthropic's shapes) -> blocks. What cannot be understood is left out, never an error."""

from __future__ import annotations

from yume_shim.types.blocks import NOTHING, Document, Image, Other, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.shapes import NO_CONTENT, SHAPE_API

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.types.blocks import Block, Json, Opaque


def user_blocks(content: Any) -> tuple[Block, ...]:
    """The user's side of a line: a prompt, tool results, or a note."""
    if isinstance(content, str):
        return (Text(content if content.strip() else NO_CONTENT),)
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):  # by far the most frequent
        found = _user_block(content[0])
        if isinstance(found, ToolResult):
            return (found,)
    blocks = tuple(block for item in _items(content) if (block := _user_block(item)) is not None)
    if content == [] or (blocks and all(isinstance(block, Text) and not block.text.strip() for block in blocks)):
        return (Text(NO_CONTENT),)
    return blocks


def assistant_blocks(content: Any, private: Json) -> tuple[Block, ...]:
    """The model's side. `private` is this program's own part of the line ({} if another program wrote it)."""
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):  # by far the most frequent
        block = _assistant_block(content[0], private.get("opaque"), private)
        return () if block is None else (block,)
    kept = private.get("block")
    if isinstance(kept, dict) and isinstance(kept.get("data"), dict):
        return (Other(str(kept.get("api", "")), kept["data"]),)
    if isinstance(content, str):
        return (Text(content),)
    opaque = private.get("opaque")
    return tuple(block for item in _items(content) if (block := _assistant_block(item, opaque, private)) is not None)


def _items(content: Any) -> list[Json]:
    return [item for item in content if isinstance(item, dict)] if isinstance(content, list) else []


def _assistant_block(item: Json, opaque: Any, private: Json) -> Block | None:
    kind = item.get("type")
    echo: Opaque = opaque if isinstance(opaque, dict) else NOTHING
    if kind == "text":
        return Text(_string(item, "text"), echo)
    if kind == "tool_use":
        broken, given = private.get("broken"), item.get("input")
        if isinstance(broken, str):
            return ToolCall(_string(item, "id"), _string(item, "name"), {}, broken, echo)
        return ToolCall(
            _string(item, "id"), _string(item, "name"), given if isinstance(given, dict) else {}, None, echo
        )
    if kind == "thinking":
        signature = _string(item, "signature")
        own = {SHAPE_API: {"signature": signature}} if signature else NOTHING
        return Thinking(_string(item, "thinking"), opaque=echo or own)
    if kind == "redacted_thinking":
        return Thinking("", redacted=True, opaque=echo or {SHAPE_API: {"data": _string(item, "data")}})
    return Other(SHAPE_API, item) if isinstance(kind, str) else None


def _user_block(item: Json) -> Block | None:
    match item.get("type"):
        case "text":
            return Text(_string(item, "text"))
        case "tool_result":
            failed = item.get("is_error")
            content = _result_content(item.get("content"))
            return ToolResult(_string(item, "tool_use_id"), content, failed if isinstance(failed, bool) else None)
        case "image":
            return _image(item)
        case "document":
            return _document(item)
        case str():
            return Other("", item)
        case _:
            return None


def _result_content(content: Any) -> str | tuple[Text | Image | Document, ...]:
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    parts: list[Text | Image | Document] = []
    for item in _items(content):
        block = _user_block(item)
        if isinstance(block, (Text, Image, Document)):
            parts.append(block)
        elif block is not None:  # a kind that results cannot hold here: the model still reads what it says
            from yume_shim.text.codec import dumps

            parts.append(Text(dumps(item).decode("utf-8")))
    return tuple(parts)


def _image(item: Json) -> Image | Other:
    source = item.get("source")
    if isinstance(source, dict):
        if source.get("type") == "base64":
            return Image(_string(source, "media_type"), _string(source, "data"))
        if source.get("type") == "url":
            return Image("", "", _string(source, "url"))
    return Other("", item)


def _document(item: Json) -> Document | Other:
    source = item.get("source")
    if isinstance(source, dict):
        if source.get("type") == "base64":
            return Document(_string(source, "media_type"), _string(source, "data"), _string(item, "title"))
        if source.get("type") == "text":
            return Document("text/plain", _string(source, "data"), _string(item, "title"))
    return Other("", item)


def _string(item: Json, field: str) -> str:
    found = item.get(field)
    return found if isinstance(found, str) else ""
