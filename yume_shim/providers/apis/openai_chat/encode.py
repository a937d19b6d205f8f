"""Encodes a Request as the body of a Chat Completions POST, in the dialect that the endpoint's quirks describe."""

from __future__ import annotations

from yume_shim.providers.apis.openai_chat.thinking import thinking_fields
from yume_shim.providers.fitting.tool_choice import settle_choice
from yume_shim.providers.wire.history_memo import HistoryMemo
from yume_shim.providers.wire.openai_body import bearer, with_extra
from yume_shim.providers.wire.openai_content import data_url, document_text, file_name, is_plain, split_result
from yume_shim.providers.wire.openai_ids import WireIds
from yume_shim.providers.wire.openai_tools import (
    arguments_object,
    arguments_text,
    names_of_calls,
    parameters,
    wire_name,
)
from yume_shim.types.blocks import Document, Image, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.models import WireRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.types.blocks import Json, Message
    from yume_shim.types.models import Credential, Quirks, Request, ToolSpec

API = "openai-chat"
_MEMO = HistoryMemo(
    API,
    lambda known: {"ids": known[0].packed(), "names": known[1]},
    lambda request, known: (WireIds(request, API, known["ids"]), known["names"]),
)
DETAILS = "reasoning_details"
"""The echo field that is a list of the provider's own objects; the others are plain text."""
BRIDGE = "Understood."
"""The assistant message between tool results and a user message, where one must not follow the other."""


def encode_request(request: Request) -> WireRequest:
    """The POST for a request."""
    request = settle_choice(request, wire_name)
    quirks = request.model.endpoint.quirks
    body: Json = {
        "model": request.model.id,
        "messages": encode_messages(request),
        "stream": request.streaming,
        quirks.max_tokens_field: request.max_tokens,
    }
    if quirks.usage_in_stream and request.streaming:
        body["stream_options"] = {"include_usage": True}
    if request.tools:  # several servers refuse an empty list
        body["tools"] = encode_tools(request.tools, quirks)
        if request.tool_choice == "none":
            body["tool_choice"] = "none"
        elif request.tool_choice != "auto":
            body["tool_choice"] = {"type": "function", "function": {"name": wire_name(request.tool_choice)}}
    body.update(thinking_fields(request))
    if request.temperature is not None or request.top_p is not None or request.stop_sequences:
        from yume_shim.providers.fitting.sampling import sampling

        fields = sampling(request)[0]
        body.update({"stop" if name == "stop_sequences" else name: item for name, item in fields.items()})
    if request.session_id and quirks.cache_key:
        body["prompt_cache_key"] = request.session_id
    return WireRequest("/chat/completions", with_extra(body, quirks.extra_body))


def encode_messages(request: Request) -> list[Json]:
    """System prompt and history as chat messages."""
    quirks = request.model.endpoint.quirks
    known, messages, rest = _MEMO.take(request)
    ids: WireIds
    names: dict[str, str]
    if known is None:
        ids, names = WireIds(request, API), {}
    else:
        ids, names = known
        ids.add(rest, request.model.origin)
    if quirks.tool_result_name:
        names.update(names_of_calls(rest))
    for message in rest:
        if message.role == "assistant":
            messages += _encode_assistant(message, ids, quirks, own=message.origin == request.model.origin)
        else:
            _add_user(messages, message, ids, quirks, names)
    messages = _MEMO.keep(request, None, (ids, names), messages)
    if not request.system:
        return messages
    system: Json = {"role": quirks.system_role, "content": "\n\n".join(request.system)}
    first = messages[0] if messages else None
    if isinstance(first, dict) and system["role"] == first["role"] == "user":  # templates need alternating roles
        content = _as_parts(system["content"]) + _as_parts(first["content"])
        return [{"role": "user", "content": _plainest(content)}, *messages[1:]]
    return [system, *messages]


def _encode_assistant(message: Message, ids: WireIds, quirks: Quirks, *, own: bool) -> list[Json]:
    texts = [block.text for block in message.blocks if isinstance(block, Text) and block.text.strip()]
    calls = [_encode_call(block, ids, quirks, own=own) for block in message.blocks if isinstance(block, ToolCall)]
    if not texts and not calls:
        return []
    encoded: Json = {"role": "assistant"}
    if texts:
        encoded["content"] = "\n\n".join(texts)
    elif quirks.empty_content != "omit":
        # Proxies of Claude turn "" into an empty text block, which Claude refuses; some servers require a string.
        encoded["content"] = "" if quirks.empty_content == "empty" else None
    if calls:
        encoded["tool_calls"] = calls
    if quirks.reasoning_echo == DETAILS:
        if details := _own_details(message) if own else []:
            encoded[DETAILS] = details
    elif quirks.reasoning_echo and calls:
        # DeepSeek, Kimi: "`reasoning_content` … must be passed back to the API"; "" where there is none.
        thoughts = [block.text for block in message.blocks if isinstance(block, Thinking)] if own else []
        encoded[quirks.reasoning_echo] = "\n\n".join(thoughts)
    return [encoded]


def _own_details(message: Message) -> list[Any]:
    """The provider's reasoning details, unchanged and in order: their signatures depend on it."""
    return [
        detail
        for block in message.blocks
        if isinstance(block, (Text, Thinking, ToolCall))
        for detail in block.opaque.get(API, {}).get(DETAILS, ())
    ]


def _encode_call(call: ToolCall, ids: WireIds, quirks: Quirks, *, own: bool) -> Json:
    as_text = quirks.stringify_arguments is not False  # the API's own form; templates of some servers need the object
    function: Json = {"name": wire_name(call.name)}
    function["arguments"] = arguments_text(call) if as_text else arguments_object(call)
    encoded: Json = {"id": ids[call.id], "type": "function", "function": function}
    if own and (extra := call.opaque.get(API, {}).get("extra_content")):
        encoded["extra_content"] = extra  # Gemini's compatible endpoint keeps its thought signatures here
    return encoded


def _add_user(messages: list[Json], message: Message, ids: WireIds, quirks: Quirks, names: dict[str, str]) -> None:
    """Results first, one message each, then everything else as one user message."""
    content: list[Json] = []
    for block in message.blocks:
        match block:
            case ToolResult():
                text, media = split_result(block, quirks)
                result: Json = {"role": "tool", "tool_call_id": ids[block.call_id], "content": text}
                if name := names.get(block.call_id):
                    result["name"] = name
                messages.append(result)
                # A tool message is text only; an image in it is refused, or accepted and not seen.
                content += [_encode_media(part, quirks) for part in media]
            case Text() if block.text.strip():
                content.append({"type": "text", "text": block.text})
            case Image() | Document():
                content.append(_encode_media(block, quirks))
            case _:
                pass  # blank text, blocks that only an assistant has
    if not content:
        return
    last = messages[-1] if messages else {}
    if last.get("role") == "user":  # an empty answer between them was left out; templates need alternating roles
        content = _as_parts(messages.pop()["content"]) + content
    elif last.get("role") == "tool" and not quirks.user_after_results:
        messages.append({"role": "assistant", "content": BRIDGE})
    messages.append({"role": "user", "content": _plainest(content)})


def _plainest(content: list[Json]) -> str | list[Json]:
    """Text alone is sent as a string: not every server takes a list."""
    if all(part["type"] == "text" for part in content):
        return "\n\n".join(part["text"] for part in content)
    return content


def _as_parts(content: str | list[Json]) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _encode_media(block: Image | Document, quirks: Quirks) -> Json:
    if isinstance(block, Image):
        return {"type": "image_url", "image_url": {"url": data_url(block)}}
    if is_plain(block) or not quirks.documents:
        return {"type": "text", "text": document_text(block)}
    return {"type": "file", "file": {"filename": file_name(block), "file_data": data_url(block)}}


def encode_tools(tools: tuple[ToolSpec, ...], quirks: Quirks) -> list[Json]:
    """The tools; `strict` is sent only if it is true, because compatible servers do not know it. Proxies in front of
    Gemini that answer "required one_of 'tool_type' must have one initialized field" pass tools on as they are: they
    need Gemini's own form."""
    if quirks.declarations:
        return _gemini_declarations(tools, quirks)
    encoded: list[Json] = []
    for tool in tools:
        schema, strict = parameters(tool, quirks)
        function: Json = {"name": wire_name(tool.name), "description": tool.description, "parameters": schema}
        if strict:
            function["strict"] = True
        encoded.append({"type": "function", "function": function})
    return encoded


def _gemini_declarations(tools: tuple[ToolSpec, ...], quirks: Quirks) -> list[Json]:
    from yume_shim.providers.fitting.schema import openapi_schema, reduce_schema

    field = "function_declarations" if quirks.declarations == "snake" else "functionDeclarations"
    declared = [
        {
            "name": wire_name(tool.name),
            "description": tool.description,
            "parameters": openapi_schema(reduce_schema(tool.schema, quirks.schema_drop)),
        }
        for tool in tools
    ]
    return [{field: declared}]


def auth_headers(credential: Credential) -> dict[str, str]:
    """A Bearer token, or nothing."""
    return bearer(credential)
