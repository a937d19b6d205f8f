"""Reads recorded stdout of this program (both dialects) and of the Claude CLI (`stream-json`) into a `Document`.

Prompts are not on stdout unless the host asked for them; those known otherwise are put where their turns begin.
"""

from __future__ import annotations

from yume_shim.pages.readers.assembler import Assembler
from yume_shim.pages.readers.flat import FlatReader
from yume_shim.pages.readers.messages import MessageReader, starts_turn
from yume_shim.pages.readers.parts import parts_of
from yume_shim.pages.readers.times import count, money, seconds_of
from yume_shim.pages.readers.turn_ends import close_failed
from yume_shim.text.codec import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from yume_shim.pages.cleaning import Cleaner
    from yume_shim.pages.document import Document
    from yume_shim.types.blocks import Json

LOOKED_AT = 50
"""Objects that are looked at to find out what a file holds."""


def kind_of(lines: Iterable[bytes]) -> str:
    """What a file holds by its first objects: "transcript", "stream-json", "flat"; "" if none of them."""
    for number, line in enumerate(_objects(lines, [0])):
        if number >= LOOKED_AT:
            break
        kind, sub = line.get("type"), line.get("subtype")
        if (
            "parentUuid" in line
            or "isSidechain" in line
            or kind
            in ("summary", "cost-state", "custom-title", "file-history-snapshot", "queue-operation", "last-prompt")
        ):
            return "transcript"
        if kind in ("assistant", "user", "stream_event") or (kind == "system" and sub == "init" and "uuid" in line):
            return "stream-json"
        if kind in ("text", "thinking", "tool_use", "message_stop", "ready") or (
            kind == "system" and sub in ("init", "turn_started")
        ):
            return "flat"
        if kind == "result":
            return "stream-json" if "uuid" in line else "flat"
    return ""


def read_stream(lines: Iterable[bytes], kind: str, cleaner: Cleaner, prompts: Sequence[Any] = ()) -> Document:
    """The document of a recorded stream. `prompts`: contents of the prompts in order, where the stream has none."""
    made = Assembler(cleaner)
    unread = [0]
    reader = FlatReader(made, prompts) if kind == "flat" else _NestedReader(made, prompts)
    for line in _objects(lines, unread):
        reader.line(line)
    reader.end()
    made.unread = unread[0]
    made.total_cost = reader.cost
    return made.finish(reader.title, reader.session_id, kind, folder=cleaner.line(reader.folder))


def prompts_of(lines: Iterable[bytes]) -> list[Any]:
    """The contents of the prompts that a host wrote to stdin."""
    found: list[Any] = []
    for line in _objects(lines, [0]):
        if line.get("type") in ("user", "prompt", "message"):
            message = line.get("message")
            content = message.get("content") if isinstance(message, dict) else line.get("content", message)
            if isinstance(content, (str, list)):
                found.append(content)
    return found


def _objects(lines: Iterable[bytes], unread: list[int]) -> Iterator[Json]:
    for raw in lines:
        if raw.isspace() or not raw:
            continue
        try:
            line = loads(raw)
        except ValueError:
            line = None
        if isinstance(line, dict):
            yield line
        else:
            unread[0] += 1


class _NestedReader:
    """`stream-json`."""

    def __init__(self, made: Assembler, prompts: Sequence[Any]) -> None:
        self._made = made
        self._reader = MessageReader(made, None)
        self._prompts = list(prompts)
        self._in_turn = False
        self._open: dict[tuple[str, int], tuple[str, list[str]]] = {}
        """(agent's call, index) → kind and pieces of a block whose line has not come."""
        self._answered = False
        """The model said something in this turn."""
        self.title = self.session_id = self.folder = ""
        self.cost: float | None = None

    def line(self, line: Json) -> None:
        kind, at = line.get("type"), seconds_of(line.get("timestamp"))
        scope = line.get("parent_tool_use_id")
        scope = scope if isinstance(scope, str) else ""
        if kind == "user":
            if not scope and not _has_results(line):
                self._begin(at, line)
            else:
                self._reader.user(line, at, scope)
        elif kind == "assistant":
            self._begin(at)
            self._answered = self._answered or not scope
            self._drop(scope)
            self._reader.assistant(line, at, scope)
        elif kind == "stream_event":
            self._piece(line.get("event"), scope)
        elif kind == "result":
            self._ended(line, at)
        elif kind == "system":
            self._system(line, at, scope)
        elif kind == "control_request":
            request = line.get("request")
            if isinstance(request, dict) and request.get("subtype") == "can_use_tool":
                why = request.get("decision_reason") or request.get("description") or ""
                self._made.mark(at, "notice", f"Permission asked: {request.get('tool_name')}", str(why))
        elif kind == "conversation_reset":
            self._made.mark(at, "notice", "The conversation was cleared")

    def end(self) -> None:
        """The recording ends here, perhaps inside an answer."""
        for (scope, _), (kind, pieces) in self._open.items():
            self._begin(None)
            if kind == "text_delta":
                self._made.text(None, "".join(pieces), scope=scope)
            elif kind == "thinking_delta":
                self._made.thinking(None, "".join(pieces), scope)

    def _piece(self, event: object, scope: str) -> None:
        """A part of a block; the line with the whole block replaces its parts."""
        if not isinstance(event, dict):
            return
        delta = event.get("delta")
        if event.get("type") == "message_start":
            self._drop(scope)
        elif event.get("type") == "content_block_delta" and isinstance(delta, dict):
            text = delta.get("text", delta.get("thinking"))
            if isinstance(text, str):
                name = (scope, count(event.get("index")))
                self._open.setdefault(name, (str(delta.get("type")), []))[1].append(text)

    def _drop(self, scope: str) -> None:
        self._open = {name: block for name, block in self._open.items() if name[0] != scope}

    def _begin(self, at: float | None, line: Json | None = None) -> None:
        """A turn begins: with the prompt on stdout, or the next one that is known."""
        if line is not None and not self._in_turn:
            self._in_turn = starts_turn(line)
            if self._in_turn and self._prompts:
                self._prompts.pop(0)
            self._reader.user(line, at, "")
            return
        if line is not None:
            self._reader.user(line, at, "")
        elif not self._in_turn:
            self._in_turn = True
            parts = parts_of(self._prompts.pop(0), self._made.cleaner) if self._prompts else ()
            self._made.prompt(at, "user", parts)

    def _system(self, line: Json, at: float | None, scope: str) -> None:
        made, sub = self._made, line.get("subtype")
        if sub == "init":
            self.session_id = self.session_id or str(line.get("session_id") or "")
            self.folder = self.folder or str(line.get("cwd") or "")
        elif sub == "api_retry":
            self._begin(at)
            status = line.get("error_status")
            title = f"Request failed, attempt {count(line.get('attempt'))} of {count(line.get('max_retries'))}"
            reason = f"{status} {line.get('error')}" if isinstance(status, int) else str(line.get("error") or "")
            made.mark(at, "retry", title, reason, wait_ms=count(line.get("retry_delay_ms")), scope=scope)
        elif sub == "compact_boundary":
            facts = line.get("compact_metadata")
            self._reader.compaction(at, facts if isinstance(facts, dict) else {}, scope)
        elif sub == "permission_denied":
            made.denied(str(line.get("tool_use_id")))
        elif sub == "session_title_changed":
            self.title = str(line.get("title") or "")
        elif sub == "task_started" and isinstance(line.get("tool_use_id"), str) and line.get("subagent_type"):
            made.agent(line["tool_use_id"], str(line["subagent_type"]), str(line.get("description") or ""))
        elif sub == "task_notification":
            made.task_ended(at, str(line.get("tool_use_id")), str(line.get("summary") or ""), scope)
        elif sub == "informational":
            self._reader.system(line, at, scope)

    def _ended(self, line: Json, at: float | None) -> None:
        self._begin(at)
        total = money(line.get("total_cost_usd"))
        self.cost = total if total is not None else self.cost
        if line.get("is_error") or line.get("subtype") not in ("success", None):
            close_failed(self._made, at, line)
        elif not self._answered and isinstance(line.get("result"), str):  # what the program itself said to a command
            self._made.text(at, line["result"])
        self._in_turn = self._answered = False
        self._open.clear()


def _has_results(line: Json) -> bool:
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type") == "tool_result" for block in content
    )
