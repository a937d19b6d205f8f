"""Runs `yume-shim watch` until a signal ends it."""

from __future__ import annotations

import secrets as random_secrets
import signal
import threading

from yume_shim.app.watch.server import WatchServer, serve
from yume_shim.app.watch.session_list import SessionList
from yume_shim.types.errors import BadInvocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TOKEN_BYTES = 24


def run_watch(
    projects: str,
    folder: str,
    port: int,
    secrets: Sequence[str],
    say: Callable[[str], None],
    show: Callable[[str], None] | None,
) -> int:
    """Serve the sessions below `projects` (only those of `folder`, if it is not ""). `show` opens the page. Returns the
    number of the signal that ended it."""
    token = random_secrets.token_urlsafe(TOKEN_BYTES)
    try:
        server = WatchServer(port, token, SessionList(projects, folder, secrets), secrets)
    except OSError as error:
        raise BadInvocation(f"port {port} cannot be used: {error.strerror or error}") from None
    ended, numbers = threading.Event(), []

    def end(number: int, _frame: object) -> None:
        numbers.append(number)
        ended.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    say(f"{server.address}\nOnly this address shows the sessions: it holds a key. Ctrl-C ends it.\n")
    if show is not None:
        threading.Thread(target=show, args=(server.address,), daemon=True).start()
    serve(server, lambda: _wait(ended))
    return numbers[0]


def _wait(ended: threading.Event) -> None:
    while not ended.wait(0.5):  # in steps, so that a signal is handled on every system
        pass
