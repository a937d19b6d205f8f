"""What the two OpenAI APIs share, and Ollama's, which is made after them: names, ids, arguments, media and effort
on the way out, ids on the way in."""

from __future__ import annotations

import re

from yume_shim.providers.fitting.schema import object_schema, reduce_schema, strict_schema, without_nulls
from yume_shim.providers.wire.call_ids import without_thought
from yume_shim.providers.wire.thinking import asked_effort, least_effort, switched_off
from yume_shim.text import codec
from yume_shim.types.blocks import Document, Image, Text, ToolCall, ToolResult
from yume_shim.types.events import BlockEnded
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from yume_shim.types.blocks import Json
    from yume_shim.types.events import ModelEvent
    from yume_shim.types.models import Credential, Quirks, Request, ToolSpec

TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
"""40 is Chat's limit: "Invalid 'messages[1].tool_calls[0].id': string too long. Expected … maximum length 40"."""
NAME_KEPT = 55
"""Characters of a name that stay in front of the hash when it has to be changed: 55 + "_" + 8 = 64."""
MINT_TRIES = 100
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def bearer(credential: Credential) -> dict[str, str]:
    """Keys and tokens go the same way here; local servers want neither."""
    return {} if credential.kind == "none" else {"Authorization": f"Bearer {credential.key}"}


# ---------------------------------------------------------------- tool names and schemas


def wire_name(name: str) -> str:
    """A tool name that both APIs take; names of MCP tools may be longer or hold other characters."""
    if TOOL_NAME.fullmatch(name):
        return name
    kept = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:NAME_KEPT]
    return f"{kept}_{_digest(name)[:8]}"


def own_names(tools: tuple[ToolSpec, ...]) -> dict[str, str]:
    """Wire name -> our name, of the tools whose name had to be changed."""
    return {wire: tool.name for tool in tools if (wire := wire_name(tool.name)) != tool.name}


def parameters(tool: ToolSpec, quirks: Quirks) -> tuple[Json, bool]:
    """A tool's schema as this endpoint takes it, and whether it is in the strict form."""
    schema = reduce_schema(tool.schema, quirks.schema_drop)
    strict = strict_schema(schema) if quirks.strict_tools else None
    return (object_schema(schema), False) if strict is None else (strict, True)


def relax(events: list[ModelEvent], request: Request) -> list[ModelEvent]:
    """Finished calls without the nulls that the strict form of their schema brought."""
    schemas = {tool.name: tool.schema for tool in request.tools}
    return [
        replace(event, block=replace(event.block, input=without_nulls(event.block.input, schemas[event.block.name])))
        if isinstance(event, BlockEnded) and isinstance(event.block, ToolCall) and event.block.name in schemas
        else event
        for event in events
    ]


def arguments_object(call: ToolCall) -> Json:
    """A call's arguments. Text that was no JSON goes back inside an object: many servers parse it."""
    return dict(call.input) if call.broken is None else {"invalid_json": call.broken}


def arguments_text(call: ToolCall) -> str:
    """The same as JSON text."""
    return codec.dumps(arguments_object(call)).decode()


# ---------------------------------------------------------------- call ids


class WireIds:
    """Our call ids as one request sends them: the same for a call and its result.

    A provider gets its own id back (`opaque[api]["id"]`); foreign ids that it would refuse are replaced by a hash.
    """

    def __init__(self, request: Request, api: str) -> None:
        pattern = request.model.endpoint.quirks.id_pattern
        self._legal = re.compile(pattern) if pattern else CALL_ID
        self._map: dict[str, str] = {}
        self._used: set[str] = set()
        for message in request.messages:
            own = message.origin == request.model.origin
            for block in message.blocks:
                if isinstance(block, ToolCall):
                    self._take(block.id, str(block.opaque.get(api, {}).get("id", "")) if own else "")

    def __getitem__(self, call_id: str) -> str:
        return self._map.get(call_id) or self._take(call_id, "")

    def _take(self, call_id: str, vendors: str) -> str:
        wire = call_id
        if vendors and vendors not in self._used:
            wire = vendors
        elif not self._legal.fullmatch(call_id) or call_id in self._used:
            wire = self._derived(call_id)
        self._used.add(wire)
        return self._map.setdefault(call_id, wire)

    def _derived(self, call_id: str) -> str:
        digest = _digest(call_id)
        candidates = (f"call_{digest[:24]}", *(digest[:length] for length in range(len(digest), 0, -1)))
        return next((wire for wire in candidates if self._legal.fullmatch(wire)), call_id)


class OwnIds:
    """Ids of incoming calls made ours: short, plain and unique in the session.

    Some servers count from `call_0` in every response (Bedrock Mantle), some give none, some give long ones (xAI 43
    characters, older vLLM 46) or `functions.name:0` (Kimi).
    """

    def __init__(self, request: Request, new_id: Callable[[], str]) -> None:
        self._messages = request.messages
        self._new_id = new_id
        self._used: set[str] | None = None

    def take(self, vendors: str) -> tuple[str, Json]:
        """Our id for a call, and what to keep of the provider's when it differs."""
        if self._used is None:  # only answers with calls pay for the walk
            self._used = {
                block.id for message in self._messages for block in message.blocks if isinstance(block, ToolCall)
            }
        own = without_thought(vendors)
        for _ in range(MINT_TRIES):
            if CALL_ID.fullmatch(own) and own not in self._used:
                break
            own = self._new_id()
        self._used.add(own)
        return own, {"id": vendors} if vendors and vendors != own else {}


def _digest(text: str) -> str:
    """40 letters and digits that depend on the text only."""
    import hashlib

    number = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(), "big")
    letters: list[str] = []
    for _ in range(40):
        number, rest = divmod(number, 62)
        letters.append(_ALPHABET[rest])
    return "".join(letters)


# ---------------------------------------------------------------- content


def data_url(block: Image | Document) -> str:
    """Where the API finds the bytes."""
    if isinstance(block, Image) and block.url:
        return block.url
    return f"data:{block.media_type};base64,{block.data}"


def file_name(document: Document) -> str:
    """Files must have a name, and the ending tells OpenAI what they are."""
    title = document.title or "document"
    ending = document.media_type.rsplit("/", 1)[-1]
    return title if title.lower().endswith(f".{ending}") else f"{title}.{ending}"


def is_plain(document: Document) -> bool:
    """Plain text needs no file."""
    return document.media_type.startswith("text/")


def document_text(document: Document) -> str:
    """A document as words: its text, or what stands in its place where files are not taken."""
    if is_plain(document):
        return f"{document.title}\n\n{document.data}" if document.title else document.data
    return f"[{file_name(document)} is left out: this endpoint takes no {document.media_type} files]"


def split_result(result: ToolResult, quirks: Quirks) -> tuple[str, tuple[Image | Document, ...]]:
    """A result as text, and the media that a text cannot hold."""
    if isinstance(result.content, str):
        return result.content, ()
    words: list[str] = []
    media: list[Image | Document] = []
    for part in result.content:
        match part:
            case Text():
                words.append(part.text)
            case Document() if is_plain(part) or not quirks.documents:
                words.append(document_text(part))
            case Image() | Document():
                media.append(part)
    if media:
        words.append(f"[{_counted(media)} of this result: see the user message below]")
    return "\n".join(words), tuple(media)


def _counted(media: list[Image | Document]) -> str:
    images = sum(isinstance(part, Image) for part in media)
    files = len(media) - images
    named = ((images, "image"), (files, "file"))
    return " and ".join(f"{number} {word}{'s' if number > 1 else ''}" for number, word in named if number)


# ---------------------------------------------------------------- the rest of a body


def thinks(request: Request) -> bool:
    """The model reasons and the endpoint lets us say how much."""
    return request.model.thinking == "effort" and request.model.endpoint.quirks.thinking


def effort_of(request: Request) -> str | None:
    """How hard the model should think. None = its own default."""
    if not thinks(request):
        return None
    return least_effort(request) if switched_off(request) else asked_effort(request)


def with_extra(body: Json, extra: Mapping[str, Any]) -> Json:
    """The endpoint's own additions; null takes a field out that it refuses."""
    merged = {**body, **extra}
    return {key: item for key, item in merged.items() if item is not None or key not in extra}


def count(fields: Any, *names: str) -> int:
    """The first of these token counts that is there."""
    if isinstance(fields, dict):
        for name in names:
            if isinstance(found := fields.get(name), int):
                return found
    return 0
