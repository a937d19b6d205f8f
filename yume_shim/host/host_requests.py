"""Asks the host questions and waits for the answers: the only channel for that.

A question is announced as an event and gets an id. It ends exactly once: by the host's answer, its error, its time-out,
the end of input, or the cancel of the work that asked. An answer that comes later finds no open question and changes
nothing. Several questions may be open at the same time.
"""

from __future__ import annotations

import threading

from yume_shim.types.errors import Cancelled
from yume_shim.types.host_reply import MAX_WAIT_S, NO_LIMIT, HostReply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from queue import SimpleQueue

    from yume_shim.types.events import Event
    from yume_shim.types.ports import Cancel, Emit, Ids

MAX_OPEN = 64
"""Questions that may be open at the same time; a further one fails at once. Far above what tools, hooks and servers
ask together, low enough that a loop that asks without end is noticed."""
TIMED_OUT = HostReply("timeout")
TOO_MANY = f"{MAX_OPEN} questions to the host are open already"


class _Question:
    """One open question: its second name, and the queue for its reply (None = cancelled)."""

    def __init__(self, key: str) -> None:
        # A SimpleQueue: `put` never blocks, and the first reply is the one that counts.
        from queue import SimpleQueue

        self.key = key
        self.reply: SimpleQueue[HostReply | None] = SimpleQueue()


class HostRequests:
    """Implements `types.ports.HostChannel`.

    `ask` runs on the threads of loops and tools; `answer`, `answer_by_key` and `close` on the stdin reader's thread;
    `close` also on the threads of signals and of the shutdown. The lock guards the table of open questions.
    """

    def __init__(self, emit: Emit, ids: Ids) -> None:
        self._emit = emit
        self._ids = ids
        self._lock = threading.Lock()
        self._open: dict[str, _Question] = {}
        self._closed = False

    def is_open(self) -> bool:
        """False once the host can no longer answer."""
        return not self._closed

    def ask(
        self,
        announce: Callable[[str], Event],
        *,
        timeout_s: float,
        cancel: Cancel,
        withdraw: Callable[[str], Event | None] | None = None,
        key: str = "",
        emit: Emit | None = None,
    ) -> HostReply:
        """Announce a question and wait for its end. Raises Cancelled after withdrawing the question.

        `announce` and `withdraw` make the events from the question's id. `key` is a second name under which it can be
        answered. `emit` replaces the session's emitter. With the time-out NO_LIMIT only an answer, the cancel or the
        end of the input ends the question.
        """
        cancel.check()
        emit = emit or self._emit
        ask_id = self._ids.uuid()
        question = _Question(key)
        with self._lock:
            if self._closed:
                return HostReply("closed")
            if len(self._open) >= MAX_OPEN:
                return HostReply("error", error=TOO_MANY)
            self._open[ask_id] = question
        try:
            emit(announce(ask_id))
            limit = None if timeout_s == NO_LIMIT else min(max(timeout_s, 0.0), MAX_WAIT_S)
            reply = _wait(question, limit, cancel)
        finally:
            with self._lock:
                unanswered = self._open.pop(ask_id, None) is not None
        if reply == TIMED_OUT and not unanswered:  # the answer came at the last moment: `answer` returned True
            reply = question.reply.get()
        if reply is None:
            withdrawn = withdraw(ask_id) if withdraw is not None else None
            if withdrawn is not None:
                emit(withdrawn)
            raise Cancelled
        return reply

    def answer(self, ask_id: str, reply: HostReply) -> bool:
        """End the question `ask_id` with this reply. False: no such question is open."""
        with self._lock:
            question = self._open.pop(ask_id, None)
        if question is None:
            return False
        question.reply.put(reply)
        return True

    def answer_by_key(self, key: str, reply: HostReply) -> bool:
        """End the oldest open question with this key. False: there is none."""
        with self._lock:
            found = next((ask_id for ask_id, question in self._open.items() if key and question.key == key), None)
        return found is not None and self.answer(found, reply)

    def close(self) -> None:
        """The host will not answer any more: open questions end as "closed", and so does every later one."""
        with self._lock:
            self._closed = True
            questions = list(self._open.values())
            self._open.clear()
        for question in questions:
            question.reply.put(HostReply("closed"))


def _wait(question: _Question, timeout_s: float | None, cancel: Cancel) -> HostReply | None:
    """The reply; None if the work was cancelled."""
    from queue import Empty

    try:
        with cancel.guard(lambda: question.reply.put(None)):
            return question.reply.get(timeout=timeout_s)
    except Empty:
        return TIMED_OUT
