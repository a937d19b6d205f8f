"""Encodes a Request as the body of a Responses POST."""

from __future__ import annotations

from yume_shim.providers.fitting.tool_choice import settle_choice
from yume_shim.providers.wire.history_memo import HistoryMemo
from yume_shim.providers.wire.openai_body import bearer, effort_of, thinks, with_extra
from yume_shim.providers.wire.openai_content import ERROR, data_url, document_text, file_name, is_plain, split_result
from yume_shim.providers.wire.openai_ids import WireIds
from yume_shim.providers.wire.openai_tools import arguments_text, parameters, wire_name
from yume_shim.types.blocks import Document, Image, Other, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.models import WireRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json, Message
    from yume_shim.types.models import Credential, Quirks, Request, ToolSpec

API = "openai-responses"
_MEMO = HistoryMemo(API, WireIds.packed, lambda request, known: WireIds(request, API, known))
MIN_OUTPUT_TOKENS = 16
"""Smaller values of `max_output_tokens` are refused."""


def encode_request(request: Request) -> WireRequest:
    """The POST for a request."""
    request = settle_choice(request, wire_name)
    quirks = request.model.endpoint.quirks
    body: Json = {
        "model": request.model.id,
        "input": encode_messages(request),
        "stream": request.streaming,
        **({"stream_options": {"include_obfuscation": False}} if request.streaming else {}),
        "store": False,
        "max_output_tokens": max(MIN_OUTPUT_TOKENS, request.max_tokens),
    }
    if request.system:
        body["instructions"] = "\n\n".join(request.system)
    if request.tools:
        body["tools"] = encode_tools(request.tools, quirks)
        if request.tool_choice == "none":
            body["tool_choice"] = "none"
        elif request.tool_choice != "auto":
            body["tool_choice"] = {"type": "function", "name": wire_name(request.tool_choice)}
    if thinks(request):
        body["include"] = ["reasoning.encrypted_content"]
        effort = effort_of(request)
        reasoning = {"effort": effort} if effort else {}
        if request.thinking != "disabled" and request.thinking_display != "omitted":
            reasoning["summary"] = "auto"
        if reasoning:
            body["reasoning"] = reasoning
    if request.temperature is not None or request.top_p is not None or request.stop_sequences:
        from yume_shim.providers.fitting.sampling import sampling

        body.update(sampling(request)[0])
    if request.session_id and quirks.cache_key:
        body["prompt_cache_key"] = request.session_id
    return WireRequest("/responses", with_extra(body, quirks.extra_body))


def encode_messages(request: Request) -> list[Json]:
    """The history as input items."""
    known, items, rest = _MEMO.take(request)
    ids = WireIds(request, API) if known is None else known
    if known is not None:
        ids.add(rest, request.model.origin)
    for message in rest:
        if message.role == "assistant":
            encoded = _encode_assistant(message, ids, own=message.origin == request.model.origin)
            items += _calls_last(encoded) if request.model.endpoint.quirks.calls_together else encoded
        else:
            items += _encode_user(message, ids, request.model.endpoint.quirks)
    return _MEMO.keep(request, None, ids, items)


def _encode_assistant(message: Message, ids: WireIds, *, own: bool) -> list[Json]:
    items: list[Json] = []
    waiting: list[Json] = []
    """Reasoning that waits for the item after it: alone it is a 400 ("without its required following item")."""
    for block in message.blocks:
        private = block.opaque.get(API, {}) if own and isinstance(block, (Text, Thinking, ToolCall)) else {}
        match block:
            case Thinking() if private.get("encrypted_content"):
                # No id: "Items are not persisted when `store` is set to false" (404 on replay).
                blob = private["encrypted_content"]
                waiting.append({"type": "reasoning", "summary": private.get("summary", []), "encrypted_content": blob})
            case Text() if block.text.strip():
                item: Json = {"type": "message", "role": "assistant"}
                item["content"] = [{"type": "output_text", "text": block.text}]
                if phase := private.get("phase"):
                    item["phase"] = phase
                items += [*waiting, item]
                waiting = []
            case ToolCall():
                call: Json = {"type": "function_call", "call_id": ids[block.id], "name": wire_name(block.name)}
                call["arguments"] = arguments_text(block)
                items += [*waiting, call]
                waiting = []
            case Other() if block.api == API:
                items += [*waiting, block.data]
                waiting = []
            case _:
                pass  # blank text, reasoning of other models
    return items


def _calls_last(items: list[Json]) -> list[Json]:
    """DeepSeek: "No tool output found for tool call" if anything comes between a call and the outputs."""
    return sorted(items, key=lambda item: item.get("type") == "function_call")


def _encode_user(message: Message, ids: WireIds, quirks: Quirks) -> list[Json]:
    outputs: list[Json] = []
    content: list[Json] = []
    for block in message.blocks:
        match block:
            case ToolResult():
                output, moved = _encode_output(block, quirks)
                outputs.append({"type": "function_call_output", "call_id": ids[block.call_id], "output": output})
                content += moved
            case Text() if block.text.strip():
                content.append({"type": "input_text", "text": block.text})
            case Image() | Document():
                content.append(_encode_media(block, quirks))
            case _:
                pass  # blank text, blocks that only an assistant has
    return [*outputs, {"role": "user", "content": content}] if content else outputs


def _encode_output(result: ToolResult, quirks: Quirks) -> tuple[str | list[Json], list[Json]]:
    """A result, and the media that must be sent outside it."""
    text, media = split_result(result, quirks)
    if not media or isinstance(result.content, str):
        return text, []
    if not quirks.images_in_results:
        return text, [_encode_media(part, quirks) for part in media]
    parts = [
        {"type": "input_text", "text": part.text} if isinstance(part, Text) else _encode_media(part, quirks)
        for part in result.content
    ]
    return [{"type": "input_text", "text": ERROR.rstrip()}, *parts] if result.is_error else parts, []


def _encode_media(block: Image | Document, quirks: Quirks) -> Json:
    if isinstance(block, Image):
        return {"type": "input_image", "detail": "auto", "image_url": data_url(block)}
    if is_plain(block) or not quirks.documents:
        return {"type": "input_text", "text": document_text(block)}
    return {"type": "input_file", "filename": file_name(block), "file_data": data_url(block)}


def encode_tools(tools: tuple[ToolSpec, ...], quirks: Quirks) -> list[Json]:
    """The tools; `strict` is a required key here."""
    encoded: list[Json] = []
    for tool in tools:
        schema, strict = parameters(tool, quirks)
        named: Json = {"type": "function", "name": wire_name(tool.name), "description": tool.description}
        encoded.append({**named, "parameters": schema, "strict": strict})
    return encoded


def auth_headers(credential: Credential) -> dict[str, str]:
    """A Bearer token, or nothing."""
    return bearer(credential)
