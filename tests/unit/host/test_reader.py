"""Lines from real descriptors: pipes written in pieces, files, terminals, a stdin that is closed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from yume_shim.host.reader import LONG_LINE_HEAD, LineReader

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

DEADLINE = 10.0


class Calls:
    """The callbacks of a reader, in order."""

    def __init__(self) -> None:
        self.made: list[tuple[str, bytes]] = []
        self.ended = threading.Event()

    def reader(self, fd: int, max_line: int = 1_000_000) -> LineReader:
        return LineReader(fd, self.line, self.end, self.long, max_line)

    def line(self, line: bytes) -> None:
        self.made.append(("line", line))

    def long(self, head: bytes) -> None:
        self.made.append(("long", head))

    def end(self) -> None:
        self.made.append(("end", b""))
        self.ended.set()


def read_pieces(pieces: Iterable[bytes], max_line: int = 1_000_000) -> list[tuple[str, bytes]]:
    """Send the pieces through a pipe, one write each."""
    incoming, outgoing = os.pipe()
    calls = Calls()
    calls.reader(incoming, max_line).start()
    for piece in pieces:
        rest = piece
        while rest:
            rest = rest[os.write(outgoing, rest) :]
    os.close(outgoing)
    assert calls.ended.wait(DEADLINE)
    os.close(incoming)
    return calls.made


def cut(data: bytes, places: list[int]) -> list[bytes]:
    marks = [0, *sorted(min(place, len(data)) for place in places), len(data)]
    return [data[a:b] for a, b in pairwise(marks)]


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"").rstrip(b"\r")), max_size=8),
    st.sampled_from([b"\n", b"\r\n"]),
    st.booleans(),
    st.lists(st.integers(0, 120), max_size=8),
)
def test_lines_cut_anywhere(lines: list[bytes], end: bytes, ended: bool, places: list[int]) -> None:
    data = end.join(lines) + (end if lines and ended else b"")
    expected = [line.removeprefix(b"\xef\xbb\xbf") if place == 0 else line for place, line in enumerate(lines)]
    if not ended and expected and not lines[-1]:
        expected.pop()  # nothing after the last line end is no line
    made = read_pieces(cut(data, places))
    assert made == [("line", line) for line in expected] + [("end", b"")]


def test_bom_and_crlf_and_no_last_newline() -> None:
    made = read_pieces([b"\xef", b"\xbb\xbf{}\r", b"\n\n\xef\xbb\xbfa\rb\r\nlast\r"])
    assert made == [("line", b"{}"), ("line", b""), ("line", b"\xef\xbb\xbfa\rb"), ("line", b"last"), ("end", b"")]


def test_only_line_feeds_end_lines() -> None:
    line = "a\u2028b\u2029c\x85d\x0be\x0cf\rg".encode()
    assert read_pieces([line + b"\n"]) == [("line", line), ("end", b"")]


def test_a_line_that_is_too_long_is_dropped_and_reported() -> None:
    made = read_pieces(
        [b"ok\n", b"x" * 5_000, b"y" * 200_000, b"\nafter\n", b"z" * 101 + b"\r\n", b"z" * 100 + b"\r\n"], 100
    )
    assert made == [
        ("line", b"ok"),
        ("long", b"x" * LONG_LINE_HEAD),
        ("line", b"after"),
        ("long", b"z" * 101),
        ("line", b"z" * 100),
        ("end", b""),
    ]


def test_a_last_line_that_is_too_long_is_reported_as_well() -> None:
    assert read_pieces([b"x" * 500], 100) == [("long", b"x" * 500), ("end", b"")]


def test_memory_stays_bounded_while_a_line_is_dropped() -> None:
    import tracemalloc

    incoming, outgoing = os.pipe()
    calls = Calls()
    calls.reader(incoming, 100_000).start()
    tracemalloc.start()
    piece = b"x" * 65_536
    for _ in range(400):  # 25 MB without a line end
        os.write(outgoing, piece)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    os.close(outgoing)
    assert calls.ended.wait(DEADLINE)
    os.close(incoming)
    assert peak < 2_000_000


def test_large_lines_arrive_whole() -> None:
    line = bytes(range(32, 127)) * 50_000
    assert read_pieces([line + b"\n"], len(line)) == [("line", line), ("end", b"")]


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_bytes(b"one\ntwo")
    fd = os.open(path, os.O_RDONLY)
    calls = Calls()
    calls.reader(fd).start()
    assert calls.ended.wait(DEADLINE)
    os.close(fd)
    assert calls.made == [("line", b"one"), ("line", b"two"), ("end", b"")]


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo terminals")
def test_terminals() -> None:
    import pty

    master, slave = pty.openpty()
    calls = Calls()
    calls.reader(slave).start()
    os.write(master, b"typed\n\x04")
    assert calls.ended.wait(DEADLINE)
    os.close(master)
    os.close(slave)
    assert calls.made == [("line", b"typed"), ("end", b"")]


@pytest.mark.skipif(sys.platform == "win32", reason="pipes always block")
def test_non_blocking_pipes() -> None:
    incoming, outgoing = os.pipe()
    os.set_blocking(incoming, False)
    calls = Calls()
    calls.reader(incoming).start()
    threading.Event().wait(0.05)
    os.write(outgoing, b"late\n")
    os.close(outgoing)
    assert calls.ended.wait(DEADLINE)
    os.close(incoming)
    assert calls.made == [("line", b"late"), ("end", b"")]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_the_end_is_reported_even_when_a_callback_fails() -> None:
    incoming, outgoing = os.pipe()
    ended = threading.Event()

    def fail(_line: bytes) -> None:
        raise RuntimeError("a defect elsewhere")

    LineReader(incoming, fail, ended.set, fail).start()
    os.write(outgoing, b"x\n")
    assert ended.wait(DEADLINE)
    for thread in threading.enumerate():
        if thread.name == "stdin":
            thread.join(DEADLINE)
    os.close(outgoing)
    os.close(incoming)


CLOSED_STDIN = """
import os, sys, threading
from yume_shim.host.reader import LineReader
ended = threading.Event()
reader = LineReader(0, lambda line: os._exit(3), ended.set, lambda head: os._exit(4))
taken = os.open(sys.argv[1], os.O_RDONLY)  # gets number 0
reader.start()
os._exit(10 + taken if ended.wait(10) else 5)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell that closes stdin")
def test_a_stdin_closed_from_the_start_is_at_its_end(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"not ours\n")
    command = 'exec "$0" -c "$1" "$2" <&-'
    ended = subprocess.run(["sh", "-c", command, sys.executable, CLOSED_STDIN, str(other)], check=False, timeout=30)
    assert ended.returncode == 10
