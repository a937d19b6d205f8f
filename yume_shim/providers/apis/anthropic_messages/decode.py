"""Decodes the frames of a Messages stream into ModelEvents. An answer is complete when `message_stop` arrives."""

from __future__ import annotations

from yume_shim.providers.apis.anthropic_messages.encode import API, wire_names
from yume_shim.providers.wire.block_assembler import Assembler
from yume_shim.providers.wire.failures import failure_from_payload, failure_incomplete, failure_protocol
from yume_shim.providers.wire.refusals import refusal_detail
from yume_shim.providers.wire.thought_suffix import without_thought
from yume_shim.text import codec
from yume_shim.text.tool_arguments import parse_arguments
from yume_shim.types.blocks import Other, Text, Thinking, ToolCall
from yume_shim.types.events import ResponseEnded, ResponseFailed, ResponseStarted
from yume_shim.types.models import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from yume_shim.types.blocks import Json
    from yume_shim.types.events import DeltaKind, ModelEvent
    from yume_shim.types.models import Request, Stop

_STOPS: dict[str, Stop] = {
    "end_turn": "end",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "stop_sequence": "stop_sequence",
    "pause_turn": "pause",
    "refusal": "refusal",
    "model_context_window_exceeded": "window",
}
# delta type -> (our kind, the field that holds the piece)
_PIECES: dict[str, tuple[DeltaKind, str]] = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "input_json_delta": ("json", "partial_json"),
    "signature_delta": ("signature", "signature"),
}

_RUNS = frozenset(("text_delta", "thinking_delta", "input_json_delta"))
"""Deltas that come in long runs."""


class Decoder:
    """One response."""

    def __init__(self, request: Request, headers: Mapping[str, str], new_id: Callable[[], str]) -> None:
        self._provider = request.model.endpoint.name
        self._model = request.model.id
        self._names = {wire: name for name, wire in wire_names(request.tools).items()}
        self._request_id = headers.get("request-id") or headers.get("x-request-id") or ""
        self._new_id = new_id
        self._blocks = Assembler(API)
        self._id = ""
        self._ended = False
        self._splice = 0
        self._others: dict[tuple[int, int], tuple[Json, list[str]]] = {}
        self._whole_inputs: dict[tuple[int, int], Json] = {}
        self._citations: dict[tuple[int, int], list[Any]] = {}
        self._usage: Json = {}
        self._stop_reason = ""
        self._stop_sequence: str | None = None
        self._detail = ""

    def feed(self, frame: Json) -> list[ModelEvent]:
        """The events of one frame. Pings, and events and deltas of unknown kinds, are ignored."""
        if self._ended:
            return []
        match frame.get("type"):
            case "content_block_delta":
                return self._on_delta(frame)
            case "content_block_start":
                return self._on_start(frame)
            case "content_block_stop":
                return self._on_stop(frame)
            case "message_start":
                return self._on_message(frame.get("message") or {})
            case "message_delta":
                self._on_message_delta(frame)
            case "message_stop":
                return self._on_end()
            case "message":  # a whole answer although a stream was requested
                return [event for part in whole_frames(frame) for event in self.feed(part)]
            case "error":
                return self._fail(frame)
            case None if frame.get("error"):
                return self._fail(frame)
        return []

    def finish(self) -> list[ModelEvent]:
        """The body ended: an answer without `message_stop` was cut off."""
        if self._ended:
            return []
        self._ended = True
        return [ResponseFailed(failure_incomplete(self._provider))]

    def reported(self) -> tuple[Usage, bool]:
        """`message_start` has the input, `message_delta` with the stop reason the final counts."""
        return map_usage(self._usage), bool(self._stop_reason and self._usage)

    def _on_message(self, message: Json) -> list[ModelEvent]:
        """Once per answer. Proxies may send a second one: the same message again, which is ignored, or another one with
        a whole second answer after a first that broke off; then open blocks are closed and the indexes start again."""
        self._take_usage(message.get("usage"))
        given = message.get("id") or ""
        if not self._id:
            self._id = given or f"msg_{self._new_id()}"
            usage = map_usage(self._usage)
            return [ResponseStarted(self._id, message.get("model") or self._model, usage, self._request_id)]
        if given in ("", self._id):
            return []
        self._id = given
        self._splice += 1
        return self._blocks.end_all()

    def _on_start(self, frame: Json) -> list[ModelEvent]:
        key = (self._splice, frame.get("index", 0))
        block: Json = frame.get("content_block") or {}
        events: list[ModelEvent] = [] if self._id else self._on_message({})
        events += self._blocks.end(key)
        match block.get("type"):
            case "text":
                events += self._blocks.start(key, Text(""))
                events += self._blocks.delta(key, "text", block.get("text") or "")
                self._citations[key] = list(block.get("citations") or ())
            case "thinking":
                events += self._blocks.start(key, Thinking(""))
                events += self._blocks.delta(key, "thinking", block.get("thinking") or "")
                events += self._blocks.delta(key, "signature", block.get("signature") or "")
            case "redacted_thinking":
                opaque = {API: {"data": block.get("data", "")}}
                events += self._blocks.start(key, Thinking("", redacted=True, opaque=opaque))
            case "tool_use":
                name = block.get("name") or ""
                given = block.get("id") or ""
                call = ToolCall(without_thought(given) or self._new_id(), self._names.get(name, name), {})
                events += self._blocks.start(key, call)
                if given and given != call.id:
                    self._blocks.attach(key, id=given)
                self._whole_inputs[key] = block.get("input") or {}
            case _:
                self._others[key] = (dict(block), [])
        return events

    def run(self, frames: list[Json], place: int) -> tuple[int, list[ModelEvent]]:
        """Deltas of one open block."""
        first = frames[place]
        delta = first.get("delta")
        kind = delta.get("type") if isinstance(delta, dict) and first.get("type") == "content_block_delta" else None
        index = first.get("index", 0)
        if kind not in _RUNS or self._ended or not self._blocks.is_open((self._splice, index)):
            return 0, []
        ours, field = _PIECES[kind]
        texts: list[str] = []
        for at in range(place, len(frames)):
            frame = frames[at]
            delta = frame.get("delta")
            if frame.get("type") != "content_block_delta" or frame.get("index", 0) != index:
                break
            if not isinstance(delta, dict) or delta.get("type") != kind:
                break
            text = delta.get(field)
            if type(text) is not str:
                break
            texts.append(text)
        return len(texts), self._blocks.run((self._splice, index), ours, texts)

    def _on_delta(self, frame: Json) -> list[ModelEvent]:
        key = (self._splice, frame.get("index", 0))
        delta: Json = frame.get("delta") or {}
        kind = delta.get("type", "")
        if kind in _PIECES:
            ours, field = _PIECES[kind]
            out = self._blocks.delta_if_open(key, ours, delta.get(field) or "")
            return self._on_other_delta(key, delta) if out is None else out
        if not self._blocks.is_open(key):
            return self._on_other_delta(key, delta)
        if kind == "citations_delta" and key in self._citations:
            self._citations[key].append(delta.get("citation"))
        return []

    def _on_other_delta(self, key: tuple[int, int], delta: Json) -> list[ModelEvent]:
        if key not in self._others:
            self._ended = True
            message = f"the provider sent a delta for block {key[1]}, which is not open"
            return [ResponseFailed(failure_protocol(self._provider, message))]
        data, pieces = self._others[key]
        match delta.get("type"):
            case "input_json_delta":
                pieces.append(delta.get("partial_json") or "")
            case "compaction_delta":
                data["content"] = (data.get("content") or "") + (delta.get("content") or "")
        return []

    def _on_stop(self, frame: Json) -> list[ModelEvent]:
        key = (self._splice, frame.get("index", 0))
        if key in self._others:
            data, pieces = self._others.pop(key)
            if "".join(pieces).strip():
                data["input"] = parse_arguments("".join(pieces))[0]
            return self._blocks.start(key, Other(API, data)) + self._blocks.end(key)
        events: list[ModelEvent] = []
        whole = self._whole_inputs.pop(key, None)
        if whole and not self._blocks.gathered(key):
            events = self._blocks.delta(key, "json", codec.dumps(whole).decode())
        citations = self._citations.pop(key, None)
        if citations:
            self._blocks.attach(key, citations=citations)
        return events + self._blocks.end(key)

    def _on_message_delta(self, frame: Json) -> None:
        delta: Json = frame.get("delta") or {}
        self._stop_reason = delta.get("stop_reason") or self._stop_reason
        self._stop_sequence = delta.get("stop_sequence") or self._stop_sequence
        details = delta.get("stop_details")
        if isinstance(details, dict) and details.get("type", "refusal") == "refusal":
            self._detail = refusal_detail(details.get("category"), details.get("explanation"))
        self._take_usage(frame.get("usage"))

    def _on_end(self) -> list[ModelEvent]:
        self._ended = True
        events: list[ModelEvent] = [] if self._id else self._on_message({})
        events += self._blocks.end_all()
        stop, reason = map_stop(self._stop_reason, calls=self._blocks.calls > 0)
        usage = map_usage(self._usage)
        events.append(ResponseEnded(stop, reason, usage, bool(self._usage), self._stop_sequence, self._detail))
        return events

    def _fail(self, frame: Json) -> list[ModelEvent]:
        self._ended = True
        return [ResponseFailed(failure_from_payload(frame, self._provider))]

    def _take_usage(self, usage: Any) -> None:
        """Counts are totals so far: later ones replace earlier ones, absent and null ones leave them."""
        if isinstance(usage, dict):
            self._usage.update({name: count for name, count in usage.items() if count is not None})


def map_stop(reason: str, *, calls: bool) -> tuple[Stop, str]:
    """(our stop, Anthropic's stop reason). An answer with calls stops for them, whatever a proxy reports."""
    if calls and reason in ("", "end_turn"):
        reason = "tool_use"
    reason = reason or "end_turn"
    return _STOPS.get(reason, "other"), reason


def map_usage(usage: Json) -> Usage:
    """Our counts mean the same as Anthropic's."""
    return Usage(
        input=_count(usage, "input_tokens"),
        output=_count(usage, "output_tokens"),
        cache_read=_count(usage, "cache_read_input_tokens"),
        cache_write=_count(usage, "cache_creation_input_tokens"),
        reasoning=_count(usage.get("output_tokens_details"), "thinking_tokens"),
        cache_write_1h=_count(usage.get("cache_creation"), "ephemeral_1h_input_tokens"),
        web_searches=_count(usage.get("server_tool_use"), "web_search_requests"),
    )


def _count(fields: Any, name: str) -> int:
    """A token count, 0 if it is missing or not a number: proxies put anything there."""
    found = fields.get(name) if isinstance(fields, dict) else None
    return found if type(found) is int else 0


def whole_frames(body: Json) -> list[Json]:
    """One whole answer as the frames of a stream; a body that is no answer (an error) as it is. Each block is complete
    in its start frame."""
    if body.get("type") != "message":
        return [body]
    usage: Json = body.get("usage") or {}
    early = {name: count for name, count in usage.items() if name != "output_tokens"}
    frames: list[Json] = [{"type": "message_start", "message": {**body, "content": [], "usage": early}}]
    for index, block in enumerate(body.get("content") or ()):
        frames.append({"type": "content_block_start", "index": index, "content_block": block})
        frames.append({"type": "content_block_stop", "index": index})
    delta = {name: body.get(name) for name in ("stop_reason", "stop_sequence", "stop_details")}
    return [*frames, {"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"}]
