"""Encodes a Request as the body of `POST /v1/messages`. Pure: the same request gives the same bytes, and a longer
history begins with the same messages, so that the prompt cache finds its prefix."""

from __future__ import annotations

from yume_shim.providers.fitting.schema import object_schema, reduce_schema
from yume_shim.providers.fitting.tool_choice import settle_choice
from yume_shim.providers.wire.history_memo import HistoryMemo, is_text, thawed
from yume_shim.providers.wire.thinking import requested_effort, switched_off
from yume_shim.text.characters import WORD
from yume_shim.types.blocks import Document, Image, Other, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.models import ANTHROPIC_MESSAGES, ANTHROPIC_VERSION, WireRequest
from yume_shim.types.shapes import NO_CONTENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from yume_shim.types.blocks import Json, Message
    from yume_shim.types.models import Credential, Quirks, Request, ToolSpec

API = ANTHROPIC_MESSAGES

MIN_BUDGET = 1_024
MAX_NAME = 128
"""Characters of a tool name."""
MAX_ID = 64
"""Characters of a call's id."""
CACHED_TAILS = 2
"""A request may have four cache marks; two are on messages: the end of this turn and of the last one."""

_EPHEMERAL = {"type": "ephemeral"}
_WITHOUT_THINKING = ("low", "medium", "high")
_ATTACHED = "[attached after the results]"


def encode_request(request: Request) -> WireRequest:
    """The POST for a request."""
    model, quirks = request.model, request.model.endpoint.quirks
    thinking = _encode_thinking(request)
    # A thinking budget and a forced call exclude each other, and models that think adaptively take no forced call.
    forcing = thinking is None or thinking["type"] == "disabled"
    request = settle_choice(request, lambda name: wire_names(request.tools)[name], forcing=forcing)
    body: Json = {"model": model.id, "max_tokens": request.max_tokens, "stream": request.streaming}
    system: list[Json] = [{"type": "text", "text": text} for text in request.system if text.strip()]
    tools = encode_tools(request.tools, quirks)
    messages = encode_messages(request)
    if quirks.prompt_cache:
        _mark_cache(tools, system, messages)
    if system:
        body["system"] = system
    if tools:
        body["tools"] = tools
    body["messages"] = messages
    if choice := _encode_choice(request):
        body["tool_choice"] = choice
    if thinking is not None:
        body["thinking"] = thinking
    if effort := _encode_effort(request):
        body["output_config"] = {"effort": effort}
    if request.temperature is not None or request.top_p is not None or request.stop_sequences:
        from yume_shim.providers.fitting.sampling import sampling

        body.update(sampling(request)[0])
    if request.session_id:
        body["metadata"] = {"user_id": request.session_id}
    body.update(quirks.extra_body)
    return WireRequest("/v1/messages", body, {"anthropic-version": ANTHROPIC_VERSION})


def encode_messages(request: Request) -> list[Json]:
    """The history. Messages without any legal content are left out; the list is never empty."""
    names = wire_names(request.tools)
    known, out, rest = _MEMO.take(request, names)
    ids = known or _Ids({})
    for message in rest:
        content = _encode_message(message, request, ids, names)
        if content:
            out.append({"role": message.role, "content": content})
    out = _MEMO.keep(request, names, ids, out)
    return out or [{"role": "user", "content": [{"type": "text", "text": NO_CONTENT}]}]


def _encode_message(message: Message, request: Request, ids: _Ids, names: dict[str, str]) -> list[Json]:
    quirks = request.model.endpoint.quirks
    own = message.origin == request.model.origin
    results: list[Json] = []
    rest: list[Json] = []
    for block in message.blocks:
        match block:
            case Text() | Image() | Document():  # most blocks
                rest.extend(_encode_content(block, quirks, cited=own))
            case ToolResult():
                results.append(_encode_result(block, ids, quirks, rest))
            case ToolCall():
                name = names.get(block.name) or _wire_name(block.name)
                vendor_id = block.opaque.get(API, {}).get("id", "") if own else ""
                wire_id = ids.call(block.id, vendor_id)
                rest.append({"type": "tool_use", "id": wire_id, "name": name, "input": block.input})
            case Other():
                if block.api == API:
                    rest.append(dict(block.data))
            case Thinking():
                rest.extend(_encode_thought(block) if own else ())
    return results + rest  # the API requires results first in their message


def _encode_content(block: Text | Image | Document, quirks: Quirks, *, cited: bool = False) -> list[Json]:
    """The content of a message or a tool result. Blank text is a 400 ("must contain non-whitespace text")."""
    match block:
        case Text():
            if not block.text.strip():
                return []
            citations = block.opaque.get(API, {}).get("citations") if cited else None
            if not citations:
                return [{"type": "text", "text": block.text}]
            return [{"type": "text", "text": block.text, "citations": citations}]
        case Image():
            if block.url:
                return [{"type": "image", "source": {"type": "url", "url": block.url}}]
            source = {"type": "base64", "media_type": block.media_type, "data": block.data}
            return [{"type": "image", "source": source}]
        case Document():
            if not quirks.documents:
                return [{"type": "text", "text": _document_as_text(block)}]
            kind = "text" if block.media_type == "text/plain" else "base64"
            source = {"type": kind, "media_type": block.media_type, "data": block.data}
            return [{"type": "document", "source": source, **({"title": block.title} if block.title else {})}]


def _document_as_text(block: Document) -> str:
    if block.media_type == "text/plain" and block.data.strip():
        return block.data
    return f"[{block.title or 'document'} ({block.media_type}) was left out: this endpoint takes no documents]"


def _encode_result(block: ToolResult, ids: _Ids, quirks: Quirks, after: list[Json]) -> Json:
    """One result; images and documents that are not allowed inside it move `after` it."""
    result: Json = {"type": "tool_result", "tool_use_id": ids.result(block.call_id)}
    if isinstance(block.content, str):
        result["content"] = block.content
    else:
        parts = [part for item in block.content for part in _encode_content(item, quirks)]
        moved = [] if quirks.images_in_results else [part for part in parts if part["type"] != "text"]
        if moved:
            after.extend(moved)
            parts = [part for part in parts if part["type"] == "text"]
            parts.append({"type": "text", "text": _ATTACHED})
        result["content"] = parts
    if block.is_error is not None:
        result["is_error"] = block.is_error
    return result


def _encode_thought(block: Thinking) -> list[Json]:
    """Reasoning is sent back byte for byte, or not at all: without its signature it is a 400."""
    private = block.opaque.get(API, {})
    if block.redacted:
        return [{"type": "redacted_thinking", "data": private["data"]}] if private.get("data") else []
    if not private.get("signature"):
        return []
    return [{"type": "thinking", "thinking": block.text, "signature": private["signature"]}]


def encode_tools(tools: tuple[ToolSpec, ...], quirks: Quirks) -> list[Json]:
    """The tools of the request."""
    names = wire_names(tools)
    return [
        {
            "name": names[tool.name],
            "description": tool.description,
            "input_schema": reduce_schema(object_schema(tool.schema, named=False), quirks.schema_drop),
        }
        for tool in tools
    ]


def wire_names(tools: tuple[ToolSpec, ...]) -> dict[str, str]:
    """Tool name -> a name that the API takes, each different."""
    names: dict[str, str] = {}
    for tool in tools:
        names[tool.name] = _free(_wire_name(tool.name), set(names.values()), MAX_NAME)
    return names


def auth_headers(credential: Credential) -> dict[str, str]:
    """API keys use x-api-key; tokens use Authorization: Bearer."""
    match credential.kind:
        case "key":
            bearer = {"Authorization": f"Bearer {credential.key}"} if credential.also_bearer else {}
            return {"x-api-key": credential.key, **bearer}
        case "token":
            return {"Authorization": f"Bearer {credential.key}"}
        case "none":
            return {}


def _encode_thinking(request: Request) -> Json | None:
    """The `thinking` field. "adaptive" models refuse budgets, "budget" models take nothing else. A model that is not in
    the catalogue gets what the request names explicitly."""
    spec, mode, budget = request.model, request.thinking, request.thinking_budget
    style = spec.thinking
    if not spec.endpoint.quirks.thinking or (spec.known and style not in ("adaptive", "budget")):
        return None
    if style not in ("adaptive", "budget"):
        style = "budget" if mode == "enabled" else "adaptive" if mode == "adaptive" else ""
    if not style:
        return None
    if switched_off(request) and not spec.always_thinks:
        return {"type": "disabled"}
    if style == "adaptive":
        display = {"display": request.thinking_display} if request.thinking_display else {}
        return {"type": "adaptive", **display}
    if mode == "default" and budget is None:
        return None
    tokens = min(budget or request.max_tokens // 2, request.max_tokens - 1)
    return {"type": "enabled", "budget_tokens": tokens} if tokens >= MIN_BUDGET else None


def _encode_effort(request: Request) -> str | None:
    """Models with budgets take no effort, unless they list some. Without thinking, "high" is the highest."""
    if request.model.thinking == "budget" and not request.model.efforts:
        return None
    effort = requested_effort(request)
    if effort is None or request.model.always_thinks or not switched_off(request):
        return effort
    from yume_shim.types.effort import nearest_effort

    return nearest_effort(effort, _WITHOUT_THINKING)


def _encode_choice(request: Request) -> Json | None:
    match request.tool_choice:
        case "auto":
            return None
        case "none":
            return {"type": "none"} if request.tools else None
        case name:
            return {"type": "tool", "name": wire_names(request.tools)[name]}


def _mark_cache(tools: list[Json], system: list[Json], messages: list[Json]) -> None:
    """At most four marks: last tool, last system block, the ends of the last two user messages."""
    for blocks in (tools, system):
        if blocks:
            blocks[-1]["cache_control"] = _EPHEMERAL
    tails = _last_prompts(messages)
    if len(tails) < CACHED_TAILS and any(map(is_text, messages[:1])):
        messages[:] = thawed(messages)
        tails = _last_prompts(messages)
    for place in tails:  # copies: the next request begins with the same messages
        *before, last = messages[place]["content"]
        messages[place] = {**messages[place], "content": [*before, {**last, "cache_control": _EPHEMERAL}]}


def _last_prompts(messages: list[Json]) -> list[int]:
    """The places of the last user messages, as far as they are values."""
    places = [place for place, item in enumerate(messages) if not is_text(item) and item["role"] == "user"]
    return places[-CACHED_TAILS:]


class _Ids:
    """Call ids in the form that the API takes (`^[a-zA-Z0-9_-]+$`, unique), the same for a call and its result. A call
    with a repeated id (some servers count from call_0 in every turn) gets a new one; a result belongs to the latest."""

    def __init__(self, latest: dict[str, str], used: Sequence[str] = ()) -> None:
        self._used = {*latest.values(), *used}
        self._latest = latest

    def packed(self) -> Json:
        """What is known, as JSON."""
        return {"ids": self._latest, "used": sorted(self._used.difference(self._latest.values()))}

    def call(self, call_id: str, vendor_id: str = "") -> str:
        """`vendor_id` is the endpoint's own id, if it differs from ours; the endpoint expects it back."""
        wire = vendor_id if vendor_id and vendor_id not in self._used else ""
        wire = wire or _free(_plain(call_id) or "call", self._used, MAX_ID)
        self._used.add(wire)
        self._latest[call_id] = wire
        return wire

    def result(self, call_id: str) -> str:
        return self._latest.get(call_id) or _plain(call_id) or "call"


_MEMO = HistoryMemo(API, _Ids.packed, lambda _, known: _Ids(known["ids"], known["used"]))


def _plain(name: str) -> str:
    """The name with "_" for what the API does not take."""
    return name if WORD.issuperset(name) else "".join(char if char in WORD else "_" for char in name)


def _wire_name(name: str) -> str:
    return _plain(name)[:MAX_NAME] or "tool"


def _free(name: str, used: set[str], limit: int) -> str:
    """`name`, with a number at its end if it is already used."""
    name = name[:limit]
    candidate, count = name, 1
    while candidate in used:
        count += 1
        suffix = f"_{count}"
        candidate = name[: limit - len(suffix)] + suffix
    return candidate
