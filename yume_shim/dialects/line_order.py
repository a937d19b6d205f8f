"""Checks the order of printed lines, as a host reads them: `yume-shim check-stream` and tests use it.

Each class takes the lines of one dialect one by one; `feed` and `end` return what is wrong. docs/protocol/flat.md says
the rules in words. They are checked for each conversation alone: the main one, and each subagent's.
"""

from __future__ import annotations

from yume_shim.types.children import FORKED_COMMAND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from yume_shim.types.blocks import Json

_FLAT_TURN = (
    "text",
    "thinking",
    "usage",
    "tool_use_delta",
    "tool_use",
    "tool_output",
    "tool_result",
    "interrupt",
    "result",
)
"""Lines of a turn; `system` lines about calls belong to it, too."""
_ABOUT_CALLS = ("progress", "permission_denied", "approval_needed")
_OF_ANSWER = ("text", "thinking", "usage", "tool_use_delta", "tool_use")
"""Lines that no longer come after `interrupt`."""
_MISSING = {
    "new": "the stream is empty: `init` is missing",
    "turn": "the stream ends inside a turn: `result` is missing",
    "stopped": "the stream ends inside a turn: `result` is missing",
    "over": "the stream ends after `result`: `message_stop` is missing",
}
"""State of a flat stream → what is missing if it ends there."""


class FlatOrder:
    """The order of flat lines."""

    def __init__(self) -> None:
        self._state = "new"
        """new; idle: between turns; turn: inside one; stopped: after `interrupt`; over: `message_stop` must follow."""
        self._announced: bool | None = None
        """Whether turns are announced by `turn_started`: the first one decides."""
        self._running: dict[str | None, str] = {}
        """Conversation (the parent call, None = the main one) → its running call."""
        self._parents: set[str] = set()
        """Calls that have started in this process: subagents belong to one of them."""

    def feed(self, line: Json) -> list[str]:
        """What is wrong with the next line."""
        return list(self._feed(line))

    def end(self) -> list[str]:
        """What is missing at the end of the stream."""
        missing = _MISSING.get(self._state)
        return [missing] if missing is not None else []

    def _feed(self, line: Json) -> Iterator[str]:
        kind, subtype = line.get("type"), line.get("subtype")
        parent = _id(line.get("parent_tool_use_id"))
        if self._state == "new":
            yield from self._first(kind, subtype)
            return
        if kind == "system" and subtype == "init":
            yield "a second `init`"
            return
        if self._state == "over":
            yield from self._stop(kind)
            if kind in ("message_stop", "result"):
                return
        if parent is None:
            yield from self._main(line, kind, subtype)
        elif parent not in self._parents and not parent.startswith(FORKED_COMMAND):
            yield f"parent_tool_use_id: there was no call {parent!r}"
        if kind in ("tool_use", "tool_output", "tool_result") or (kind == "system" and subtype in _ABOUT_CALLS):
            yield from self._call(line, kind, parent)

    def _first(self, kind: Any, subtype: Any) -> Iterator[str]:
        if kind == "system" and subtype in ("init", "error"):
            self._state = "idle"
        else:
            yield "the first line must be `system` `init` or `system` `error`"
            self._state = "idle"

    def _stop(self, kind: Any) -> Iterator[str]:
        if kind == "result":
            yield "a second `result` of the turn"
            return
        self._state = "idle"
        if kind != "message_stop":
            yield "`message_stop` must follow `result` at once"

    def _main(self, line: Json, kind: Any, subtype: Any) -> Iterator[str]:
        if kind == "system" and subtype == "turn_started":
            if self._state in ("turn", "stopped"):
                yield "a turn starts before `result` of the turn before"
            self._announced, self._state = self._announced is not False, "turn"
            return
        if kind == "message_stop":
            yield "`message_stop` without `result`"
            return
        if kind not in _FLAT_TURN and not (kind == "system" and subtype in _ABOUT_CALLS):
            return
        if self._state == "idle":
            self._announced = self._announced or False
            if self._announced:
                yield "a second `result`: no turn runs" if kind == "result" else f"`{kind}` outside a turn"
            self._state = "turn"
        if self._state == "stopped" and kind in _OF_ANSWER:
            yield f"`{kind}` after `interrupt`"
        if kind == "interrupt":
            self._state = "stopped"
        elif kind == "result":
            self._state = "over"
            if None in self._running:
                yield f"`result` before the `tool_result` of {self._running.pop(None)!r}"

    def _call(self, line: Json, kind: Any, parent: str | None) -> Iterator[str]:
        running = self._running.get(parent)
        if kind == "tool_use":
            call = _id(line.get("id"))
            if running is not None:
                yield f"`tool_use` before the `tool_result` of {running!r}"
            if call in self._parents:
                yield f"`tool_use` {call!r} comes twice"
            if call is not None:
                self._running[parent] = call
                self._parents.add(call)
            return
        call = _id(line.get("tool_use_id"))
        if call is None or call != running:
            yield f"`{line.get('subtype') or kind}` of {call!r}, which is not running"
        elif kind == "tool_result":
            del self._running[parent]


class NestedOrder:
    """The order of `stream-json` lines."""

    def __init__(self) -> None:
        self._state = "idle"
        self._results = 0
        self._open_calls: dict[str | None, dict[str, None]] = {}
        """Conversation → calls without a result."""
        self._partial = _PartialOrder()

    def feed(self, line: Json) -> list[str]:
        """What is wrong with the next line."""
        return list(self._feed(line))

    def end(self) -> list[str]:
        """What is missing at the end of the stream."""
        return ["the stream ends inside a turn: `result` is missing"] if self._state == "turn" else []

    def _feed(self, line: Json) -> Iterator[str]:
        kind, parent = line.get("type"), _id(line.get("parent_tool_use_id"))
        if kind == "system" and line.get("subtype") == "init":
            if self._state == "turn":
                yield "`init` before `result` of the turn before"
            self._state = "turn"
        elif kind == "result":
            yield from self._result(line)
        elif kind == "stream_event":
            event = line.get("event")
            yield from self._partial.feed(event if isinstance(event, dict) else {}, "abandoned_blocks" in line)
        elif kind == "assistant":
            if self._state != "turn" and parent is None:
                yield "`assistant` outside a turn"
            for block in _blocks(line):
                if block.get("type") == "tool_use":
                    self._open_calls.setdefault(parent, {})[str(block.get("id"))] = None
        elif kind == "user" and not line.get("isReplay"):
            for block in _blocks(line):
                if block.get("type") == "tool_result":
                    yield from self._answered(block, parent)

    def _answered(self, block: Json, parent: str | None) -> Iterator[str]:
        call = str(block.get("tool_use_id"))
        if call not in self._open_calls.get(parent, {}):
            yield f"`tool_result` of {call!r}, which has no open `tool_use`"
        else:
            del self._open_calls[parent][call]

    def _result(self, line: Json) -> Iterator[str]:
        failed_start = self._results == 0 and line.get("num_turns") == 0 and line.get("is_error") is True
        if self._state != "turn" and not failed_start:
            yield "a second `result`: no turn runs"
        self._results += 1
        self._state = "idle"
        for call in self._open_calls.pop(None, {}):
            yield f"`result` before the `tool_result` of {call!r}"
        yield from self._partial.end()


class _PartialOrder:
    """The order of `stream_event` lines: messages, and blocks inside them."""

    def __init__(self) -> None:
        self._message = False
        self._block: Any = None

    def feed(self, event: Json, abandoned: bool) -> Iterator[str]:
        kind, index = event.get("type"), event.get("index")
        if kind == "message_start":
            if self._message:
                yield "`message_start` before `message_stop` of the message before"
            self._message, self._block = True, None
            return
        if not self._message:
            yield f"`{kind}` outside a message"
        if kind == "content_block_start":
            if self._block is not None:
                yield f"block {index} starts while block {self._block} is open"
            self._block = index
        elif kind in ("content_block_delta", "content_block_stop"):
            if index != self._block:
                yield f"`{kind}` of block {index}, which is not open"
            if kind == "content_block_stop":
                self._block = None
        elif kind == "message_stop":
            if self._block is not None and not abandoned:  # an interrupted call gets no stop of its own
                yield f"`message_stop` while block {self._block} is open"
            self._message, self._block = False, None

    def end(self) -> Iterator[str]:
        if self._message:
            yield "`result` before `message_stop` of the message"
        self._message, self._block = False, None


def _id(value: Any) -> str | None:
    """An id as a text. One of another type is wrong, and the check of the fields says so."""
    return value if value is None else str(value)


def _blocks(line: Json) -> Iterator[Json]:
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict):
            yield block
