"""The content of a message as the host writes it (Anthropic's shapes) -> blocks. Raises BadLine with what to do.

Whether base64 decodes or a media type is taken is for the provider to say; only shapes that cannot become a block are
refused here.
"""

from __future__ import annotations

from yume_shim.text import codec
from yume_shim.text.clean import clean_model_text
from yume_shim.types.blocks import Document, Image, Other, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.errors import BadLine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.types.blocks import Block, Json

NO_CONTENT = "(no content)"
"""What the model reads in place of an empty prompt, as the Claude CLI has it: APIs refuse empty messages."""
SIGNATURE_API = "anthropic-messages"
"""Hosts hand back thinking in Anthropic's shape; its signature is that API's."""


def user_blocks(content: Any) -> tuple[Block, ...]:
    """A prompt's content: a string, blocks, or nothing."""
    if content is None or isinstance(content, str):
        text = clean_model_text(content or "")
        return (Text(text if text.strip() else NO_CONTENT),)
    if not isinstance(content, list):
        raise BadLine("content must be a string or a list of blocks; put other values into a string.")
    blocks = tuple(_user_block(item, place) for place, item in enumerate(content))
    if all(isinstance(block, Text) and not block.text.strip() for block in blocks):
        return (Text(NO_CONTENT),)
    return blocks


def assistant_blocks(content: Any) -> tuple[Block, ...]:
    """The content of an assistant line that the host puts into the history; blank text is left out."""
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list):
        raise BadLine("The content of an assistant line must be a string or a list of blocks.")
    blocks = tuple(_assistant_block(item, place) for place, item in enumerate(content))
    return tuple(block for block in blocks if not (isinstance(block, Text) and not block.text.strip()))


def _user_block(item: Any, place: int) -> Block:
    match _kind_of(item, place):
        case "text":
            return _text(item, place)
        case "image":
            return _image(item, place)
        case "document":
            return _document(item, place)
        case "tool_result":
            return _tool_result(item, place)
        case _:
            return Other("", item)


def _assistant_block(item: Any, place: int) -> Block:
    match _kind_of(item, place):
        case "text":
            return _text(item, place)
        case "thinking":
            signature = item.get("signature")
            opaque = {SIGNATURE_API: {"signature": signature}} if isinstance(signature, str) and signature else {}
            return Thinking(_string(item, "thinking", place), opaque=opaque)
        case "redacted_thinking":
            data = _string(item, "data", place)
            return Thinking("", redacted=True, opaque={SIGNATURE_API: {"data": data}})
        case "tool_use":
            given = item.get("input")
            if not isinstance(given, dict):
                raise BadLine(f"content[{place}]: a tool_use needs input, an object.")
            return ToolCall(_string(item, "id", place), _string(item, "name", place), given)
        case _:
            return Other("", item)


def _kind_of(item: Any, place: int) -> str:
    kind = item.get("type") if isinstance(item, dict) else None
    if not isinstance(kind, str):
        raise BadLine(f'content[{place}] must be an object with a type, such as {{"type":"text","text":"…"}}.')
    return kind


def _string(item: Json, field: str, place: int) -> str:
    found = item.get(field)
    if not isinstance(found, str):
        raise BadLine(f"content[{place}]: a {item['type']} needs {field}, a string.")
    return clean_model_text(found)


def _text(item: Json, place: int) -> Text:
    return Text(_string(item, "text", place))


def _image(item: Json, place: int) -> Image | Other:
    source = _source_of(item, place)
    match source.get("type"):
        case "base64":
            return Image(_media_type(source), _data(source, "data", item, place))
        case "url":
            return Image("", "", _data(source, "url", item, place))
        case _:
            return Other("", item)


def _document(item: Json, place: int) -> Document | Other:
    source = _source_of(item, place)
    title = item.get("title")
    title = clean_model_text(title) if isinstance(title, str) else ""
    match source.get("type"):
        case "base64":
            kind, data = _media_type(source), _data(source, "data", item, place)
            return Document(kind, _plain(data) if kind == "text/plain" else data, title)
        case "text":
            return Document("text/plain", clean_model_text(_data(source, "data", item, place)), title)
        case _:
            return Other("", item)


def _plain(data: str) -> str:
    """Text that came as base64; as it is, if it is none."""
    from base64 import b64decode

    try:
        return clean_model_text(b64decode(data, validate=True).decode("utf-8"))
    except ValueError:
        return clean_model_text(data)


def _source_of(item: Json, place: int) -> Json:
    source = item.get("source")
    if not isinstance(source, dict):
        raise BadLine(
            f'content[{place}]: {item["type"]} needs source, e.g. {{"type":"base64","media_type":"…","data":"…"}}.'
        )
    return source


def _media_type(source: Json) -> str:
    found = source.get("media_type")
    return found if isinstance(found, str) else ""


def _data(source: Json, field: str, item: Json, place: int) -> str:
    found = source.get(field)
    if not isinstance(found, str):
        raise BadLine(f"content[{place}]: the source of the {item['type']} needs {field}, a string.")
    return found


def _tool_result(item: Json, place: int) -> ToolResult:
    failed = item.get("is_error")
    return ToolResult(
        _string(item, "tool_use_id", place),
        _result_content(item.get("content"), place),
        failed if isinstance(failed, bool) else None,
    )


def _result_content(content: Any, place: int) -> str | tuple[Text | Image | Document, ...]:
    if content is None:
        return ""
    if isinstance(content, str):
        return clean_model_text(content)
    if not isinstance(content, list):
        raise BadLine(f"content[{place}]: the content of a tool_result must be a string or a list of blocks.")
    parts: list[Text | Image | Document] = []
    for part in content:
        block = _user_block(part, place)
        if isinstance(block, (Text, Image, Document)):
            parts.append(block)
        else:  # a kind that results cannot hold here: the model still reads what it says
            parts.append(Text(codec.dumps(part).decode("utf-8")))
    return tuple(parts)
