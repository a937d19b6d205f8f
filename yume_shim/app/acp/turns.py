"""The prompts of one ACP session: they run one after the other, and each gets exactly one answer."""

from __future__ import annotations

import threading
from collections import deque

from yume_shim.dialects.acp_results import cancelled, prompt_error, prompt_result
from yume_shim.host.json_rpc import INVALID_REQUEST, BadMessage
from yume_shim.types.events import TurnEnded, TurnStarted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.app.acp.client import Client
    from yume_shim.engine.session import Session
    from yume_shim.host.json_rpc import RpcId
    from yume_shim.types.commands import UserInput
    from yume_shim.types.events import Event

MAX_WAITING = 100
"""Prompts of one session that may wait; more are refused."""


class Turns:
    """`submit`, `cancel` and `close` run on the reader's thread, `after` on the session's; the lock guards the queue.

    The engine gets a prompt only when the one before it has ended. So a cancel concerns one prompt in the engine, and
    those that wait here are simply answered.
    """

    def __init__(self, client: Client, session: Session) -> None:
        self._client, self._session = client, session
        self._lock = threading.Lock()
        self._waiting: deque[tuple[RpcId, UserInput]] = deque()
        self._current: tuple[RpcId, str] | None = None
        self._cancelled = False
        self._closed = False

    def running(self) -> bool:
        """Is a prompt unanswered?"""
        return self._current is not None

    def submit(self, id: RpcId, prompt: UserInput) -> None:
        """Run the prompt when its turn comes. Raises BadMessage."""
        with self._lock:
            if self._closed:
                raise BadMessage(INVALID_REQUEST, "the session is closed")
            if len(self._waiting) >= MAX_WAITING:
                raise BadMessage(INVALID_REQUEST, f"{MAX_WAITING} prompts of this session wait already")
            self._waiting.append((id, prompt))
            self._next()

    def cancel(self) -> None:
        """Stop the prompt that runs, and answer those that wait."""
        with self._lock:
            dropped, self._cancelled = self._drop(), self._current is not None
        self._answer_all(dropped)
        self._session.interrupt("user")

    def cancel_request(self, id: RpcId) -> bool:
        """Stop the prompt of this request; False if it is none of this session."""
        with self._lock:
            waiting = next((entry for entry in self._waiting if entry[0] == id), None)
            if waiting is not None:
                self._waiting.remove(waiting)
            elif self._current is None or self._current[0] != id:
                return False
            else:
                self._cancelled = True
        if waiting is not None:
            self._answer_all([id])
        else:
            self._session.interrupt("user")
        return True

    def after(self, event: Event) -> None:
        """An event of the session was printed."""
        if isinstance(event, TurnStarted):
            self._started(event)
        elif isinstance(event, TurnEnded):
            self._ended(event)

    def close(self) -> None:
        """The session has ended: whatever is unanswered is answered."""
        with self._lock:
            self._closed = True
            ids = self._drop()
            if self._current is not None:
                ids.insert(0, self._current[0])
                self._current = None
        self._answer_all(ids)

    # ------------------------------------------------------------ the session's thread

    def _started(self, event: TurnStarted) -> None:
        """A cancel may have come while the engine was between two turns, where it stops nothing."""
        with self._lock:
            stop = self._cancelled and self._current is not None and self._current[1] in event.user_uuids
        if stop:
            self._session.interrupt("user")

    def _ended(self, event: TurnEnded) -> None:
        with self._lock:
            if self._current is None or self._current[1] not in event.user_uuids:
                return  # no prompt of the client
            id, _ = self._current
            self._current, self._cancelled = None, False
        result = prompt_result(event)
        if result is not None:
            self._client.answer(id, result)
        else:
            code, message, data = prompt_error(event)
            self._client.refuse(BadMessage(code, message, id, data))
        with self._lock:
            self._next()

    # ------------------------------------------------------------ with the lock

    def _next(self) -> None:
        if self._current is None and self._waiting:
            id, prompt = self._waiting.popleft()
            self._current = (id, prompt.uuid)
            self._session.submit(prompt)

    def _drop(self) -> list[RpcId]:
        ids = [id for id, _ in self._waiting]
        self._waiting.clear()
        return ids

    def _answer_all(self, ids: list[RpcId]) -> None:
        for id in ids:
            self._client.answer(id, cancelled())
