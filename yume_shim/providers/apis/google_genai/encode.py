"""Encodes a Request for Gemini's `generateContent`."""

from __future__ import annotations

from yume_shim.providers.fitting.schema import object_schema, openapi_schema, reduce_schema
from yume_shim.providers.fitting.tool_choice import settle_choice
from yume_shim.providers.wire.google_version import versioned
from yume_shim.providers.wire.history_memo import HistoryMemo
from yume_shim.providers.wire.thinking import least_effort, switched_off
from yume_shim.text.characters import WORD
from yume_shim.types.blocks import Document, Image, Other, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.effort import nearest_effort
from yume_shim.types.models import WireRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from yume_shim.types.blocks import Block, Json, Message
    from yume_shim.types.effort import Effort
    from yume_shim.types.models import Credential, Request, ToolSpec

API = "google-genai"
_MEMO = HistoryMemo(
    API,
    lambda known: {"calls": known[0], "kind": known[1]},
    lambda _, known: ({call: tuple(names) for call, names in known["calls"].items()}, known["kind"]),
)

UNCHECKED_SIGNATURE = "skip_thought_signature_validator"
"""The documented stand-in for calls of other models (ai.google.dev/gemini-api/docs/thought-signatures)."""
MAX_NAME = 64
"""Characters of a function name. Newer backends take 128, older ones 64."""

LEVELS: dict[Effort, str] = {"low": "low", "medium": "medium", "high": "high", "xhigh": "high", "max": "high"}
BUDGETS: dict[Effort, int] = {"low": 1_024, "medium": 8_192, "high": 24_576, "xhigh": 24_576, "max": 24_576}
BUDGET_RANGE = (512, 24_576)
"""Budgets that every model with a thinking budget takes; 0 = off, -1 = the model decides."""

_NAME = WORD | frozenset(".:")
_MODEL = _NAME | frozenset("/@")


def encode_request(request: Request) -> WireRequest:
    """The POST for a request."""
    request = settle_choice(request, wire_name)
    body: Json = {"contents": encode_messages(request)}
    system = [{"text": part} for part in request.system if part.strip()]
    if system:
        body["systemInstruction"] = {"parts": system}
    if request.tools:
        body["tools"] = encode_tools(request)
        choice = _tool_choice(request)
        if choice:
            body["toolConfig"] = {"functionCallingConfig": choice}
    config: Json = {"maxOutputTokens": request.max_tokens}
    thinking = _thinking(request)
    if thinking:
        config["thinkingConfig"] = thinking
    if request.temperature is not None or request.top_p is not None or request.stop_sequences:
        from yume_shim.providers.fitting.sampling import sampling

        names = {"top_p": "topP", "stop_sequences": "stopSequences"}
        config.update({names.get(name, name): item for name, item in sampling(request)[0].items()})
    body["generationConfig"] = config
    if token := continuation(request):
        body["continuationToken"] = token
    base, path = versioned(request.model.endpoint, _path(request))
    return WireRequest(path, _merged(body, request.model.endpoint.quirks.extra_body), base_url=base)


def _path(request: Request) -> str:
    """The path after the version. A model id with a slash is already a resource name (`tunedModels/x`)."""
    name = request.model.id if "/" in request.model.id else f"models/{request.model.id}"
    if not _MODEL.issuperset(name):
        from urllib.parse import quote

        name = quote(name, safe="/@:")
    method = "streamGenerateContent?alt=sse" if request.streaming else "generateContent"
    return f"/{name}:{method}"


def _tool_choice(request: Request) -> Json:
    match request.tool_choice:
        case "auto":
            return {}
        case "none":
            return {"mode": "NONE"}
        case name:
            return {"mode": "ANY", "allowedFunctionNames": [wire_name(name)]}


def _thinking(request: Request) -> Json:
    """`thinkingLevel` or `thinkingBudget`, never both; {} where the model takes neither."""
    how = request.model.thinking
    if how not in ("level", "budget") or not request.model.endpoint.quirks.thinking:
        return {}
    if switched_off(request):
        if how == "level":
            return {"thinkingLevel": least_effort(request).upper()}
        return {"thinkingBudget": BUDGET_RANGE[0] if request.model.always_thinks else 0}
    config: Json = {"includeThoughts": request.thinking_display != "omitted"}
    if how == "level":
        if request.effort:
            config["thinkingLevel"] = nearest_effort(LEVELS[request.effort], request.model.efforts).upper()
    elif request.thinking_budget is not None:
        config["thinkingBudget"] = min(max(request.thinking_budget, BUDGET_RANGE[0]), BUDGET_RANGE[1])
    elif request.effort:
        config["thinkingBudget"] = BUDGETS[request.effort]
    elif request.thinking != "default":
        config["thinkingBudget"] = -1
    return config


def _merged(body: Json, extra: Any) -> Json:
    """`body` with `extra`, objects merged: an endpoint may set one field of generationConfig."""
    out = dict(body)
    for key, item in extra.items():
        mine = out.get(key)
        out[key] = _merged(mine, item) if isinstance(mine, dict) and isinstance(item, dict) else item
    return out


# ---------------------------------------------------------------- messages


def encode_messages(request: Request) -> list[Json]:
    """The history as `contents`: roles user and model, neighbours of one role joined, no empty parts.

    Function responses are a content of their own: "the number of function response parts" must equal that of the calls
    before it, and other parts beside them have been counted too (google-gemini/gemini-cli#16135).
    """
    if continuation(request):
        return _encode(_History(request), request.messages[:-1]).contents()
    newest = request.model.thinking == "level"
    known, items, rest = _MEMO.take(request, newest)
    history = _encode(_History(request, known, items), rest)
    return _MEMO.keep(request, newest, history.known(), history.contents())


def _encode(history: _History, messages: Sequence[Message]) -> _History:
    for message in messages:
        if message.role == "assistant":
            history.add("model", history.model_parts(message))
        else:
            history.add("results", history.result_parts(message))
            history.add("user", history.user_parts(message))
    return history


def continuation(request: Request) -> str:
    """The token that continues a paused answer (`finishReason: CONTINUATION`); it replaces the answer so far. "" if the
    last answer did not pause."""
    last = request.messages[-1] if request.messages else None
    if last is None or last.role != "assistant" or last.origin != request.model.origin or not last.blocks:
        return ""
    end = last.blocks[-1]
    return str(_private(end).get("continuation", "")) if isinstance(end, (Text, Thinking)) else ""


class _History:
    """One walk over the messages, after those that are `known` as these items."""

    def __init__(self, request: Request, known: Any = None, items: Sequence[Json] = ()) -> None:
        quirks = request.model.endpoint.quirks
        self._origin = request.model.origin
        # Only Gemini 3 (thinking by level) checks signatures and takes media inside function responses.
        newest = request.model.thinking == "level"
        self._checks_signatures = newest or quirks.checks_signatures
        self._media_in_results = newest and quirks.images_in_results
        self._documents = quirks.documents
        self._calls: dict[str, tuple[str, str]] = {}
        self._items = list(items)
        """What is complete; the last turn is not, as long as parts may be added to it."""
        self._turns: list[tuple[str, list[Json]]] = []
        if known is not None:
            self._calls, kind = known
            self._turns = [(kind, list(self._items.pop()["parts"]))] if kind else []

    def known(self) -> tuple[dict[str, tuple[str, str]], str]:
        """What the walk over further messages must know: the calls, and the kind of the last turn."""
        return self._calls, self._turns[-1][0] if self._turns else ""

    def add(self, kind: str, parts: list[Json]) -> None:
        """Add parts to the last turn if it is of the same kind, else as a new one."""
        if not parts:
            return
        if self._turns and self._turns[-1][0] == kind:
            self._turns[-1][1].extend(parts)
        else:
            self._turns.append((kind, parts))

    def contents(self) -> list[Json]:
        """The contents. The first call of a step must have a signature ("Function call is missing a
        thought_signature"); the other calls have none."""
        for _, parts in self._turns:
            first = next((part for part in parts if "functionCall" in part), None)
            if self._checks_signatures and first is not None:
                first.setdefault("thoughtSignature", UNCHECKED_SIGNATURE)
        turns: list[Json] = [
            {"role": "model" if kind == "model" else "user", "parts": parts} for kind, parts in self._turns
        ]
        return self._items + turns

    def model_parts(self, message: Message) -> list[Json]:
        """The parts of an answer; signatures are sent only to the model that issued them."""
        own = message.origin == self._origin
        parts: list[Json] = []
        for block in message.blocks:
            match block:
                case Text() if block.text:
                    parts.extend(_signed_text(block, own))
                case Thinking() if own and _private(block).get("signature"):
                    # A thought without a signature does not help the model, and costs tokens.
                    parts.extend({**part, "thought": True} for part in _signed_text(block, own))
                case ToolCall():
                    parts.append(self._call(block, _private(block) if own else {}))
                case Other() if own and block.api == API:
                    parts.append(block.data)
                case _:
                    pass  # blank text, thoughts of other models, blocks that only a user has
        return parts

    def _call(self, block: ToolCall, private: Json) -> Json:
        given_id = private.get("id", "")
        self._calls[block.id] = (wire_name(block.name), given_id)
        call: Json = {"name": wire_name(block.name), "args": block.input}
        if given_id:
            call["id"] = given_id
        part: Json = {"functionCall": call}
        if private.get("signature"):
            part["thoughtSignature"] = private["signature"]
        return part

    def result_parts(self, message: Message) -> list[Json]:
        """The function responses of a message, in its order."""
        return [self._result(block) for block in message.blocks if isinstance(block, ToolResult)]

    def _result(self, block: ToolResult) -> Json:
        name, given_id = self._calls.get(block.call_id, ("unknown", ""))
        content = (Text(block.content),) if isinstance(block.content, str) else block.content
        texts = [part["text"] for item in content for part in self._plain(item) if "text" in part]
        media = [part for item in content for part in self._plain(item) if "text" not in part]
        if media and not self._media_in_results:
            texts.append("[attached in the next message]")
        response: Json = {"name": name, "response": {"error" if block.is_error else "output": "\n".join(texts)}}
        if given_id:
            response["id"] = given_id
        if media and self._media_in_results:
            response["parts"] = media
        return {"functionResponse": response}

    def user_parts(self, message: Message) -> list[Json]:
        """Everything but the function responses, after the media that are not allowed inside those."""
        parts: list[Json] = []
        if not self._media_in_results:
            for block in message.blocks:
                if isinstance(block, ToolResult) and not isinstance(block.content, str):
                    media = [part for item in block.content for part in self._plain(item) if "text" not in part]
                    if media:
                        name = self._calls.get(block.call_id, ("unknown", ""))[0]
                        parts.extend([{"text": f"[attached to the result of {name}]"}, *media])
        for block in message.blocks:
            parts.extend(self._plain(block))
        return parts

    def _plain(self, block: Block) -> Iterator[Json]:
        """Text and media as parts."""
        match block:
            case Text():
                if block.text:
                    yield {"text": block.text}
            case Image():
                if block.url:
                    typed = {"mimeType": block.media_type} if block.media_type else {}
                    yield {"fileData": {**typed, "fileUri": block.url}}
                else:
                    yield {"inlineData": {"mimeType": block.media_type, "data": block.data}}
            case Document():
                if block.media_type == "text/plain":
                    yield {"text": f"{block.title}:\n{block.data}" if block.title else block.data}
                elif self._documents:
                    yield {"inlineData": {"mimeType": block.media_type, "data": block.data}}
                else:
                    yield {"text": f"[{block.title or block.media_type}: this endpoint takes no documents]"}
            case _:
                pass  # calls, results and thoughts are encoded elsewhere


def _private(block: Text | Thinking | ToolCall) -> Json:
    found = block.opaque.get(API)
    return found if isinstance(found, dict) else {}


def _signed_text(block: Text | Thinking, own: bool) -> list[Json]:
    """Text as parts. A signature must be sent on the part that it came with: `span` is that part of the block, if it
    was not all of it."""
    private = _private(block) if own else {}
    signature = private.get("signature")
    if not signature:
        return [{"text": block.text}]
    start, end = private.get("span") or (0, len(block.text))
    pieces = [
        {"text": block.text[:start]},
        {"text": block.text[start:end], "thoughtSignature": signature},
        {"text": block.text[end:]},
    ]
    return [piece for piece in pieces if piece["text"] or "thoughtSignature" in piece]


# ---------------------------------------------------------------- tools


def encode_tools(request: Request) -> list[Json]:
    """Function declarations in the form that the endpoint reads. `parametersJsonSchema` takes plain JSON Schema; the
    older `parameters` field refuses unknown keywords ("Unknown name … Cannot find field"). Proxies that answer
    "required one_of 'tool_type' must have one initialized field" expect the key in snake case, or OpenAI's form."""
    quirks = request.model.endpoint.quirks
    variant = quirks.declarations
    declared = [_declaration(tool, variant, quirks.schema_drop) for tool in request.tools]
    match variant:
        case "openai":
            return [{"type": "function", "function": function} for function in declared]
        case "snake":
            return [{"function_declarations": declared}]
        case _:
            return [{"functionDeclarations": declared}]


def _declaration(tool: ToolSpec, variant: str, drop: tuple[str, ...]) -> Json:
    declared: Json = {"name": wire_name(tool.name), "description": tool.description}
    schema = reduce_schema(tool.schema, drop)
    match variant:
        case "":
            return {**declared, "parametersJsonSchema": schema}
        case "openai":
            return {**declared, "parameters": object_schema(schema)}
        case _:
            return {**declared, "parameters": openapi_schema(schema)}


def wire_name(name: str) -> str:
    """The tool's name in the form that Gemini takes: a letter or underscore first, at most 64 of `A-Za-z0-9_.:-`.
    Changed names get a check sum, so that two different names stay different."""
    if len(name) <= MAX_NAME and _NAME.issuperset(name) and _is_start(name[:1]):
        return name
    from zlib import crc32

    plain = "".join(char if char in _NAME else "_" for char in name)
    if not _is_start(plain[:1]):
        plain = f"_{plain}"
    return f"{plain[: MAX_NAME - 9]}_{crc32(name.encode('utf-8', 'surrogatepass')):08x}"


def _is_start(char: str) -> bool:
    return char == "_" or (char.isascii() and char.isalpha())


# ---------------------------------------------------------------- credentials


def auth_headers(credential: Credential) -> dict[str, str]:
    """API keys use x-goog-api-key; tokens (Vertex, proxies) use Authorization: Bearer."""
    match credential.kind:
        case "key":
            return {"x-goog-api-key": credential.key}
        case "token":
            return {"authorization": f"Bearer {credential.key}"}
        case "none":
            return {}
