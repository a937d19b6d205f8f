"""The messages of a conversation as the GenAI conventions write them, for spans of sessions that opted in. A request's
input is what is new in it since the request before; texts are bounded."""

from __future__ import annotations

from yume_shim.telemetry.tool_facts import result_text
from yume_shim.text import codec
from yume_shim.types.blocks import Text, Thinking, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.telemetry.cleaning import Cleaner
    from yume_shim.types.blocks import AssistantBlock, Json, Message
    from yume_shim.types.events import ToolFinished

MAX_TEXT = 60_000
"""Characters of one text; the Claude CLI's limit of 60 KB."""
FINISH_REASONS = {
    **dict.fromkeys(("end", "end_turn", "stop_sequence"), "stop"),
    **dict.fromkeys(("tool_calls", "tool_use"), "tool_call"),
    **dict.fromkeys(("length", "window", "max_tokens", "model_context_window_exceeded"), "length"),
    "refusal": "content_filter",
}
"""Our reasons, and the Claude CLI's, as the conventions call them. An answer that did not end is an `error`."""
MAX_PARTS = 200
"""Parts of the messages of one request."""


class Contents:
    """What was said in one conversation since the last request. `on`: somebody opted in; nothing is kept otherwise."""

    def __init__(self, clean: Cleaner, *, on: bool) -> None:
        self._clean, self._on = clean, on
        self._input: list[Json] = []
        self._output: list[Json] = []

    def clear(self) -> None:
        """The turn has ended."""
        self._input, self._output = [], []

    def prompt(self, message: Message) -> None:
        """The user said something."""
        parts = [
            {"type": "text", "content": self.cut(block.text)} for block in message.blocks if isinstance(block, Text)
        ]
        self._add(self._input, {"role": "user", "parts": parts})

    def result(self, event: ToolFinished) -> None:
        """A call has ended."""
        part = {
            "type": "tool_call_response",
            "id": event.call.id,
            "response": self.cut(result_text(event.result)),
        }
        self._add(self._input, {"role": "tool", "parts": [part]})

    def answer(self, block: AssistantBlock) -> None:
        """The model said something."""
        match block:
            case Text(text):
                self._add(self._output, {"type": "text", "content": self.cut(text)})
            case Thinking(text) if text:
                self._add(self._output, {"type": "reasoning", "content": self.cut(text)})
            case ToolCall():
                part = {
                    "type": "tool_call",
                    "id": block.id,
                    "name": block.name,
                    "arguments": self._clean.inside(block.input),
                }
                self._add(self._output, part)
            case _:
                pass

    def forget_answer(self) -> None:
        """What the model said is void."""
        self._output = []

    def asked(self) -> str:
        """What the turn begins with; it stays for its first request."""
        return _json(self._input)

    def take_input(self) -> str:
        """What the next request adds."""
        taken, self._input, self._output = self._input, [], []
        return _json(taken)

    def take_output(self, reason: str) -> str:
        """The answer, and why it ended."""
        taken, self._output = self._output, []
        return _json([_answer(taken, reason)] if taken else [])

    def final(self, text: str, reason: str) -> str:
        """The last words of a turn."""
        return _json([_answer([{"type": "text", "content": self.cut(text)}], reason)] if text else [])

    def cut(self, text: str) -> str:
        """The text, as far as it is kept."""
        return self._clean(text, MAX_TEXT)

    def _add(self, parts: list[Json], part: Json) -> None:
        if self._on and len(parts) < MAX_PARTS:
            parts.append(part)


def _answer(parts: list[Json], reason: str) -> Json:
    return {"role": "assistant", "parts": parts, "finish_reason": FINISH_REASONS.get(reason, "error")}


def _json(messages: list[Json]) -> str:
    return codec.dumps(messages).decode("utf-8", "replace")
