"""Decodes the frames of the Responses API into ModelEvents.

Output items become blocks, identified by `output_index`: GitHub Copilot changes an item's id with every event.
"""

from __future__ import annotations

from yume_shim.providers.apis.openai_responses.encode import API
from yume_shim.providers.wire.failures import failure_withdrawn
from yume_shim.providers.wire.openai_body import count
from yume_shim.providers.wire.openai_decoder import OpenAiDecoder
from yume_shim.providers.wire.openai_tools import relax
from yume_shim.providers.wire.refusals import refusal_detail
from yume_shim.text import codec
from yume_shim.types.blocks import Text, Thinking, ToolCall
from yume_shim.types.events import ResponseEnded, ResponseFailed, ResponseStarted
from yume_shim.types.models import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from yume_shim.types.blocks import Json
    from yume_shim.types.events import DeltaKind, ModelEvent
    from yume_shim.types.models import Request, Stop

    Handler = Callable[["Decoder", Json], list[ModelEvent]]

_TEXT = "response.output_text.delta"
_RUNS = frozenset((_TEXT, "response.function_call_arguments.delta"))
"""Deltas that come in long runs."""


class Decoder(OpenAiDecoder):
    """Decodes the frames of one response."""

    def __init__(self, request: Request, headers: Mapping[str, str], new_id: Callable[[], str]) -> None:
        super().__init__(API, request, headers, new_id)
        self._phases: dict[int, str] = {}
        self._parts: dict[int, list[Any]] = {}
        """Parts of each item in the order they came; a server's `content_index` need not be the index in the list."""
        self._thought: dict[tuple[int, Any], int] = {}
        """Characters of each part of a reasoning item that were emitted."""
        self._thinking_of: dict[int, Any] = {}
        """The part of each reasoning item that came last."""
        self._items: set[int] = set()
        self._strict = request.model.endpoint.quirks.strict_tools
        self._refused = False
        self._usage: Any = None

    def feed(self, frame: Json) -> list[ModelEvent]:
        """The events of one frame."""
        if self._over:
            return []
        handler = _HANDLERS.get(frame.get("type", ""))
        if handler is None:
            if frame.get("error"):  # a gateway's own error object
                return self._fail(frame["error"])
            if frame.get("object") != "response":
                return []
            frame, handler = {"response": frame}, Decoder._on_end  # a whole answer although a stream was requested
        out = handler(self, frame)
        if self._strict:
            out = relax(out, self._request)
        return out if self._started or self._over else [*self._start(frame), *out]

    def run(self, frames: list[Json], place: int) -> tuple[int, list[ModelEvent]]:
        """Pieces of one open part of text, or of the arguments of one call."""
        first = frames[place]
        name = first.get("type")
        if name not in _RUNS or self._over or not self._started:
            return 0, []
        index, part = _index(first), first.get("content_index", 0)
        key: tuple[Any, ...] = ("text", index, part) if name == _TEXT else ("call", index)
        if not self._blocks.is_open(key):
            return 0, []
        texts: list[str] = []
        for at in range(place, len(frames)):
            frame = frames[at]
            if frame.get("type") != name or frame.get("output_index", 0) != index:
                break
            text = frame.get("delta")
            if type(text) is not str or frame.get("content_index", 0) != part:
                break
            texts.append(text)
        return len(texts), self._blocks.run(key, "text" if name == _TEXT else "json", texts)

    def finish(self) -> list[ModelEvent]:
        """The body ended."""
        return [] if self._over else self._cut_off()

    def reported(self) -> tuple[Usage, bool]:
        """`response.failed` and `response.cancelled` carry the counts of what was done."""
        return map_usage(self._usage), bool(self._usage)

    def _start(self, frame: Json) -> list[ModelEvent]:
        self._started = True
        response = frame.get("response") or {}
        model = response.get("model") or self._request.model.id
        return [ResponseStarted(response.get("id") or self._new_id(), model, request_id=self._request_id)]

    # ------------------------------------------------ the response

    def _on_created(self, frame: Json) -> list[ModelEvent]:
        return []

    def _on_end(self, frame: Json) -> list[ModelEvent]:
        """`response.completed`, `response.incomplete`."""
        response = frame.get("response") or {}
        if response.get("status") in ("failed", "cancelled"):
            return self._on_failed(frame)
        out = [] if self._started else self._start(frame)
        if not self._items:  # proxies that pass on only the end
            for index, item in enumerate(response.get("output") or []):
                out += self._item_done(index, item)
        out += self._blocks.end_all()
        details = response.get("incomplete_details") or {}
        reason = details.get("reason") or ""
        if not reason and response.get("status") == "incomplete":
            reason = "incomplete"
        stop, word = map_stop(reason, calls=self._blocks.calls > 0, refused=self._refused)
        usage = response.get("usage")
        self._over = True
        detail = refusal_detail(reason, details.get("message")) if stop == "refusal" and not self._refused else ""
        return [*out, ResponseEnded(stop, word, map_usage(usage), usage_given=bool(usage), detail=detail)]

    def _on_failed(self, frame: Json) -> list[ModelEvent]:
        response = frame.get("response") or {}
        self._usage = response.get("usage")
        if not response.get("error") and "cancelled" in (response.get("status"), frame.get("type", "")[9:]):
            self._over = True
            return [ResponseFailed(failure_withdrawn(self._request.model.endpoint.name))]
        return self._fail(response.get("error") or {"message": f"the response is {response.get('status', 'failed')}"})

    def _on_error(self, frame: Json) -> list[ModelEvent]:
        """Flat (`code`, `message` beside the type) or nested (`error` object): both occur."""
        return self._fail(frame.get("error") or {key: frame.get(key) for key in ("code", "message", "param")})

    # ------------------------------------------------ items

    def _on_item_added(self, frame: Json) -> list[ModelEvent]:
        index, item = _index(frame), frame.get("item") or {}
        self._items.add(index)
        match item.get("type"):
            case "message":
                self._phases[index] = item.get("phase") or ""
            case "function_call":
                return self._start_call(index, item)
            case _:
                pass  # reasoning starts with its first text, free-text calls come whole, server tools are ignored
        return []

    def _on_item_done(self, frame: Json) -> list[ModelEvent]:
        return self._item_done(_index(frame), frame.get("item") or {})

    def _item_done(self, index: int, item: Json) -> list[ModelEvent]:
        """The complete item: emit what its deltas left out, then close it."""
        self._items.add(index)
        out: list[ModelEvent] = []
        match item.get("type"):
            case "message":
                self._phases.setdefault(index, item.get("phase") or "")
                for place, part in enumerate(item.get("content") or []):
                    seen = self._parts.get(index, [])
                    part_id = seen[place] if place < len(seen) else place
                    out += self._part_done(index, part_id, part)
            case "reasoning":
                out += self._reasoning_done(index, item)
            case "function_call":
                out += self._start_call(index, item)
                out += self._rest(("call", index), "json", item.get("arguments") or "")
                out += self._blocks.end(("call", index))
            case "custom_tool_call":
                out += self._start_call(index, item)
                free = codec.dumps({"input": item.get("input") or ""}).decode()
                out += self._rest(("call", index), "json", free)
                out += self._blocks.end(("call", index))
            case _:
                pass
        return out

    # ------------------------------------------------ text

    def _on_text(self, frame: Json) -> list[ModelEvent]:
        index, part = _index(frame), frame.get("content_index", 0)
        return self._text(index, part, frame.get("delta") or "")

    def _on_refusal(self, frame: Json) -> list[ModelEvent]:
        self._refused = True
        return self._on_text(frame)

    def _on_text_done(self, frame: Json) -> list[ModelEvent]:
        """`output_text.done`, `refusal.done`: the complete part."""
        return self._part_done(_index(frame), frame.get("content_index", 0), frame)

    def _text(self, index: int, part: Any, text: str) -> list[ModelEvent]:
        key = ("text", index, part)
        seen = self._parts.setdefault(index, [])
        if part in seen:
            return self._blocks.delta_if_open(key, "text", text) or []
        if not text:
            return []
        seen.append(part)
        out = self._blocks.start(key, Text(""))
        if phase := self._phases.get(index):
            self._blocks.attach(key, phase=phase)
        return out + self._blocks.delta(key, "text", text)

    def _part_done(self, index: int, part_id: Any, part: Json) -> list[ModelEvent]:
        self._refused = self._refused or "refusal" in part
        whole = part.get("text") or part.get("refusal") or ""
        key = ("text", index, part_id)
        if part_id in self._parts.get(index, ()):
            return self._rest(key, "text", whole) + self._blocks.end(key)
        return self._text(index, part_id, whole) + self._blocks.end(key)

    def _rest(self, key: tuple[Any, ...], kind: DeltaKind, whole: str) -> list[ModelEvent]:
        """What the deltas of an open block left out of the whole."""
        if not self._blocks.is_open(key):
            return []
        given = self._blocks.gathered(key)
        return self._blocks.delta(key, kind, whole[len(given) :]) if whole.startswith(given) else []

    # ------------------------------------------------ reasoning

    def _on_thought(self, frame: Json) -> list[ModelEvent]:
        """`reasoning_summary_text.delta`, `reasoning_text.delta`."""
        return self._think(_index(frame), _thought_part(frame), frame.get("delta") or "")

    def _on_thought_done(self, frame: Json) -> list[ModelEvent]:
        return self._thought_rest(_index(frame), _thought_part(frame), frame.get("text") or "")

    def _think(self, index: int, part: Any, text: str) -> list[ModelEvent]:
        if not text:
            return []
        key, place = ("thinking", index), (index, part)
        out: list[ModelEvent] = []
        if index not in self._parts:
            self._parts[index] = []
            out = self._blocks.start(key, Thinking(""))
        elif not self._blocks.is_open(key):
            return out
        elif place not in self._thought:
            out = self._blocks.delta(key, "thinking", "\n\n")  # a blank line between parts
        self._thought[place] = self._thought.get(place, 0) + len(text)
        self._thinking_of[index] = part
        return out + self._blocks.delta(key, "thinking", text)

    def _thought_rest(self, index: int, part: Any, whole: str) -> list[ModelEvent]:
        if (index, part) in self._thought and self._thinking_of[index] != part:
            return []  # a later part has begun: missing text can no longer be inserted
        return self._think(index, part, whole[self._thought.get((index, part), 0) :])

    def _reasoning_done(self, index: int, item: Json) -> list[ModelEvent]:
        out: list[ModelEvent] = []
        for kind in ("summary", "content"):
            seen = [part for item_index, part in self._thought if item_index == index and part[0] == kind]
            for place, part in enumerate(item.get(kind) or []):
                part_id = seen[place] if place < len(seen) else (kind, place)
                out += self._thought_rest(index, part_id, part.get("text") or "")
        key = ("thinking", index)
        blob = item.get("encrypted_content")
        if blob and index not in self._parts:  # reasoning that is not shown, but must be sent back
            self._parts[index] = []
            out += self._blocks.start(key, Thinking(""))
        if blob and self._blocks.is_open(key):
            self._blocks.attach(key, encrypted_content=blob, summary=item.get("summary") or [])
        return out + self._blocks.end(key)

    # ------------------------------------------------ calls

    def _start_call(self, index: int, item: Json) -> list[ModelEvent]:
        key = ("call", index)
        if index in self._parts:
            return []
        self._parts[index] = []
        own, private = self._ids.take(item.get("call_id") or item.get("id") or "")
        name = item.get("name") or ""
        out = self._blocks.start(key, ToolCall(own, self._names.get(name, name), {}))
        self._blocks.attach(key, **private)
        return out

    def _on_arguments(self, frame: Json) -> list[ModelEvent]:
        key = ("call", _index(frame))
        return self._blocks.delta(key, "json", frame.get("delta") or "") if self._blocks.is_open(key) else []

    def _on_arguments_done(self, frame: Json) -> list[ModelEvent]:
        return self._rest(("call", _index(frame)), "json", frame.get("arguments") or "")


_HANDLERS: dict[str, Handler] = {
    "response.created": Decoder._on_created,
    "response.queued": Decoder._on_created,
    "response.in_progress": Decoder._on_created,
    "response.output_item.added": Decoder._on_item_added,
    "response.output_item.done": Decoder._on_item_done,
    "response.output_text.delta": Decoder._on_text,
    "response.output_text.done": Decoder._on_text_done,
    "response.refusal.delta": Decoder._on_refusal,
    "response.refusal.done": Decoder._on_text_done,
    "response.reasoning_summary_text.delta": Decoder._on_thought,
    "response.reasoning_summary_text.done": Decoder._on_thought_done,
    "response.reasoning_text.delta": Decoder._on_thought,
    "response.reasoning_text.done": Decoder._on_thought_done,
    "response.function_call_arguments.delta": Decoder._on_arguments,
    "response.function_call_arguments.done": Decoder._on_arguments_done,
    "response.completed": Decoder._on_end,
    "response.incomplete": Decoder._on_end,
    "response.failed": Decoder._on_failed,
    "response.cancelled": Decoder._on_failed,
    "error": Decoder._on_error,
}


def _index(frame: Json) -> int:
    index = frame.get("output_index", 0)
    return index if isinstance(index, int) else 0


def _thought_part(frame: Json) -> tuple[str, Any]:
    if "summary_index" in frame:
        return "summary", frame["summary_index"]
    return "content", frame.get("content_index", 0)


def map_stop(reason: str, *, calls: bool, refused: bool) -> tuple[Stop, str]:
    """Why the answer ended; `reason` is that of `incomplete_details`. An answer with calls stops for them,
    unless the output limit cut it."""
    if calls and reason != "max_output_tokens":
        return "tool_calls", "tool_use"
    if refused:
        return "refusal", "refusal"
    match reason:
        case "" | "steered" | "max_messages":
            return "end", "end_turn"
        case "max_output_tokens":
            return "length", "max_tokens"
        case "content_filter":
            return "refusal", "refusal"
        case _:
            return "other", reason


def map_usage(usage: Any) -> Usage:
    """Our counts. OpenAI's input count includes tokens read from and written to the cache."""
    if not isinstance(usage, dict):
        return Usage()
    details = usage.get("input_tokens_details")
    read, written = count(details, "cached_tokens"), count(details, "cache_write_tokens")
    return Usage(
        input=max(0, count(usage, "input_tokens") - read - written),
        output=count(usage, "output_tokens"),
        cache_read=read,
        cache_write=written,
        reasoning=count(usage.get("output_tokens_details"), "reasoning_tokens"),
    )


def whole_frames(body: Json) -> list[Json]:
    """The decoder reads a whole answer as one frame."""
    return [body]
