"""A bounded queue of waiting commands: the stdin reader's thread adds them, the session's thread takes them in
order. Notices about background tasks wait beside it: commands of the host come first."""

from __future__ import annotations

import threading
from collections import deque

from yume_shim.types.blocks import Text
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
        self._notices: deque[UserInput] = deque()
        """There is at most one per task, and the tasks are limited."""
        self._late: list[UserInput] = []

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
        """Remove and return the next command, or notice if no command but the end of input waits; waits until there is
        one."""
        with self._ready:
            while True:
                if self._notices and (not self._items or isinstance(self._items[0], EndOfInput)):
                    return self._notices.popleft()
                if self._items:
                    return self._items.popleft()
                self._ready.wait()

    def put_notice(self, notice: UserInput, *, urgent: bool) -> None:
        """Add a notice; one that is not urgent waits for the next prompt."""
        with self._ready:
            if urgent:
                self._notices.append(notice)
            else:
                self._late.append(notice)
            self._ready.notify()

    def take_notices(self) -> list[UserInput]:
        """Take the urgent notices that wait."""
        with self._ready:
            taken, self._notices = list(self._notices), deque()
            return taken

    def take_late_texts(self) -> list[str]:
        """Take the notices that wait for a prompt, as texts for the model."""
        with self._ready:
            taken, self._late = self._late, []
            return [block.text for notice in taken for block in notice.blocks if isinstance(block, Text)]

    def has_notice(self) -> bool:
        """Does an urgent notice wait?"""
        with self._ready:
            return bool(self._notices)

    def await_change(self, seconds: float) -> None:
        """Wait until something was added or the queue was cleared, at most that long."""
        with self._ready:
            if not self._notices and not self._items:
                self._ready.wait(seconds)

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

    def put_last(self, command: EndOfInput) -> None:
        """Put the end of input back: something is done before it."""
        with self._ready:
            self._items.append(command)
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
            return bool(self._notices) or any(isinstance(item, (UserInput, Compact)) for item in self._items)

    def clear(self) -> None:
        """Drop everything that waits and end the input (shutdown)."""
        with self._ready:
            self._items.clear()
            self._notices.clear()
            self._items.append(EndOfInput())
            self._ended = True
            self._ready.notify()
