"""Windows: job objects end what outlives us, so there is nothing to watch."""

from __future__ import annotations

from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

REGISTER_GROUP = REGISTER_AND_RUN = ""
"""No shell registers itself."""


class OrphanWatcher:
    """As that of `posix`; does nothing."""

    def __init__(self, _log: Callable[[str, str], None]) -> None:
        """Nothing is started."""

    def marked(self, env: Mapping[str, str]) -> dict[str, str]:
        """The environment for a command."""
        return dict(env)

    def pipe(self) -> int:
        """-1: there is no watcher."""
        return -1

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Around the start of a process."""
        yield

    def add(self, group: int) -> None:
        """A group was started: its job has it."""

    def remove(self, group: int) -> None:
        """A group is gone."""

    def close(self) -> None:
        """All groups have ended."""
