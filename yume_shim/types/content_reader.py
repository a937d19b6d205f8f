"""Reads message content in Anthropic's shapes (a string, or a list of block objects) into blocks. Pure.

Two kinds of content arrive here: a host's lines, where the host must learn what is wrong, and transcript lines, which
must load even if another program or another version wrote them. `on_problem` makes the difference. It gets a message
that says what is wrong and what to send instead. If it raises, the content is refused; if it returns, the reader leaves
out the item, or takes an empty value for the field.

Only shapes that cannot become a block are problems. Whether base64 decodes and whether a media type is supported is for
the provider to decide.
"""

from __future__ import annotations

from yume_shim.types.blocks import NOTHING, Document, Image, Other, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.models import ANTHROPIC_MESSAGES
from yume_shim.types.shapes import NO_CONTENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeGuard

    from yume_shim.types.blocks import Block, Json, Opaque


class ContentReader:
    """`clean` makes text valid Unicode. `to_json` writes an object as text. `unknown_api` is the API of an assistant
    block of an unknown type ("" = no API gets it back)."""

    def __init__(
        self,
        on_problem: Callable[[str], None],
        clean: Callable[[str], str],
        to_json: Callable[[Json], str],
        *,
        unknown_api: str = "",
    ) -> None:
        self._problem = on_problem
        self._clean = clean
        self._to_json = to_json
        self._unknown_api = unknown_api

    def user_blocks(self, content: Any) -> tuple[Block, ...]:
        """The content of a user message: a prompt, tool results or a note. Blank content becomes `NO_CONTENT`."""
        if isinstance(content, str):
            text = self._clean(content)
            return (Text(text if text.strip() else NO_CONTENT, NOTHING),)
        if not _is_list(content):
            self._problem("content must be a string or a list of blocks; put other values into a string.")
            return ()
        if len(content) == 1:  # by far the most frequent
            block = self._user_block(content[0], 0)
            if block is not None and not isinstance(block, Text):
                return (block,)
        found = [self._user_block(item, place) for place, item in enumerate(content)]
        blocks = tuple([block for block in found if block is not None])
        if (blocks or not content) and all(isinstance(block, Text) and not block.text.strip() for block in blocks):
            return (Text(NO_CONTENT),)
        return blocks

    def assistant_blocks(self, content: Any, opaque: Opaque = NOTHING) -> tuple[Block, ...]:
        """The content of an assistant message. `opaque` is the provider data to store with each block."""
        if isinstance(content, str):
            return (Text(self._clean(content)),)
        if not _is_list(content):
            self._problem("The content of an assistant line must be a string or a list of blocks.")
            return ()
        if len(content) == 1:  # by far the most frequent
            block = self._assistant_block(content[0], 0, opaque)
            return () if block is None else (block,)
        found = [self._assistant_block(item, place, opaque) for place, item in enumerate(content)]
        return tuple([block for block in found if block is not None])

    # ------------------------------------------------------------ blocks

    def _user_block(self, item: Any, place: int) -> Block | None:
        fields = item if _is_object(item) else {}
        match fields.get("type"):
            case "tool_result":
                return self._tool_result(fields, place)
            case "text":
                return Text(self._string(fields, "text", place))
            case "image":
                return self._image(fields, place)
            case "document":
                return self._document(fields, place)
            case str():
                return Other("", fields)
            case _:
                self._no_type(place)
                return None

    def _assistant_block(self, item: Any, place: int, opaque: Opaque) -> Block | None:
        fields = item if _is_object(item) else {}
        match fields.get("type"):
            case "text":
                return Text(self._string(fields, "text", place), opaque)
            case "tool_use":
                given: Any = fields.get("input")
                if not _is_object(given):
                    self._problem(f"content[{place}]: a tool_use needs input, an object.")
                    given = {}
                return ToolCall(
                    self._string(fields, "id", place), self._string(fields, "name", place), given, None, opaque
                )
            case "thinking":
                signature = fields.get("signature")
                signed = (
                    {ANTHROPIC_MESSAGES: {"signature": signature}}
                    if isinstance(signature, str) and signature
                    else NOTHING
                )
                return Thinking(self._string(fields, "thinking", place), opaque=opaque or signed)
            case "redacted_thinking":
                data = self._string(fields, "data", place)
                return Thinking("", redacted=True, opaque=opaque or {ANTHROPIC_MESSAGES: {"data": data}})
            case str():
                return Other(self._unknown_api, fields)
            case _:
                self._no_type(place)
                return None

    def _no_type(self, place: int) -> None:
        self._problem(f'content[{place}] must be an object with a type, such as {{"type":"text","text":"…"}}.')

    def _string(self, item: Json, field: str, place: int) -> str:
        found = item.get(field)
        if isinstance(found, str):
            return found if found.isascii() else self._clean(found)
        self._problem(f"content[{place}]: a {item['type']} needs {field}, a string.")
        return ""

    # ------------------------------------------------------------ media

    def _image(self, item: Json, place: int) -> Image | Other:
        source = self._source_of(item, place)
        match source.get("type"):
            case "base64":
                return Image(_optional(source, "media_type"), self._data(source, "data", item, place))
            case "url":
                return Image("", "", self._data(source, "url", item, place))
            case _:
                return Other("", item)

    def _document(self, item: Json, place: int) -> Document | Other:
        source = self._source_of(item, place)
        title = self._clean(_optional(item, "title"))
        match source.get("type"):
            case "base64":
                kind, data = _optional(source, "media_type"), self._data(source, "data", item, place)
                return Document(kind, self._clean(_decoded(data)) if kind == "text/plain" else data, title)
            case "text":
                return Document("text/plain", self._clean(self._data(source, "data", item, place)), title)
            case _:
                return Other("", item)

    def _source_of(self, item: Json, place: int) -> Json:
        source = item.get("source")
        if _is_object(source):
            return source
        self._problem(
            f'content[{place}]: {item["type"]} needs source, e.g. {{"type":"base64","media_type":"…","data":"…"}}.'
        )
        return {}

    def _data(self, source: Json, field: str, item: Json, place: int) -> str:
        found = source.get(field)
        if isinstance(found, str):
            return found
        self._problem(f"content[{place}]: the source of the {item['type']} needs {field}, a string.")
        return ""

    # ------------------------------------------------------------ tool results

    def _tool_result(self, item: Json, place: int) -> ToolResult:
        failed = item.get("is_error")
        return ToolResult(
            self._string(item, "tool_use_id", place),
            self._result_content(item.get("content"), place),
            failed if isinstance(failed, bool) else None,
        )

    def _result_content(self, content: Any, place: int) -> str | tuple[Text | Image | Document, ...]:
        if isinstance(content, str):
            return content if content.isascii() else self._clean(content)
        if content is None:
            return ""
        if not _is_list(content):
            self._problem(f"content[{place}]: the content of a tool_result must be a string or a list of blocks.")
            return ""
        parts: list[Text | Image | Document] = []
        for part in content:
            block = self._user_block(part, place)
            if isinstance(block, (Text, Image, Document)):
                parts.append(block)
            elif block is not None:  # a result cannot hold this type: the model reads it as JSON text
                parts.append(Text(self._to_json(part)))
        return tuple(parts)


def _is_object(item: Any) -> TypeGuard[Json]:
    return isinstance(item, dict)


def _is_list(item: Any) -> TypeGuard[list[Any]]:
    return isinstance(item, list)


def _optional(item: Json, field: str) -> str:
    found = item.get(field)
    return found if isinstance(found, str) else ""


def _decoded(data: str) -> str:
    """Text sent as base64; unchanged if it is not base64 of UTF-8."""
    from base64 import b64decode

    try:
        return b64decode(data, validate=True).decode("utf-8")
    except ValueError:
        return data
