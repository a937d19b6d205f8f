"""Decodes the lines of Ollama's /api/chat into ModelEvents."""

from __future__ import annotations

from yume_shim.providers.apis.ollama_chat.context import context_size, was_cut
from yume_shim.providers.apis.ollama_chat.encode import API
from yume_shim.providers.fitting.estimate import estimate
from yume_shim.providers.wire.openai_body import count
from yume_shim.providers.wire.openai_decoder import OpenAiDecoder
from yume_shim.text import codec
from yume_shim.types.blocks import Text, Thinking, ToolCall
from yume_shim.types.events import Notice, ResponseEnded, ResponseStarted
from yume_shim.types.models import Usage
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Literal

    from yume_shim.types.blocks import Json
    from yume_shim.types.events import ModelEvent
    from yume_shim.types.models import Request, Stop


class Decoder(OpenAiDecoder):
    """Decodes the lines of one response."""

    def __init__(self, request: Request, headers: Mapping[str, str], new_id: Callable[[], str]) -> None:
        super().__init__(API, request, headers, new_id)
        self._key = 0
        self._content: Literal["text", "thinking"] | None = None
        """The kind of the open block."""

    def feed(self, frame: Json) -> list[ModelEvent]:
        """The events of one line."""
        if self._over:
            return []
        if frame.get("error"):
            return self._fail(frame)
        out = [] if self._started else self._start(frame)
        message = frame.get("message") or {}
        if thought := message.get("thinking"):
            out += self._add_text("thinking", thought)
        if text := message.get("content"):
            out += self._add_text("text", text)
        for call in message.get("tool_calls") or ():
            out += self._call(call)
        return out + self._end(frame) if frame.get("done") else out

    def finish(self) -> list[ModelEvent]:
        """The body ended: an answer without a `done` line was cut off."""
        return [] if self._over else self._cut_off()

    def _start(self, frame: Json) -> list[ModelEvent]:
        self._started = True
        model = frame.get("model") or self._request.model.id
        return [ResponseStarted(self._new_id(), model, request_id=self._request_id)]

    def _add_text(self, kind: Literal["text", "thinking"], text: str) -> list[ModelEvent]:
        """A piece of text or thinking, in the open block of that kind or a new one."""
        out: list[ModelEvent] = []
        if self._content != kind:
            out = self._close_content()
            self._content = kind
            self._key += 1
            out += self._blocks.start(self._key, Text("") if kind == "text" else Thinking(""))
        return out + self._blocks.delta(self._key, kind, text)

    def _close_content(self) -> list[ModelEvent]:
        if self._content is None:
            return []
        self._content = None
        return self._blocks.end(self._key)

    def _call(self, call: Json) -> list[ModelEvent]:
        """Calls come whole, so their `index` does not matter: many versions number all of them 0."""
        function = call.get("function") or {}
        given = function.get("arguments")
        arguments = given if isinstance(given, str) else codec.dumps({} if given is None else given).decode()
        name = function.get("name") or ""
        own, private = self._ids.take(call.get("id") or "")
        out = self._close_content()
        self._key += 1
        out += self._blocks.start(self._key, ToolCall(own, self._names.get(name, name), {}))
        self._blocks.attach(self._key, **private)
        out += self._blocks.delta(self._key, "json", arguments)
        return out + self._blocks.end(self._key)

    def _end(self, frame: Json) -> list[ModelEvent]:
        self._over = True
        out = self._blocks.end_all()
        counted = count(frame, "prompt_eval_count")
        if was_cut(self._request, counted):
            out.append(Notice("context_truncated", _cut_text(context_size(self._request))))
        stop, word = map_stop(frame.get("done_reason") or "", calls=self._blocks.calls > 0)
        usage = map_usage(frame)
        if not counted and usage.output:
            # Older servers omit the count if the whole prompt was in their cache.
            usage = replace(usage, input=estimate(self._request), estimated=True)
        return [*out, ResponseEnded(stop, word, usage, usage_given=bool(counted or usage.output))]


def _cut_text(size: int) -> str:
    return (
        f"The conversation did not fit into the context of {size} tokens: the server dropped its oldest part. "
        "Compact it, or set a larger `context_size` for the endpoint if there is enough memory."
    )


def map_stop(word: str, *, calls: bool) -> tuple[Stop, str]:
    """Why the answer ended. An answer with calls stops for them (its `done_reason` is `stop` too), unless the output
    limit cut it."""
    if calls and word != "length":
        return "tool_calls", "tool_use"
    match word:
        case "" | "stop":
            return "end", "end_turn"
        case "length":
            return "length", "max_tokens"
        case _:  # "load" and "unload" answer requests without messages
            return "other", word


def map_usage(frame: Json) -> Usage:
    """Our counts. `prompt_eval_count` includes tokens read from the cache."""
    cached = count(frame, "prompt_eval_cached_count")
    return Usage(max(0, count(frame, "prompt_eval_count") - cached), count(frame, "eval_count"), cached)


def whole_frames(body: Json) -> list[Json]:
    """The decoder reads a whole answer as the last line of a stream."""
    return [body]
