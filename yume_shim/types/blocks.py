"""Blocks and messages, the parts of a conversation, as frozen values."""

from __future__ import annotations

from types import MappingProxyType

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Literal, TypeAlias

    Json: TypeAlias = dict[str, Any]
    Opaque: TypeAlias = Mapping[str, Any]
    Role = Literal["user", "assistant"]

NOTHING: Opaque = MappingProxyType({})
"""No opaque data."""


class Text(Value):
    """Plain text. `opaque` holds data that a provider must get back (signatures, phases), keyed by wire API. It is
    never shown."""

    text: str
    opaque: Opaque = NOTHING


class Thinking(Value):
    """Reasoning. A redacted block has no text; its data is in `opaque`. `opaque["anthropic-messages"]` is
    `{"signature": …}` or `{"data": …}`; other APIs keep their own form under their own name."""

    text: str
    redacted: bool = False
    opaque: Opaque = NOTHING


class ToolCall(Value):
    """A finished call. `broken` holds the raw argument text when it was not a JSON object (then `input` is {})."""

    id: str
    name: str
    input: Json
    broken: str | None = None
    opaque: Opaque = NOTHING
    stopped: str = ""
    """Why it was stopped while the model wrote it. Then `input` has the complete fields only, and it never runs."""


class Image(Value):
    """An image: base64 data with its media type, or a URL (then `data` is empty)."""

    media_type: str
    data: str
    url: str = ""


class Document(Value):
    """A document such as a PDF: base64 data, or plain text when `media_type` is text/plain."""

    media_type: str
    data: str
    title: str = ""


class ToolResult(Value):
    """The result of one call. `is_error` is None where a tool reports no status, False where it reports success, as
    Bash does."""

    call_id: str
    content: str | tuple[Text | Image | Document, ...]
    is_error: bool | None = None


class Other(Value):
    """A block of a kind that only its own API knows, such as server tools: kept raw and sent back to that API only."""

    api: str
    data: Json


Block = Text | Thinking | ToolCall | Image | Document | ToolResult | Other
AssistantBlock = Text | Thinking | ToolCall | Other


class Message(Value):
    """One entry of the history. `origin` is the "api/model" that wrote it ("" for the user's side)."""

    role: Role
    blocks: tuple[Block, ...]
    origin: str = ""


def calls_in(messages: Iterable[Message]) -> tuple[list[str], list[str]]:
    """The ids and the names of all calls; messages that are still stored are not read for it."""
    ids: list[str] = []
    names: list[str] = []
    last: Any = None
    for message in messages:
        stored: Any = getattr(message, "stored", None)
        if stored is None:
            for block in message.blocks:
                if type(block) is ToolCall:
                    ids.append(block.id)
                    names.append(block.name)
        elif stored is not last:
            last = stored
            ids += stored.call_ids
            names += stored.call_names
    return ids, names
