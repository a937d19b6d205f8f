"""The ports between a peer, its transport and the processes of servers: for type checking only."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from typing import Any, Protocol

    from yume_shim.types.blocks import Json

    Take = Callable[[Any], None]
    """Receives each message of the server."""
    Gone = Callable[[str], None]
    """Called once when the connection has ended, with the reason."""

    class Channel(Protocol):
        """A way to one server. Messages of the server go to the `Take` it was made with."""

        def send(self, message: Json) -> None:
            """Send a message; raises ServerGone or NeedsAuth. Safe from any thread."""
            ...

        def close(self) -> None:
            """End the connection, and the server if we started it. Returns at once; `finish` waits."""
            ...

        def finish(self, seconds: float) -> None:
            """Wait until everything of it has ended, at most that long."""
            ...

    class ProcessWatcher(Protocol):
        """Ends process groups that outlive this program (system/orphan_watcher.py)."""

        def pipe(self) -> int: ...

        def marked(self, env: Mapping[str, str]) -> dict[str, str]: ...

        def starting(self) -> AbstractContextManager[None]: ...

        def add(self, group: int) -> None: ...

        def remove(self, group: int) -> None: ...
