"""A toy API: JSON lines with one of `say`, `think`, `call`, `error` or `end` (which comes with the counts).

tests/test_recipes.py puts this file where CONTRIBUTING.md says an adapter goes. It is the smallest complete one.
"""

from __future__ import annotations

from yume_shim.providers.wire.block_assembler import Assembler
from yume_shim.providers.wire.failures import failure_from_payload, failure_incomplete
from yume_shim.types.blocks import Text, Thinking, ToolCall, ToolResult
from yume_shim.types.events import ResponseEnded, ResponseFailed, ResponseStarted
from yume_shim.types.models import Usage, WireRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from yume_shim.types.blocks import Json, Message
    from yume_shim.types.events import ModelEvent
    from yume_shim.types.models import Credential, Request, Stop, ToolSpec

API = "toy-lines"
NOT_APPLICABLE: dict[str, str] = {
    "image-in-result": "the API takes text only",
    "refusal": "a model that declines does so in plain text",
    "thinking-signature": "thoughts are not signed",
}


def encode_request(request: Request) -> WireRequest:
    """The POST for a request."""
    body: Json = {"model": request.model.id, "system": list(request.system), "turns": encode_messages(request)}
    if request.tools and request.tool_choice != "none":
        body["tools"] = encode_tools(request.tools)
    return WireRequest("/lines", body)


def encode_messages(request: Request) -> list[Json]:
    """The history."""
    return [{"from": message.role, "parts": _parts(message)} for message in request.messages]


def _parts(message: Message) -> list[Json]:
    parts: list[Json] = []
    for block in message.blocks:
        match block:
            case Text():
                parts.append({"say": block.text})
            case ToolCall():
                parts.append({"call": {"id": block.id, "name": block.name, "arguments": block.input}})
            case ToolResult():
                content = block.content if isinstance(block.content, str) else _text_of(block.content)
                parts.append({"result": {"id": block.call_id, "text": content}})
            case _:
                pass  # thoughts are not sent back; the API takes text only
    return parts


def _text_of(content: tuple[object, ...]) -> str:
    return "\n".join(part.text for part in content if isinstance(part, Text))


def encode_tools(tools: tuple[ToolSpec, ...]) -> list[Json]:
    """The tools on offer."""
    return [{"name": tool.name, "about": tool.description, "schema": dict(tool.schema)} for tool in tools]


def auth_headers(credential: Credential) -> dict[str, str]:
    """A Bearer token."""
    return {"Authorization": f"Bearer {credential.key}"} if credential.key else {}


class Decoder:
    """The lines of one response."""

    def __init__(self, request: Request, headers: Mapping[str, str], new_id: Callable[[], str]) -> None:
        self._request = request
        self._new_id = new_id
        self._blocks = Assembler(API)
        self._key = 0
        self._open = ""
        self._started = False
        self._over = False

    def feed(self, frame: Json) -> list[ModelEvent]:
        """The events that a line gives."""
        if self._over:
            return []
        if "error" in frame:
            self._over = True
            return [ResponseFailed(failure_from_payload(frame, self._request.model.endpoint.name))]
        out: list[ModelEvent] = []
        if not self._started:
            self._started = True
            out.append(ResponseStarted(self._new_id(), self._request.model.id))
        if frame.get("think"):
            out += self._switch("thinking") + self._blocks.delta(self._key, "thinking", frame["think"])
        if frame.get("say"):
            out += self._switch("text") + self._blocks.delta(self._key, "text", frame["say"])
        if "call" in frame:
            out += self._call(frame["call"])
        return out + self._end(frame) if "end" in frame else out

    def finish(self) -> list[ModelEvent]:
        """The body ended: without `end` it was cut."""
        if self._over:
            return []
        self._over = True
        return [ResponseFailed(failure_incomplete(self._request.model.endpoint.name))]

    def reported(self) -> tuple[Usage, bool]:
        """Counts come with the end only."""
        return Usage(), False

    def _switch(self, kind: str) -> list[ModelEvent]:
        """Close the open block if it is of another kind, and open one of this kind."""
        if self._open == kind:
            return []
        out = self._blocks.end(self._key) if self._open else []
        self._open = kind
        self._key += 1
        if kind == "call":
            return out
        return out + self._blocks.start(self._key, Text("") if kind == "text" else Thinking(""))

    def _call(self, call: Json) -> list[ModelEvent]:
        out = self._switch("call")
        self._open = ""
        out += self._blocks.start(self._key, ToolCall(call.get("id") or self._new_id(), call["name"], {}))
        out += self._blocks.delta(self._key, "json", call["arguments"])
        return out + self._blocks.end(self._key)

    def _end(self, frame: Json) -> list[ModelEvent]:
        self._over = True
        out = self._blocks.end_all()
        stop, word = map_stop(frame["end"], calls=self._blocks.calls > 0)
        usage = map_usage(frame)
        return [*out, ResponseEnded(stop, word, usage, usage_given=bool(usage.input or usage.output))]


def map_stop(word: str, *, calls: bool) -> tuple[Stop, str]:
    """Why the answer ended."""
    if calls:
        return "tool_calls", "tool_use"
    return ("length", "max_tokens") if word == "length" else ("end", "end_turn")


def map_usage(frame: Json) -> Usage:
    """`read` includes what came from the cache."""
    cached = frame.get("cached", 0)
    return Usage(max(0, frame.get("read", 0) - cached), frame.get("written", 0), cached)


def whole_frames(body: Json) -> list[Json]:
    """An answer that was not streamed has its lines in a list."""
    return list(body["lines"])
