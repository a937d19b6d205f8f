"""Questions to the host: one at a time, each with exactly one answer.

The working thread asks and waits; the reader thread answers. A question ends by its answer, its time-out, the end of
input or the cancel of the work, whichever comes first; whatever comes later finds no question and changes nothing.
"""

from __future__ import annotations

import os
import threading

from yume_shim.types.errors import Cancelled
from yume_shim.types.events import ApprovalAsked, ApprovalWithdrawn
from yume_shim.types.outputs import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queue import SimpleQueue

    from yume_shim.types.blocks import ToolCall
    from yume_shim.types.outputs import Decision
    from yume_shim.types.ports import Cancel, Emit, Ids

MAX_WAIT_S = 86_400.0
"""No question stays open longer than a day, whatever the settings say."""
QUEUE_SLICE_S = 0.05
"""How often a call that waits for its turn to ask looks at its cancel signal."""

_DESCRIBING_FIELDS = ("description", "file_path", "notebook_path", "path", "url", "query")


class _Question:
    """One open question: its call, and the box its end is put into (None = cancelled)."""

    def __init__(self, call_id: str) -> None:
        # SimpleQueue.put is safe in a signal handler that interrupts the waiting thread; Event.set is not.
        from queue import SimpleQueue

        self.call_id = call_id
        self.box: SimpleQueue[Answer | None] = SimpleQueue()


class Approvals:
    """Implements `types.ports.Asker`."""

    def __init__(self, emit: Emit, ids: Ids, timeout_s: float, enabled: bool) -> None:
        self._emit = emit
        self._ids = ids
        self._timeout_s = min(max(timeout_s, 0.0), MAX_WAIT_S)
        self._enabled = enabled
        self._closed = False
        self._turn = threading.Lock()
        self._lock = threading.Lock()
        self._open: dict[str, _Question] = {}

    def can_ask(self) -> bool:
        """False when nobody was named to be asked, or nobody can answer any more."""
        return self._enabled and not self._closed

    def ask(self, call: ToolCall, decision: Decision, cancel: Cancel) -> Answer:
        """Put the question, wait for its end. Raises Cancelled, after withdrawing the question."""
        while not self._turn.acquire(timeout=QUEUE_SLICE_S):
            cancel.check()
        try:
            return self._ask(call, decision, cancel)
        finally:
            self._turn.release()

    def _ask(self, call: ToolCall, decision: Decision, cancel: Cancel) -> Answer:
        from queue import Empty

        cancel.check()
        ask_id = self._ids.uuid()
        question = _Question(call.id)
        with self._lock:
            if self._closed:
                return Answer("closed")
            self._open[ask_id] = question
        self._emit(
            ApprovalAsked(
                ask_id=ask_id,
                call=call,
                reason=decision.message or decision.reason,
                timeout_ms=round(self._timeout_s * 1000),
                suggestions=decision.suggestions,
                blocked_path=decision.blocked_path,
                description=describe(call),
            )
        )
        try:
            with cancel.guard(lambda: question.box.put(None)):
                answer = question.box.get(timeout=self._timeout_s)
        except Empty:
            answer = Answer("timeout")
        finally:
            with self._lock:
                self._open.pop(ask_id, None)
        if answer is None:
            self._emit(ApprovalWithdrawn(ask_id))
            raise Cancelled
        return answer

    def answer_by_ask(self, ask_id: str, answer: Answer) -> bool:
        """The answer to the question `ask_id`. False: no such question is open."""
        with self._lock:
            question = self._open.pop(ask_id, None)
        if question is None:
            return False
        question.box.put(answer)
        return True

    def answer_by_call(self, call_id: str, answer: Answer) -> bool:
        """The answer to the question about the call `call_id`. False: no such question is open."""
        with self._lock:
            found = next((ask_id for ask_id, question in self._open.items() if question.call_id == call_id), None)
            question = self._open.pop(found) if found is not None else None
        if question is None:
            return False
        question.box.put(answer)
        return True

    def close(self) -> None:
        """Nobody will answer any more: open questions end as "closed", new ones are not put."""
        with self._lock:
            self._closed = True
            questions = list(self._open.values())
            self._open.clear()
        for question in questions:
            question.box.put(Answer("closed"))


def describe(call: ToolCall) -> str:
    """A short line about the call for a dialog: its own description, or the name of what it touches."""
    for field in _DESCRIBING_FIELDS:
        text = call.input.get(field)
        if isinstance(text, str) and text:
            return os.path.basename(text.rstrip("/\\")) if field.endswith("path") else text
    return ""
