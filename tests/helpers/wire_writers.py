"""How each API streams text, reasoning and tool calls: steps in, frames out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from yume_shim.types.blocks import Json

INPUT_TOKENS, OUTPUT_TOKENS = 12, 7


class Say(NamedTuple):
    """Text."""

    text: str
    pieces: int
    gap_ms: int = 0
    """The pause between two pieces. Pieces that are sent without one may arrive together, as one."""


class Think(NamedTuple):
    """Reasoning."""

    text: str


class Call(NamedTuple):
    """A tool call."""

    name: str
    given: dict[str, Any]


Content = Say | Think | Call
Parts = tuple[list["Json"], list["Json"]]
"""The frames that carry some content, and those that finish it."""


_Item = tuple["Json", list["Json"], "Json", list["Json"]]
"""Of a Responses item: how it is announced, how it grows, how it is in the end, and what closes it."""


class Writer(Protocol):
    """One answer in one API's words."""

    def start(self) -> Iterable[Json]: ...
    def content(self, index: int, step: Content) -> Parts: ...
    def end(self, called: bool) -> Iterable[Json]: ...


def pieces_of(text: str, count: int) -> list[str]:
    """A text in about `count` pieces of the same size."""
    size = max(1, -(-len(text) // max(1, count)))
    return [text[place : place + size] for place in range(0, len(text), size)]


class AnthropicWriter:
    """Messages: blocks with a start, deltas and a stop."""

    def __init__(self, number: int) -> None:
        self._number = number

    def start(self) -> Iterable[Json]:
        usage = {"input_tokens": INPUT_TOKENS, "output_tokens": 1}
        usage |= {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        message: Json = {"id": f"msg_{self._number}", "type": "message", "role": "assistant", "model": "scripted"}
        message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        return [{"type": "message_start", "message": message}]

    def content(self, index: int, step: Content) -> Parts:
        if isinstance(step, Say):
            block: Json = {"type": "text", "text": ""}
            deltas: list[Json] = [{"type": "text_delta", "text": piece} for piece in pieces_of(step.text, step.pieces)]
        elif isinstance(step, Think):
            block = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": step.text}]
            deltas.append({"type": "signature_delta", "signature": "c2lnbmVk"})
        else:
            block = {"type": "tool_use", "id": f"toolu_{self._number}_{index}", "name": step.name, "input": {}}
            pieces = pieces_of(json.dumps(step.given), 3)
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
        frames: list[Json] = [{"type": "content_block_start", "index": index, "content_block": block}]
        frames += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        return frames, [{"type": "content_block_stop", "index": index}]

    def end(self, called: bool) -> Iterable[Json]:
        stop = {"stop_reason": "tool_use" if called else "end_turn", "stop_sequence": None}
        return [
            {"type": "message_delta", "delta": stop, "usage": {"output_tokens": OUTPUT_TOKENS}},
            {"type": "message_stop"},
        ]


class ResponsesWriter:
    """OpenAI Responses: items that are added, grow and are done."""

    def __init__(self, number: int) -> None:
        self._number = number

    def _response(self, status: str, **more: Any) -> Json:
        return {"id": f"resp_{self._number}", "object": "response", "status": status, "model": "scripted", **more}

    def start(self) -> Iterable[Json]:
        return [{"type": "response.created", "response": self._response("in_progress", output=[])}]

    def content(self, index: int, step: Content) -> Parts:
        place = {"output_index": index, "item_id": f"item_{self._number}_{index}"}
        if isinstance(step, Say):
            item, grown, done, closing = self._text(step, {**place, "content_index": 0})
        elif isinstance(step, Think):
            item, grown, done, closing = self._reasoning(step, {**place, "summary_index": 0})
        else:
            item, grown, done, closing = self._call(step, place, f"call_{self._number}_{index}")
        item["id"] = done["id"] = place["item_id"]
        added = {"type": "response.output_item.added", "output_index": index, "item": item}
        finished = {**done, "status": "completed"}
        closing.append({"type": "response.output_item.done", "output_index": index, "item": finished})
        return [added, *grown], closing

    def _text(self, step: Say, place: Json) -> _Item:
        item: Json = {"type": "message", "role": "assistant", "content": []}
        pieces = pieces_of(step.text, step.pieces)
        grown: list[Json] = [{"type": "response.output_text.delta", **place, "delta": piece} for piece in pieces]
        done = {**item, "content": [{"type": "output_text", "text": step.text, "annotations": []}]}
        return item, grown, done, [{"type": "response.output_text.done", **place, "text": step.text}]

    def _reasoning(self, step: Think, place: Json) -> _Item:
        item: Json = {"type": "reasoning", "summary": []}
        kind = "response.reasoning_summary"
        grown: list[Json] = [
            {"type": f"{kind}_part.added", **place, "part": {"type": "summary_text", "text": ""}},
            {"type": f"{kind}_text.delta", **place, "delta": step.text},
        ]
        whole = {"type": "summary_text", "text": step.text}
        closing: list[Json] = [
            {"type": f"{kind}_text.done", **place, "text": step.text},
            {"type": f"{kind}_part.done", **place, "part": whole},
        ]
        return item, grown, {**item, "summary": [whole], "encrypted_content": "ZW5jcnlwdGVk"}, closing

    def _call(self, step: Call, place: Json, call_id: str) -> _Item:
        arguments = json.dumps(step.given)
        item: Json = {"type": "function_call", "call_id": call_id, "name": step.name, "arguments": ""}
        kind = "response.function_call_arguments"
        grown: list[Json] = [{"type": f"{kind}.delta", **place, "delta": piece} for piece in pieces_of(arguments, 3)]
        return (
            item,
            grown,
            {**item, "arguments": arguments},
            [{"type": f"{kind}.done", **place, "arguments": arguments}],
        )

    def end(self, called: bool) -> Iterable[Json]:
        usage: Json = {"input_tokens": INPUT_TOKENS, "input_tokens_details": {"cached_tokens": 0}}
        usage |= {"output_tokens": OUTPUT_TOKENS, "output_tokens_details": {"reasoning_tokens": 0}}
        usage |= {"total_tokens": INPUT_TOKENS + OUTPUT_TOKENS}
        return [{"type": "response.completed", "response": self._response("completed", output=[], usage=usage)}]


class ChatWriter:
    """Chat Completions: one choice whose delta grows."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._calls = 0

    def _chunk(self, delta: Json, finish: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {**self._head(), "choices": [choice]}

    def _head(self) -> Json:
        return {"id": f"chatcmpl-{self._number}", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}

    def start(self) -> Iterable[Json]:
        return [self._chunk({"role": "assistant", "content": ""})]

    def content(self, index: int, step: Content) -> Parts:
        if isinstance(step, Say):
            return [self._chunk({"content": piece}) for piece in pieces_of(step.text, step.pieces)], []
        if isinstance(step, Think):
            return [self._chunk({"reasoning_content": step.text})], []
        place = self._calls
        self._calls += 1
        function = {"name": step.name, "arguments": ""}
        head = {"index": place, "id": f"call_{self._number}_{index}", "type": "function", "function": function}
        frames = [self._chunk({"tool_calls": [head]})]
        for piece in pieces_of(json.dumps(step.given), 3):
            more = {"index": place, "function": {"arguments": piece}}
            frames.append(self._chunk({"tool_calls": [more]}))
        return frames, []

    def end(self, called: bool) -> Iterable[Json]:
        usage = {"prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS}
        usage["total_tokens"] = INPUT_TOKENS + OUTPUT_TOKENS
        return [
            self._chunk({}, "tool_calls" if called else "stop"),
            {**self._head(), "choices": [], "usage": usage},
            {"!done": True},
        ]


class GeminiWriter:
    """generateContent: parts, each complete in itself."""

    def __init__(self, number: int) -> None:
        self._number = number

    def _chunk(self, part: Json, **more: Any) -> Json:
        candidate = {"content": {"parts": [part], "role": "model"}, "index": 0, **more}
        head = {"modelVersion": "scripted", "responseId": f"resp-{self._number}"}
        return {"candidates": [candidate], **head}

    def start(self) -> Iterable[Json]:
        return []

    def content(self, index: int, step: Content) -> Parts:
        if isinstance(step, Say):
            return [self._chunk({"text": piece}) for piece in pieces_of(step.text, step.pieces)], []
        if isinstance(step, Think):
            return [self._chunk({"text": step.text, "thought": True})], []
        function = {"name": step.name, "args": step.given, "id": f"fc{self._number}x{index}"}
        return [self._chunk({"functionCall": function, "thoughtSignature": "c2lnbmVk"})], []

    def end(self, called: bool) -> Iterable[Json]:
        usage = {"promptTokenCount": INPUT_TOKENS, "candidatesTokenCount": OUTPUT_TOKENS}
        usage["totalTokenCount"] = INPUT_TOKENS + OUTPUT_TOKENS
        return [{**self._chunk({"text": ""}, finishReason="STOP"), "usageMetadata": usage}]


class OllamaWriter:
    """/api/chat: lines that are messages, the last one with the counts; calls are whole."""

    def __init__(self, number: int) -> None:
        self._number = number

    def _line(self, **message: Any) -> Json:
        head: Json = {"model": "scripted", "created_at": f"2026-01-01T00:00:{self._number:02d}Z"}
        return {**head, "message": {"role": "assistant", "content": "", **message}, "done": False}

    def start(self) -> Iterable[Json]:
        return []

    def content(self, index: int, step: Content) -> Parts:
        if isinstance(step, Say):
            return [self._line(content=piece) for piece in pieces_of(step.text, step.pieces)], []
        if isinstance(step, Think):
            return [self._line(thinking=step.text)], []
        function = {"index": 0, "name": step.name, "arguments": step.given}
        return [self._line(tool_calls=[{"id": f"call_{self._number}_{index}", "function": function}])], []

    def end(self, called: bool) -> Iterable[Json]:
        counts = {"prompt_eval_count": INPUT_TOKENS, "eval_count": OUTPUT_TOKENS}
        return [{**self._line(), "done": True, "done_reason": "stop", **counts}]


WRITERS: dict[str, Callable[[int], Writer]] = {
    "anthropic-messages": AnthropicWriter,
    "openai-responses": ResponsesWriter,
    "openai-chat": ChatWriter,
    "google-genai": GeminiWriter,
    "ollama-chat": OllamaWriter,
}
