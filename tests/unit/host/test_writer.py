"""Lines to real pipes: whole, capped, in order, and silent once the reader has gone."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yume_shim.host.writer import LEAST_LINE_BYTES, LineWriter
from yume_shim.text import codec

if TYPE_CHECKING:
    from yume_shim.types.blocks import Json

CAP = 98_304


class Pipe:
    """A pipe whose reading end is drained by a thread."""

    def __init__(self, delay: float = 0.0, chunk: int = 65_536) -> None:
        self.incoming, self.outgoing = os.pipe()
        self.data = b""
        self._delay = delay
        self._chunk = chunk
        self._thread = threading.Thread(target=self._drain, daemon=True)
        self._thread.start()

    def _drain(self) -> None:
        parts = []
        while part := os.read(self.incoming, self._chunk):
            parts.append(part)
            time.sleep(self._delay)
        self.data = b"".join(parts)

    def end(self) -> bytes:
        os.close(self.outgoing)
        self._thread.join(30)
        os.close(self.incoming)
        return self.data


@pytest.fixture
def pipe() -> Pipe:
    return Pipe()


def lines_of(data: bytes) -> list[Any]:
    assert data.endswith(b"\n")
    return [codec.loads(line) for line in data[:-1].split(b"\n")]


def test_one_line_per_object(pipe: Pipe) -> None:
    writer = LineWriter(pipe.outgoing, CAP, wide_escapes=False)
    writer.write([{"type": "text", "content": "a\nb\u2028c\u200d😀"}, {"type": "pong"}])
    writer.write([])
    writer.write(iter([{"type": "usage", "n": 1}]))
    assert pipe.end() == (
        b'{"type":"text","content":"a\\nb\\u2028c'
        + "\u200d😀".encode()
        + b'"}\n{"type":"pong"}\n{"type":"usage","n":1}\n'
    )


def test_wide_escapes(pipe: Pipe) -> None:
    LineWriter(pipe.outgoing, CAP, wide_escapes=True).write([{"type": "x", "t": "\u200d\x7f é"}])
    assert pipe.end() == b'{"type":"x","t":"\\u200d\\u007f ' + "é".encode() + b'"}\n'


def test_text_mode(pipe: Pipe) -> None:
    writer = LineWriter(pipe.outgoing, CAP, wide_escapes=True)
    writer.write_text("all \u2028 as it is\n" + "x" * 200_000 + "\ud83d\ude00\ud800\n")
    assert pipe.end() == ("all \u2028 as it is\n" + "x" * 200_000 + "😀\ufffd\n").encode()


@pytest.mark.skipif(sys.platform == "win32", reason="select on pipes")
def test_lines_that_come_together_are_one_write() -> None:
    incoming, outgoing = os.pipe()
    LineWriter(outgoing, CAP, wide_escapes=False).write({"type": "n", "n": n} for n in range(100))
    whole = os.read(incoming, 65_536)
    assert [line["n"] for line in lines_of(whole)] == list(range(100))
    os.close(incoming)
    os.close(outgoing)


def test_a_slow_reader_gets_everything() -> None:
    pipe = Pipe(delay=0.001, chunk=7_001)
    writer = LineWriter(pipe.outgoing, CAP, wide_escapes=False)
    sent = [{"type": "n", "n": n, "x": "é" * 10_000} for n in range(60)]
    writer.write(sent)
    assert lines_of(pipe.end()) == sent
    assert not writer.gone


@pytest.mark.skipif(sys.platform == "win32", reason="pipes always block")
def test_a_pipe_that_does_not_block() -> None:
    pipe = Pipe(delay=0.002, chunk=9_001)
    os.set_blocking(pipe.outgoing, False)
    sent = [{"type": "n", "n": n, "x": "x" * 20_000} for n in range(50)]
    LineWriter(pipe.outgoing, CAP, wide_escapes=False).write(sent)
    assert lines_of(pipe.end()) == sent


def test_threads_do_not_mix_their_lines(pipe: Pipe) -> None:
    writer = LineWriter(pipe.outgoing, CAP, wide_escapes=False)

    def work(name: int) -> None:
        for n in range(200):
            writer.write([{"type": "n", "who": name, "n": n, "x": "x" * 700}])

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = lines_of(pipe.end())
    assert len(lines) == 800
    for name in range(4):
        assert [line["n"] for line in lines if line["who"] == name] == list(range(200))


# ---------------------------------------------------------------- the cap


def test_shrink_is_called_only_when_a_line_is_over_the_cap(pipe: Pipe) -> None:
    asked: list[int] = []

    def shrink(obj: Json, limit: int) -> Json:
        asked.append(limit)
        return {**obj, "x": "short", "x_truncated": True}

    writer = LineWriter(pipe.outgoing, 2_000, wide_escapes=False, shrink=shrink)
    fits = {"type": "a", "x": "y" * (2_000 - len(b'{"type":"a","x":""}\n'))}
    over = {"type": "a", "x": fits["x"] + "y"}
    writer.write([fits, over])
    assert lines_of(pipe.end()) == [fits, {"type": "a", "x": "short", "x_truncated": True}]
    assert asked == [1_999]


def broken_shrink(obj: Json, limit: int) -> Json:
    raise KeyError("a defect elsewhere")


def useless_shrink(obj: Json, limit: int) -> Json:
    return obj


@pytest.mark.parametrize("shrink", [None, broken_shrink, useless_shrink])
def test_a_line_that_stays_too_long_gets_the_fallback(pipe: Pipe, shrink: Any) -> None:
    writer = LineWriter(pipe.outgoing, 4_000, wide_escapes=True, shrink=shrink)
    writer.write(
        [
            {
                "type": "assistant",
                "message": {"id": "m", "model": "x", "content": [{"type": "text", "text": "long " * 5_000}]},
                "session_id": "s",
                "usage": None,
            }
        ]
    )
    data = pipe.end()
    assert len(data) <= 4_000
    (line,) = lines_of(data)
    text = line["message"]["content"][0].pop("text")
    assert text.startswith("long long ")
    assert text.endswith("long ")
    assert line == {
        "type": "assistant",
        "message": {"id": "m", "model": "x", "content": [{"type": "text"}]},
        "session_id": "s",
        "usage": None,
        "line_truncated": True,
    }


long_texts = st.tuples(st.sampled_from(["a", "é", "\u2028", "\U000e0041", '"', "\x00"]), st.integers(0, 3_000)).map(
    lambda made: made[0] * made[1]
)
values = st.recursive(
    long_texts | st.integers() | st.floats() | st.none(),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(long_texts, inner, max_size=6),
    max_leaves=30,
)


@settings(deadline=None, max_examples=60)
@given(st.dictionaries(st.text(max_size=5), values, max_size=5), st.booleans())
def test_no_line_is_ever_over_the_cap_or_broken(fields: Json, wide: bool) -> None:
    pipe = Pipe()
    LineWriter(pipe.outgoing, 0, wide).write([{"type": "x", **fields}])
    data = pipe.end()
    assert len(data) <= LEAST_LINE_BYTES
    (line,) = lines_of(data)
    assert next(iter(line)) == "type"


def test_an_object_that_is_not_json_is_printed_as_far_as_possible(pipe: Pipe) -> None:
    deep: list[Any] = []
    for _ in range(100_000):  # more than any version of Python writes
        deep = [deep]
    writer = LineWriter(pipe.outgoing, CAP, wide_escapes=False)
    writer.write([{"type": "a", "bad": {1, 2}}, {"type": "b", "deep": deep, "n": 1}, {"type": "c", "n": 2**20_000}])
    while deep:  # unwrapped in a loop: the interpreter would recurse
        deep = deep.pop()
    first, second, third = lines_of(pipe.end())
    assert third == {"type": "c", "n": None, "line_truncated": True}
    assert first == {"type": "a", "bad": "{1, 2}", "line_truncated": True}
    assert (second["type"], second["n"], second["line_truncated"]) == ("b", 1, True)


# ---------------------------------------------------------------- no reader


def test_a_closed_reader_is_noticed_once() -> None:
    incoming, outgoing = os.pipe()
    calls: list[bool] = []
    writer = LineWriter(outgoing, CAP, wide_escapes=False, on_gone=lambda: calls.append(writer.gone))
    writer.write([{"type": "a"}])
    assert (writer.gone, calls) == (False, [])
    os.close(incoming)
    for _ in range(3):
        writer.write([{"type": "b"}])
        writer.write_text("c")
    assert (writer.gone, calls) == (True, [True])
    assert writer.drain(0.1)
    os.close(outgoing)


def test_a_reader_that_goes_while_we_wait_for_it() -> None:
    incoming, outgoing = os.pipe()
    gone = threading.Event()
    writer = LineWriter(outgoing, 10_000_000, wide_escapes=False, on_gone=gone.set)
    thread = threading.Thread(target=writer.write, args=([{"type": "a", "x": "x" * 1_000_000}],))
    thread.start()
    assert os.read(incoming, 1) == b"{"  # it is writing, and far more than the pipe holds
    assert not writer.drain(0.2)
    os.close(incoming)
    assert gone.wait(10)
    thread.join(10)
    assert writer.drain(1)
    os.close(outgoing)


def test_the_callback_may_write() -> None:
    incoming, outgoing = os.pipe()
    os.close(incoming)
    writer = LineWriter(outgoing, CAP, wide_escapes=False, on_gone=lambda: writer.write([{"type": "late"}]))
    writer.write([{"type": "a"}])
    assert writer.gone
    os.close(outgoing)


CHILD = """
import os, sys
from yume_shim.host.writer import LineWriter
gone = []
writer = LineWriter(1, 98304, False, on_gone=lambda: gone.append(1))
taken = os.open(sys.argv[1], os.O_RDWR)
for n in range(100_000):
    writer.write([{"type": "n", "n": n}])
    if writer.gone:
        break
writer.write([{"type": "late"}])
sys.exit(20 + len(gone) if writer.gone else 0)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
@pytest.mark.parametrize("redirect", [">&-", "| :"])
def test_the_process_ends_silently(tmp_path: Any, redirect: str) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"")
    shell = f'{{ "$0" -c "$1" "$2"; echo $? >"$2.code"; }} {redirect}'
    ended = subprocess.run(
        ["sh", "-c", shell, sys.executable, CHILD, str(other)], check=False, capture_output=True, timeout=60
    )
    assert ended.stderr == b""
    assert (tmp_path / "other.code").read_text() == "21\n"
    assert other.read_bytes() == b""
