"""Decodes the chunks of the Chat Completions API into ModelEvents, in every dialect seen so far."""

from __future__ import annotations

from yume_shim.providers.apis.openai_chat.encode import API, DETAILS
from yume_shim.providers.wire.openai_body import count
from yume_shim.providers.wire.openai_decoder import OpenAiDecoder
from yume_shim.providers.wire.openai_tools import relax
from yume_shim.providers.wire.refusals import refusal_detail
from yume_shim.text import codec
from yume_shim.text.tool_arguments import parse_arguments
from yume_shim.types.blocks import Text, Thinking, ToolCall
from yume_shim.types.events import ResponseEnded, ResponseStarted
from yume_shim.types.models import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Literal

    from yume_shim.types.blocks import Json
    from yume_shim.types.events import ModelEvent
    from yume_shim.types.models import Request, Stop

FAILURE_REASONS = frozenset(("error", "insufficient_system_resource", "network_error"))
"""Finish reasons that are failures (OpenRouter, DeepSeek, Z.ai)."""
_THOUGHTS = frozenset((DETAILS, "reasoning_content", "reasoning"))
"""Fields of a chunk that carry reasoning."""
_GROWING = {"reasoning.text": "text", "reasoning.summary": "summary"}
"""Types of reasoning details that come in pieces, and the field with the text."""


class _Call:
    """A tool call under construction at one `index`."""

    __slots__ = ("early", "extra", "key", "name", "shown", "vendor_id")

    def __init__(self, key: int) -> None:
        self.key = key
        self.vendor_id = ""
        self.name = ""
        self.extra: Any = None
        self.early: list[str] = []
        """Arguments that came before the name."""
        self.shown = False


class Decoder(OpenAiDecoder):
    """Decodes the chunks of one response."""

    def __init__(self, request: Request, headers: Mapping[str, str], new_id: Callable[[], str]) -> None:
        super().__init__(API, request, headers, new_id)
        self._strict = request.model.endpoint.quirks.strict_tools
        self._tags: ThinkTags | None = None
        if request.model.endpoint.quirks.think_tags:
            from yume_shim.providers.apis.openai_chat.think_tags import ThinkTags

            self._tags = ThinkTags()
        self._keys = 0
        self._last = 0
        """Key of the block that started last."""
        self._content: Literal["text", "thinking"] | None = None
        """The kind of that block, while it is open and not a call."""
        self._calls: dict[int, _Call] = {}
        self._details: dict[int, list[Json]] = {}
        self._usage: Json | None = None
        self._finish = ""
        self._refused = False
        self._filtered: Any = None
        """Azure's ratings of the part that was filtered."""

    def feed(self, frame: Json) -> list[ModelEvent]:
        """The events of one chunk."""
        if self._over:
            return []
        if "!done" in frame:
            return self._end() if self._started else self.finish()
        if frame.get("error") or frame.get("object") == "error":
            return self._fail(frame.get("error") or frame)
        if "x_groq" in frame and (trouble := self._side_channel(frame["x_groq"] or {})):
            return trouble
        self._usage = frame.get("usage") or self._usage
        choices = frame.get("choices")
        if not choices:  # Azure's first chunk, the usage chunk
            return []
        out = [] if self._started else self._start(frame)
        for choice in choices:
            out += self._choice(choice)
        return relax(out, self._request) if self._strict else out

    def finish(self) -> list[ModelEvent]:
        """The body ended. The answer is complete if there was a finish reason."""
        if self._over:
            return []
        return self._end() if self._finish else self._cut_off()

    def reported(self) -> tuple[Usage, bool]:
        """Some servers send counts with every chunk; after a finish reason they are final."""
        return map_usage(self._usage), bool(self._finish and self._usage)

    def _start(self, frame: Json) -> list[ModelEvent]:
        self._started = True
        model = frame.get("model") or self._request.model.id
        return [ResponseStarted(frame.get("id") or self._new_id(), model, request_id=self._request_id)]

    def _end(self) -> list[ModelEvent]:
        out = self._flush_tags()
        for call in self._calls.values():
            out += self._show(call)
        out += self._blocks.end_all()
        if self._strict:
            out = relax(out, self._request)
        stop, word = map_stop(self._finish, calls=self._blocks.calls > 0, refused=self._refused)
        self._over = True
        detail = refusal_detail(self._finish, self._filtered) if stop == "refusal" and not self._refused else ""
        usage = map_usage(self._usage)
        return [*out, ResponseEnded(stop, word, usage, usage_given=bool(self._usage), detail=detail)]

    def _fail(self, payload: Any) -> list[ModelEvent]:
        if isinstance(payload, dict) and payload.get("failed_generation"):
            from yume_shim.providers.apis.openai_chat.failed_call import failed_call

            if call := failed_call(payload):
                return self._pass_on_call(*call)
        return super()._fail(payload)

    def _pass_on_call(self, name: str, arguments: str) -> list[ModelEvent]:
        """Groq stops at a call that does not fit its schema. Passed on, the call gets an error result, and the model
        can correct it."""
        out = [] if self._started else self._start({})
        out += self._close_content()
        call = _Call(self._next_key())
        call.name, call.early = name, [arguments]
        self._calls[-1] = call
        return out + self._end()

    def _side_channel(self, extra: Json) -> list[ModelEvent]:
        """Groq's own object: usage, or the reason why the stream stopped early."""
        self._usage = extra.get("usage") or self._usage
        return self._fail(extra["error"]) if extra.get("error") else []

    def _choice(self, choice: Json) -> list[ModelEvent]:
        if self._over:
            return []
        delta = choice.get("delta") or choice.get("message") or {}  # `message`: a whole answer instead of a stream
        out = [] if _THOUGHTS.isdisjoint(delta) else self._thoughts(delta)
        content = delta.get("content")
        if content:
            out += self._content_text(content) if isinstance(content, str) else self._parts(content)
        if refusal := delta.get("refusal"):
            self._refused = True
            out += self._add_text("text", refusal)
        for place, piece in enumerate(delta.get("tool_calls") or ()):
            out += self._flush_tags() + self._call_piece(place, piece)
        self._usage = choice.get("usage") or self._usage
        word = choice.get("finish_reason")
        if word in FAILURE_REASONS:
            error = {"type": "server_error", "code": word, "message": f"the provider ended the answer with '{word}'"}
            return out + self._fail(choice.get("error") or error)
        self._finish = self._finish or word or ""  # OpenRouter sends it twice
        if word == "content_filter":
            self._filtered = choice.get("content_filter_results") or choice.get("content_filter_result")
        return out

    # ------------------------------------------------ text and thoughts

    def _add_text(self, kind: Literal["text", "thinking"], text: str) -> list[ModelEvent]:
        """A piece of text or thinking, in the open block of that kind or a new one."""
        if self._content == kind:
            return self._blocks.delta(self._last, kind, text)
        out = self._open(kind)
        return out + self._blocks.delta(self._last, kind, text)

    def _content_text(self, text: str) -> list[ModelEvent]:
        if self._tags is None:
            return self._add_text("text", text)
        return [event for kind, piece in self._tags.feed(text) for event in self._add_text(kind, piece)]

    def _flush_tags(self) -> list[ModelEvent]:
        """Emit text that was held back because it could have become a tag."""
        if self._tags is None:
            return []
        return [event for kind, piece in self._tags.finish() for event in self._add_text(kind, piece)]

    def _open(self, kind: Literal["text", "thinking"]) -> list[ModelEvent]:
        out = self._close_content()
        self._content = kind
        return out + self._blocks.start(self._next_key(), Text("") if kind == "text" else Thinking(""))

    def _close_content(self) -> list[ModelEvent]:
        if self._content is None:
            return []
        self._content = None
        return self._blocks.end(self._last)

    def _next_key(self) -> int:
        self._keys += 1
        self._last = self._keys
        return self._keys

    def _parts(self, parts: Any) -> list[ModelEvent]:
        """Mistral: content as a list of text and thinking parts."""
        out: list[ModelEvent] = []
        for part in parts if isinstance(parts, list) else ():
            if part.get("type") == "thinking":
                inner = part.get("thinking") or ()
                text = inner if isinstance(inner, str) else "".join(piece.get("text") or "" for piece in inner)
                out += self._add_text("thinking", text) if text else []
            elif text := part.get("text"):
                out += self._add_text("text", text)
        return out

    def _thoughts(self, delta: Json) -> list[ModelEvent]:
        """Reasoning, from any of its fields; text that comes in two fields counts once."""
        details = delta.get(DETAILS) or ()
        text = delta.get("reasoning_content") or delta.get("reasoning")
        if not isinstance(text, str) or not text:
            text = "".join(detail.get(_GROWING.get(str(detail.get("type")), "")) or "" for detail in details)
        out = self._add_text("thinking", text) if text else []
        if details:
            if not self._blocks.is_open(self._last):
                out += self._open("thinking")
            self._collect(details)
        return out

    def _collect(self, details: list[Json]) -> None:
        """Keep reasoning details on the open block, to be sent back; pieces of one detail are joined."""
        kept = self._details.get(self._last)
        if kept is None:
            kept = self._details[self._last] = []
            self._blocks.attach(self._last, **{DETAILS: kept})
        for detail in details:
            field = _GROWING.get(str(detail.get("type")), "")
            last = kept[-1] if kept else {}
            if field and all(last.get(name) == detail.get(name) for name in ("type", "index")):
                joined = (last.get(field) or "") + (detail.get(field) or "")
                last.update({name: item for name, item in detail.items() if item is not None})
                last[field] = joined
            else:
                kept.append(dict(detail))

    # ------------------------------------------------ calls

    def _call_piece(self, place: int, piece: Json) -> list[ModelEvent]:
        """A piece of a call: the start of a new one, or more of the call at its index."""
        index = piece.get("index")
        slot = index if isinstance(index, int) else place
        function = piece.get("function") or {}
        vendor_id, name = piece.get("id") or "", function.get("name") or ""
        arguments = function.get("arguments") or ""
        if not isinstance(arguments, str):
            arguments = codec.dumps(arguments).decode()
        call = self._calls.get(slot)
        out: list[ModelEvent] = []
        if call is None or self._is_new(call, vendor_id, name, arguments):
            out = self._close_content() + self._end_complete(call)
            call = self._calls[slot] = _Call(self._next_key())
        call.vendor_id = call.vendor_id or vendor_id
        call.name = call.name or name
        call.extra = call.extra or piece.get("extra_content")
        if call.name:
            out += self._show(call)
        if call.shown:
            if self._blocks.is_open(call.key):
                out += self._blocks.delta(call.key, "json", arguments)
        elif arguments:
            call.early.append(arguments)
        return out

    def _is_new(self, call: _Call, vendor_id: str, name: str, arguments: str) -> bool:
        """Does this piece begin another call at a used index? (Ollama numbers all calls 0.)"""
        if vendor_id and vendor_id != call.vendor_id:
            return bool(call.vendor_id) or (call.shown and bool(name))
        if not name or not call.shown:
            return False
        if vendor_id and not arguments.strip():
            return False  # servers that repeat id and name in every piece
        return self._is_complete(call)

    def _is_complete(self, call: _Call) -> bool:
        raw = self._blocks.gathered(call.key).strip()
        return raw.startswith("{") and raw.endswith("}") and parse_arguments(raw)[1] is None

    def _end_complete(self, replaced: _Call | None) -> list[ModelEvent]:
        """Before another call starts: close the complete ones, so that the new one need not wait for them."""
        out: list[ModelEvent] = []
        for call in self._calls.values():
            if call is replaced:
                out += self._show(call) + self._blocks.end(call.key)
            elif call.shown and self._blocks.is_open(call.key) and self._is_complete(call):
                out += self._blocks.end(call.key)
        return out

    def _show(self, call: _Call) -> list[ModelEvent]:
        """Start the block of a call (once)."""
        if call.shown:
            return []
        call.shown = True
        own, private = self._ids.take(call.vendor_id)
        if call.extra:
            private["extra_content"] = call.extra
        out = self._blocks.start(call.key, ToolCall(own, self._names.get(call.name, call.name), {}))
        self._blocks.attach(call.key, **private)
        for arguments in call.early:
            out += self._blocks.delta(call.key, "json", arguments)
        return out


def map_stop(word: str, *, calls: bool, refused: bool) -> tuple[Stop, str]:
    """Why the answer ended. An answer with calls stops for them, whatever the finish reason (it is `stop` for a forced
    tool choice, and always at Ollama), unless the output limit cut it: then the last call may be incomplete."""
    if calls and word not in ("length", "max_tokens", "model_length"):
        return "tool_calls", "tool_use"
    if refused:
        return "refusal", "refusal"
    match word:
        case "" | "stop" | "tool_calls" | "function_call" | "eos" | "end_turn":
            return "end", "end_turn"
        case "length" | "max_tokens" | "model_length":
            return "length", "max_tokens"
        case "content_filter" | "refusal" | "sensitive":
            return "refusal", "refusal"
        case "model_context_window_exceeded":
            return "window", word
        case _:
            return "other", word


def map_usage(usage: Any) -> Usage:
    """Our counts. The API's prompt count includes tokens read from and written to the cache."""
    if not isinstance(usage, dict):
        return Usage()
    details = usage.get("prompt_tokens_details")
    read = count(details, "cached_tokens") or count(
        usage, "prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens"
    )
    written = count(details, "cache_write_tokens") or count(usage, "cache_creation_input_tokens")
    prompt, output = count(usage, "prompt_tokens"), count(usage, "completion_tokens")
    reasoning = count(usage.get("completion_tokens_details"), "reasoning_tokens")
    if count(usage, "total_tokens") == prompt + output:
        read = min(read, prompt)  # xAI has reported more cached tokens than the prompt has
    if reasoning and count(usage, "total_tokens") == prompt + output + reasoning:
        output += reasoning  # xAI's completion count excludes reasoning
    return Usage(max(0, prompt - read - written), output, read, written, reasoning)


def whole_frames(body: Json) -> list[Json]:
    """The decoder reads a whole answer as one chunk."""
    return [body]
