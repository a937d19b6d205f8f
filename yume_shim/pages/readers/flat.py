"""Reads the flat dialect. Its lines have no times: a page of it shows what happened, and how long if a line says it."""

from __future__ import annotations

from yume_shim.pages.readers.facts import hunks_of
from yume_shim.pages.readers.parts import parts_of
from yume_shim.pages.readers.times import count, money, tokens_of
from yume_shim.pages.readers.turn_ends import close_failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from yume_shim.pages.readers.assembler import Assembler
    from yume_shim.types.blocks import Json


class FlatReader:
    """Feeds an assembler with flat lines. Pieces of a text are joined until something else comes."""

    def __init__(self, made: Assembler, prompts: Sequence[Any]) -> None:
        self._made = made
        self._prompts = list(prompts)
        self._open: tuple[str, str, str] = ("", "", "")
        """(kind, id, agent's call) of the text that is being read."""
        self._pieces: list[str] = []
        self._answers = 0
        self._model = ""
        self._in_turn = False
        self.title = self.session_id = self.folder = ""
        self.cost: float | None = None

    def line(self, line: Json) -> None:
        """The next line."""
        kind, scope = line.get("type"), line.get("parent_tool_use_id")
        scope = scope if isinstance(scope, str) else ""
        if kind in ("text", "thinking"):
            self._piece(str(kind), line, scope)
            return
        self._flush()
        made = self._made
        if kind == "tool_use":
            self._begin()
            given = line.get("input")
            name, call_id = str(line.get("name") or ""), str(line.get("id") or "")
            made.call(None, call_id, name, given if isinstance(given, dict) else {}, scope=scope)
        elif kind == "tool_result":
            self._result(line, scope)
        elif kind == "usage":
            self._answers += 1
            made.used(str(self._answers), self._model, tokens_of(line), None, scope=scope)
        elif kind == "error":
            # between turns it is about a line of the host
            made.mark(
                None,
                "failure" if self._in_turn else "warning",
                f"Error: {line.get('code')}",
                str(line.get("message") or ""),
                scope=scope,
            )
        elif kind == "interrupt":
            made.mark(None, "interrupted", "Interrupted", str(line.get("reason") or ""), scope=scope)
        elif kind == "result":
            self._ended(line)
        elif kind == "system":
            self._system(line, scope)

    def end(self) -> None:
        """The recording ends here, perhaps inside a text."""
        self._flush()

    def _begin(self, *, asked: bool = True) -> None:
        """A turn begins. `asked`: with a prompt of the host, not because a background task has ended."""
        if self._in_turn:
            return
        self._in_turn = True
        parts = parts_of(self._prompts.pop(0), self._made.cleaner) if asked and self._prompts else ()
        self._made.prompt(None, "user", parts)

    def _piece(self, kind: str, line: Json, scope: str) -> None:
        self._begin()
        name = (kind, str(line.get("id") or ""), scope)
        if name != self._open:
            self._flush()
            self._open = name
        text = line.get("content") if kind == "text" else line.get("thought")
        if isinstance(text, str):
            self._pieces.append(text)

    def _flush(self) -> None:
        (kind, _, scope), pieces = self._open, self._pieces
        self._open, self._pieces = ("", "", ""), []
        text = "".join(pieces)
        if kind == "text":
            self._made.text(None, text, self._model, scope)
        elif kind == "thinking" and pieces:
            self._made.thinking(None, text, scope)

    def _result(self, line: Json, scope: str) -> None:
        content = line.get("content")
        images = line.get("images")
        if isinstance(images, list) and isinstance(content, str):
            content = [{"type": "text", "text": content}, *(image for image in images if isinstance(image, dict))]
        patch = line.get("patch")
        hunks = hunks_of(patch.get("hunks"), self._made.cleaner) if isinstance(patch, dict) else []
        ran = line.get("duration_ms")
        self._made.result(
            None,
            str(line.get("tool_use_id") or ""),
            content,
            is_error=line.get("is_error") is True,
            facts={"hunks": hunks} if hunks else {},
            duration_ms=count(ran) if ran is not None else None,
            scope=scope,
        )

    def _system(self, line: Json, scope: str) -> None:
        made, sub = self._made, line.get("subtype")
        if sub == "init":
            self.session_id = self.session_id or str(line.get("session_id") or "")
            self.folder = self.folder or str(line.get("cwd") or "")
            self._model = made.model(line.get("model"))
        elif sub == "turn_started":
            self._in_turn = False
            self._begin(asked="origin" not in line)
        elif sub == "task_notification":
            made.task_ended(None, str(line.get("tool_use_id")), str(line.get("summary") or ""), scope)
        elif sub == "retry":
            title = f"Request failed, attempt {count(line.get('attempt'))} of {count(line.get('max_retries'))}"
            status = line.get("status")
            reason = " ".join(str(part) for part in (status, line.get("message")) if part)
            made.mark(None, "retry", title, reason, wait_ms=count(line.get("delay_ms")), scope=scope)
        elif sub == "compact_boundary":
            before, after = count(line.get("pre_tokens")), count(line.get("post_tokens"))
            how = "by command" if line.get("trigger") == "manual" else "to make room"
            made.mark(None, "compaction", f"Conversation compacted {how}: {before:,} → {after:,} tokens", scope=scope)
        elif sub == "permission_denied":
            made.denied(str(line.get("tool_use_id")))
        elif sub == "approval_needed":
            title = f"Permission asked: {line.get('tool_name')}"
            made.mark(None, "notice", title, str(line.get("reason") or ""), scope=scope)
        elif sub == "task_started" and isinstance(line.get("tool_use_id"), str) and line.get("subagent_type"):
            made.agent(line["tool_use_id"], str(line["subagent_type"]), str(line.get("description") or ""))
        elif sub == "session_title":
            self.title = str(line.get("title") or "")
        elif sub == "model":
            self._model = made.model(line.get("model"))
            made.mark(None, "model", f"The model is now {self._model}", str(line.get("reason") or ""), scope=scope)
        elif sub == "warning":
            made.mark(None, "warning", str(line.get("message") or ""), scope=scope)

    def _ended(self, line: Json) -> None:
        self._begin()
        self._in_turn = False
        total = money(line.get("total_cost_usd"))
        self.cost = total if total is not None else self.cost
        if line.get("is_error") or line.get("subtype") not in ("success", None):
            close_failed(self._made, None, line)
