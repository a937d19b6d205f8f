"""A session of the program in this process: much quicker than a process of its own where starting one is slow (Wine).

The program gets pipes as its descriptors 0, 1 and 2, its own environment and folder. It must not be sent signals.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.helpers import child, listening_shim
from yume_shim.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from io import BufferedReader

STREAMS = (0, 1, 2)
SETTLED_S = 5.0
"""How long threads of the session may take to end."""
ENDED_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
"""Signals for which the program installs handlers."""
LASTING = ("signals", "stderr", "stdout-reader")
"""Threads that end with the process only. They write nothing."""
END = b"\0end of the session\n"
"""Written behind the output: something may still hold the pipe, so that its end does not come."""


class _Session:
    """What `child.Child` needs of a process."""

    def __init__(self, outgoing: int) -> None:
        self.stdin = os.fdopen(outgoing, "wb")

    def send_signal(self, _number: int) -> None:
        raise AssertionError("a session in this process gets no signals")


def run(
    argv: Sequence[str], script: Iterable[dict[str, Any]], *, cwd: str | os.PathLike[str], env: Mapping[str, str]
) -> child.Ended:
    """Play a script of stdin lines and cues to the program, to its end (as `child.run`)."""
    threads_before = set(threading.enumerate())
    pipes = [os.pipe() for _ in STREAMS]
    session: Any = _Session(pipes[0][1])
    played = child.Child(session, deadline=time.monotonic() + child.DEADLINE)
    readers = [
        threading.Thread(target=_gather, args=(played, os.fdopen(pipes[number][0], "rb"), lines), daemon=True)
        for number, lines in ((1, played.out), (2, played.err))
    ]
    failures: list[BaseException] = []
    player = threading.Thread(target=_play, args=(played, script, cwd, failures), daemon=True)
    with _surroundings(argv, cwd, env), _descriptors((pipes[0][0], pipes[1][1], pipes[2][1])):
        for thread in (*readers, player):
            thread.start()
        code = main(list(argv), [listening_shim.order_listener()])
        player.join(child.DEADLINE)
        for thread in set(threading.enumerate()) - threads_before - set(readers):
            if thread.name not in LASTING:
                thread.join(SETTLED_S)  # none may write into the next session
        for number in STREAMS[1:]:
            os.write(number, END)
        for thread in readers:
            thread.join(child.DEADLINE)
    if failures:
        raise failures[0]
    return child.Ended(b"".join(played.out), b"".join(played.err), code)


def _play(
    played: child.Child, script: Iterable[dict[str, Any]], cwd: str | os.PathLike[str], failures: list[BaseException]
) -> None:
    try:
        child.play(played, script, cwd)
    except BaseException as error:  # shown by the thread that waits for this one
        failures.append(error)
    finally:
        played.close_input()


def _gather(played: child.Child, pipe: BufferedReader, lines: list[bytes]) -> None:
    with pipe:
        for line in pipe:
            with played.changed:
                lines.append(line.removesuffix(END))
                played.finished |= lines is played.out and line.endswith(END)
                played.changed.notify_all()
            if line.endswith(END):
                return


@contextmanager
def _descriptors(given: Sequence[int]) -> Iterator[None]:
    """Other descriptors 0, 1 and 2 for a while; the given ones are closed at the end."""
    kept = [os.dup(number) for number in STREAMS]
    try:
        for number, descriptor in zip(STREAMS, given, strict=True):
            os.dup2(descriptor, number)
            os.close(descriptor)
        yield
    finally:
        for number, descriptor in zip(STREAMS, kept, strict=True):
            os.dup2(descriptor, number)
            os.close(descriptor)


@contextmanager
def _surroundings(argv: Sequence[str], cwd: str | os.PathLike[str], env: Mapping[str, str]) -> Iterator[None]:
    """Another command line, folder and environment; the handlers of signals are put back."""
    folder, variables, words = Path.cwd(), dict(os.environ), sys.argv
    handled = [getattr(signal, name) for name in ENDED_SIGNALS if hasattr(signal, name)]
    handlers = [(number, signal.getsignal(number)) for number in handled]
    try:
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(env)
        sys.argv = ["yume-shim", *argv]
        yield
    finally:
        sys.argv = words
        os.environ.clear()
        os.environ.update(variables)
        os.chdir(folder)
        signal.set_wakeup_fd(-1)
        for number, handler in handlers:
            signal.signal(number, handler)
