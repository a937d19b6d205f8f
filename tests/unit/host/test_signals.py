"""Signals in a real child process."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import IO, TYPE_CHECKING

import pytest

from tests.helpers.timing import soon

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")

CHILD = """
import os, sys, threading, time
from yume_shim.host.signals import Signals
kind, shutdown = sys.argv[1], float(sys.argv[2])
done = threading.Event()
lock = threading.Lock()

def say(text):
    os.write(1, (text + chr(10)).encode())

def on_signal(name):
    say(name)
    if kind == "stuck":
        lock.acquire()  # held by the main thread for ever
    done.set()

if kind == "early":  # the signal comes as soon as it is caught
    import _signal as signal  # what the module uses
    set_handler = signal.signal

    def at_once(number, handler):
        set_handler(number, handler)
        if number == signal.SIGTERM:
            os.kill(os.getpid(), number)

    signal.signal = at_once
Signals(on_signal, shutdown).install()
lock.acquire()
say("ready")
if kind in ("wait", "early"):
    done.wait(30)
elif kind == "busy":
    deadline = time.monotonic() + 30
    while not done.is_set() and time.monotonic() < deadline:
        sorted(range(100_000))
elif kind == "syscall":
    threading.Thread(target=lambda: (done.wait(30), os._exit(7))).start()
    os.read(0, 1)
elif kind == "stuck":
    time.sleep(30)
os._exit(7)
"""


class Child:
    def __init__(self, kind: str, shutdown: float = 5.0, *, prefix: tuple[str, ...] = ()) -> None:
        self.process = subprocess.Popen(
            [*prefix, sys.executable, "-c", CHILD, kind, str(shutdown)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        if kind != "early":
            assert self.line() == "ready"

    def stream(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout

    def line(self) -> str:
        return self.stream().readline().decode().strip()

    def end(self) -> tuple[int, bytes]:
        code = self.process.wait(30)
        assert self.process.stderr is not None
        return code, self.process.stderr.read()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(30)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


@pytest.fixture
def children() -> Iterator[list[Child]]:
    made: list[Child] = []
    yield made
    for child in made:
        child.close()


@pytest.mark.parametrize("kind", ["wait", "busy", "syscall"])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_the_first_signal_is_reported_whatever_the_main_thread_is_doing(
    children: list[Child], kind: str, name: str
) -> None:
    child = Child(kind)
    children.append(child)
    with soon():
        child.process.send_signal(getattr(signal, name))
        assert child.line() == name
    assert child.end() == (7, b"")


def test_a_signal_during_the_installation_is_not_lost(children: list[Child]) -> None:
    child = Child("early")
    children.append(child)
    assert {child.line(), child.line()} == {"ready", "SIGTERM"}
    assert child.end() == (7, b"")


@pytest.mark.parametrize(
    ("first", "second", "code"), [("SIGINT", "SIGINT", 130), ("SIGINT", "SIGTERM", 143), ("SIGTERM", "SIGHUP", 129)]
)
def test_a_second_signal_ends_the_process(children: list[Child], first: str, second: str, code: int) -> None:
    child = Child("stuck", 60.0)
    children.append(child)
    child.process.send_signal(getattr(signal, first))
    assert child.line() == first
    time.sleep(0.3)
    child.process.send_signal(getattr(signal, second))
    assert child.end() == (code, b"")


def test_an_echo_of_the_first_is_no_second(children: list[Child]) -> None:
    child = Child("wait")
    children.append(child)
    for _ in range(3):
        child.process.send_signal(signal.SIGINT)
    assert child.line() == "SIGINT"
    assert child.end() == (7, b"")


def test_an_end_that_takes_too_long_is_forced(children: list[Child]) -> None:
    child = Child("stuck", 0.2)
    children.append(child)
    started = time.monotonic()
    child.process.send_signal(signal.SIGTERM)
    assert child.line() == "SIGTERM"
    assert child.end() == (143, b"")
    assert 1.0 < time.monotonic() - started < 25.0  # left alone it would take thirty


def test_nohup_is_respected(children: list[Child]) -> None:
    child = Child("wait", prefix=("sh", "-c", 'trap "" HUP; exec "$@"', "sh"))
    children.append(child)
    child.process.send_signal(signal.SIGHUP)
    time.sleep(0.2)
    child.process.send_signal(signal.SIGTERM)
    assert child.line() == "SIGTERM"
    assert child.end() == (7, b"")


def test_a_closed_pipe_is_no_signal(children: list[Child]) -> None:
    child = Child("wait")
    children.append(child)
    child.process.send_signal(signal.SIGPIPE)
    child.process.send_signal(signal.SIGINT)
    assert child.line() == "SIGINT"
    assert child.end() == (7, b"")
