"""A bounded queue of waiting commands: the stdin reader's thread adds them, the session's thread takes them in
order."""

from __future__ import annotations

import threading
from collections import deque

from yume_shim.types.commands import Compact, EndOfInput, UserInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.types.commands import Command

MAX_WAITING = 1_000
"""Commands that may wait; more are refused, so that a host in a loop cannot fill the memory."""


class Inbox:
    """A queue whose waiting prompts can be listed, joined and withdrawn. Safe from any thread."""

    def __init__(self) -> None:
        self._items: deque[Command] = deque()
        self._ready = threading.Condition()
        self._ended = False

    def put(self, command: Command) -> bool:
        """Add one; False if too many wait or the input has ended."""
        with self._ready:
            if self._ended or (len(self._items) >= MAX_WAITING and not isinstance(command, EndOfInput)):
                return False
            self._ended = isinstance(command, EndOfInput)
            self._items.append(command)
            self._ready.notify()
            return True

    def take(self) -> Command:
        """Remove and return the next command; waits until there is one."""
        with self._ready:
            while not self._items:
                self._ready.wait()
            return self._items.popleft()

    def take_waiting(self, plain: Callable[[UserInput], bool], *, later: bool) -> list[UserInput]:
        """Take the prompts at the head of the queue up to the first that is not `plain`; those of priority "later" only
        if `later`."""
        with self._ready:
            taken: list[UserInput] = []
            while self._items:
                head = self._items[0]
                if not isinstance(head, UserInput) or not head.should_query or (head.priority == "later" and not later):
                    break
                if not plain(head):
                    break
                taken.append(head)
                self._items.popleft()
            return taken

    def put_first(self, command: Command) -> None:
        """Put a command at the head, even if the queue is full: it runs next."""
        with self._ready:
            self._items.appendleft(command)
            self._ready.notify()

    def drop(self, uuid: str) -> bool:
        """Withdraw a waiting prompt."""
        with self._ready:
            found = next((item for item in self._items if isinstance(item, UserInput) and item.uuid == uuid), None)
            if found is not None:
                self._items.remove(found)
            return found is not None

    def waiting_uuids(self) -> tuple[str, ...]:
        """The uuids of the prompts that wait."""
        with self._ready:
            return tuple(item.uuid for item in self._items if isinstance(item, UserInput) and item.uuid)

    def has_work(self) -> bool:
        """Is a prompt waiting, or another command that asks the model?"""
        with self._ready:
            return any(isinstance(item, (UserInput, Compact)) for item in self._items)

    def clear(self) -> None:
        """Drop everything that waits and end the input (shutdown)."""
        with self._ready:
            self._items.clear()
            self._items.append(EndOfInput())
            self._ended = True
            self._ready.notify()
