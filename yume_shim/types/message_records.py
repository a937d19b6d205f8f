"""Records of Anthropic's message form: content blocks and usage. The nested dialect prints them, the store writes
them."""

from __future__ import annotations

from yume_shim.types.record import ABSENT, Record, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from yume_shim.types.blocks import Json


@record
class TextBlock(Record):
    """Text."""

    type: Literal["text"] = "text"
    text: str


@record
class ThinkingBlock(Record):
    """Reasoning; `signature` is "" where the provider gives none."""

    type: Literal["thinking"] = "thinking"
    thinking: str
    signature: str


@record
class RedactedThinkingBlock(Record):
    """Reasoning that the provider encrypted."""

    type: Literal["redacted_thinking"] = "redacted_thinking"
    data: str


@record
class ToolUseBlock(Record):
    """A tool call of the model. Arguments that are not a JSON object appear in `input` as
    `{"__unparsedToolInput": …}`, in the form of `RawInput`."""

    type: Literal["tool_use"] = "tool_use"
    id: str
    name: str
    input: Json


@record
class RawInput(Record):
    """Call arguments as the model wrote them, and their length in characters."""

    raw: str
    len: int


@record
class Base64Source(Record):
    """Media inside the message."""

    type: Literal["base64"] = "base64"
    media_type: str
    data: str


@record
class TextSource(Record):
    """A plain-text document inside the message."""

    type: Literal["text"] = "text"
    media_type: Literal["text/plain"] = "text/plain"
    data: str


@record
class UrlSource(Record):
    """An image that the provider fetches itself."""

    type: Literal["url"] = "url"
    url: str


@record
class ImageBlock(Record):
    """An image."""

    type: Literal["image"] = "image"
    source: Base64Source | UrlSource


@record
class DocumentBlock(Record):
    """A document, such as a PDF."""

    type: Literal["document"] = "document"
    source: Base64Source | TextSource
    title: str | None = ABSENT


@record
class ToolResultBlock(Record):
    """The result of a tool call. `is_error` is left out where the tool reports neither success nor failure."""

    type: Literal["tool_result"] = "tool_result"
    tool_use_id: str
    content: str | list[TextBlock | ImageBlock | DocumentBlock]
    is_error: bool | None = ABSENT


@record
class CacheCreation(Record):
    """Tokens written to the prompt cache, by lifetime."""

    ephemeral_5m_input_tokens: int
    ephemeral_1h_input_tokens: int


@record
class MessageUsage(Record):
    """Tokens of one response. The members of `cache_creation` sum to `cache_creation_input_tokens`: ccusage 20 adds up
    the members and ignores the sum."""

    input_tokens: int
    cache_creation_input_tokens: int
    cache_read_input_tokens: int
    cache_creation: CacheCreation
    output_tokens: int
    service_tier: Literal["standard"] = "standard"
