"""Encodes a Request as the body of a POST to Ollama's /api/chat."""

from __future__ import annotations

from yume_shim.providers.apis.ollama_chat.context import context_size
from yume_shim.providers.fitting.tool_choice import settle_choice
from yume_shim.providers.wire.history_memo import HistoryMemo
from yume_shim.providers.wire.openai_body import bearer, with_extra
from yume_shim.providers.wire.openai_content import document_text, split_result
from yume_shim.providers.wire.openai_ids import WireIds
from yume_shim.providers.wire.openai_tools import arguments_text, names_of_calls, parameters, wire_name
from yume_shim.providers.wire.thinking import switched_off
from yume_shim.types.blocks import Document, Image, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.effort import nearest_effort
from yume_shim.types.models import WireRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.types.blocks import Json, Message
    from yume_shim.types.models import Credential, Quirks, Request, ToolSpec

API = "ollama-chat"
_MEMO = HistoryMemo(
    API,
    lambda known: {"ids": known[0].packed(), "names": known[1]},
    lambda request, known: (WireIds(request, API, known["ids"]), known["names"]),
)
BY_LEVEL = frozenset(("effort", "level"))
"""Styles of thinking (`ModelSpec.thinking`) that are set by level; all others are only on or off."""
LEVELS = ("low", "medium", "high")
"""The levels of such a model, unless the server listed more."""
ONLY_IMAGES = "The images of the results above:"


def encode_request(request: Request) -> WireRequest:
    """The POST for a request."""
    request = settle_choice(request, wire_name, forcing=False)  # the API has no tool choice
    quirks = request.model.endpoint.quirks
    body: Json = {
        "model": request.model.id,
        "messages": encode_messages(request),
        "stream": request.streaming,
        # Without these the server silently drops the oldest messages of a request that is too long; with them it
        # refuses the request, and we compact the conversation. Servers that do not know them ignore them.
        "truncate": False,
        "shift": False,
        "options": _options(request),
    }
    if request.tools and request.tool_choice != "none":
        body["tools"] = encode_tools(request.tools, quirks)
    think = _think(request)
    if think is not None:
        body["think"] = think
    extra = dict(quirks.extra_body)
    if isinstance(extra.get("options"), dict):
        extra["options"] = {**body["options"], **extra["options"]}
    return WireRequest("/api/chat", with_extra(body, extra))


def _options(request: Request) -> Json:
    options: Json = {"num_ctx": context_size(request), "num_predict": request.max_tokens}
    if request.temperature is not None or request.top_p is not None or request.stop_sequences:
        from yume_shim.providers.fitting.sampling import sampling

        fields = sampling(request)[0]
        options.update({"stop" if name == "stop_sequences" else name: item for name, item in fields.items()})
    return options


def _think(request: Request) -> bool | str | None:
    """`think`; None = the server decides. Models that do not think refuse `true` ('"x" does not support thinking'), but
    not `false`."""
    spec = request.model
    if not spec.endpoint.quirks.thinking:
        return None
    if spec.thinking in BY_LEVEL:
        levels = spec.efforts or LEVELS
        if switched_off(request):
            return nearest_effort("low", levels)  # gpt-oss always thinks, at some level
        return nearest_effort(request.effort, levels) if request.effort else None
    if switched_off(request):
        return False
    return True if spec.thinking else None


# ---------------------------------------------------------------- messages


def encode_messages(request: Request) -> list[Json]:
    """System prompt and history as messages."""
    quirks = request.model.endpoint.quirks
    known, messages, rest = _MEMO.take(request)
    ids: WireIds
    names: dict[str, str]
    if known is None:
        ids, names = WireIds(request, API), {}
    else:
        ids, names = known
        ids.add(rest, request.model.origin)
    names.update(names_of_calls(rest))
    for message in rest:
        if message.role == "assistant":
            messages += _encode_assistant(message, ids, quirks, own=message.origin == request.model.origin)
        else:
            messages += _encode_user(message, ids, quirks, names)
    messages = _MEMO.keep(request, None, (ids, names), messages)
    if not request.system:
        return messages
    return [{"role": "system", "content": "\n\n".join(request.system)}, *messages]


def _encode_assistant(message: Message, ids: WireIds, quirks: Quirks, *, own: bool) -> list[Json]:
    texts = [block.text for block in message.blocks if isinstance(block, Text) and block.text.strip()]
    calls = [_encode_call(block, ids, quirks) for block in message.blocks if isinstance(block, ToolCall)]
    if not texts and not calls:
        return []
    encoded: Json = {"role": "assistant", "content": "\n\n".join(texts)}
    thoughts = [block.text for block in message.blocks if isinstance(block, Thinking) and block.text] if own else []
    if thoughts:
        encoded["thinking"] = "\n\n".join(thoughts)
    if calls:
        encoded["tool_calls"] = calls
    return [encoded]


def _encode_call(call: ToolCall, ids: WireIds, quirks: Quirks) -> Json:
    given: Any = call.input if call.broken is None else {"invalid_json": call.broken}
    if quirks.stringify_arguments:
        given = arguments_text(call)
    return {"id": ids[call.id], "function": {"name": wire_name(call.name), "arguments": given}}


def _encode_user(message: Message, ids: WireIds, quirks: Quirks, names: dict[str, str]) -> list[Json]:
    """Results first, one message each, then everything else as one user message."""
    messages: list[Json] = []
    words: list[str] = []
    images: list[str] = []
    for block in message.blocks:
        match block:
            case ToolResult():
                text, media = split_result(block, quirks)
                messages.append(
                    {
                        "role": "tool",
                        "tool_name": names.get(block.call_id, ""),
                        "tool_call_id": ids[block.call_id],
                        "content": text,
                    }
                )
                for part in media:
                    _add_media(part, words, images)
            case Text() if block.text.strip():
                words.append(block.text)
            case Image() | Document():
                _add_media(block, words, images)
            case _:
                pass  # blank text, blocks that only an assistant has
    if images and not words and messages:
        words.append(ONLY_IMAGES)
    if words or images:
        user: Json = {"role": "user", "content": "\n\n".join(words)}
        if images:
            user["images"] = images
        messages.append(user)
    return messages


def _add_media(block: Image | Document, words: list[str], images: list[str]) -> None:
    """Images are sent beside the text, as base64; the API fetches no addresses and takes no files."""
    if isinstance(block, Document):
        words.append(document_text(block))
    elif block.data:
        images.append(block.data)
    else:
        words.append(f"[the image at {block.url} is left out: this endpoint takes no addresses]")


def encode_tools(tools: tuple[ToolSpec, ...], quirks: Quirks) -> list[Json]:
    """The tools, in the form of Chat Completions."""
    return [
        {
            "type": "function",
            "function": {
                "name": wire_name(tool.name),
                "description": tool.description,
                "parameters": parameters(tool, quirks)[0],
            },
        }
        for tool in tools
    ]


def auth_headers(credential: Credential) -> dict[str, str]:
    """A Bearer token (ollama.com, proxies), or nothing."""
    return bearer(credential)
