"""stderr lines: one per message, clean, never blocking."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from typing import TYPE_CHECKING

import pytest

from yume_shim.host.log import MAX_LINE_BYTES, Log
from yume_shim.text.log_entry import log_entry

if TYPE_CHECKING:
    from pathlib import Path


def logged(log: Log, incoming: int, outgoing: int) -> bytes:
    os.close(outgoing)
    data = b""
    while part := os.read(incoming, 65_536):
        data += part
    os.close(incoming)
    return data


def test_lines_and_levels() -> None:
    incoming, outgoing = os.pipe()
    log = Log("openai", "info", stream_fd=outgoing)
    for level in ("debug", "info", "warning", "error", "strange"):
        log(level, f"a {level}")
    log("error", "later é")
    assert logged(log, incoming, outgoing).decode() == (
        "yume-shim[openai] info a info\nyume-shim[openai] warning a warning\nyume-shim[openai] error a error\n"
        "yume-shim[openai] strange a strange\nyume-shim[openai] error later é\n"
    )


def test_an_unknown_level_means_warning() -> None:
    incoming, outgoing = os.pipe()
    log = Log("x", "loud", stream_fd=outgoing)
    log("info", "no")
    log("warning", "yes")
    assert logged(log, incoming, outgoing) == b"yume-shim[x] warning yes\n"


def test_messages_are_one_line_and_harmless() -> None:
    incoming, outgoing = os.pipe()
    log = Log("x", stream_fd=outgoing)
    log("error", "two\nlines\r\x1b[31m \u2028 \ud800 ü")
    assert logged(log, incoming, outgoing).decode() == "yume-shim[x] error two\\nlines\\r\\x1b[31m \\u2028 \\ud800 ü\n"


def test_secrets_are_redacted_even_when_learnt_late() -> None:
    incoming, outgoing = os.pipe()
    secrets: list[str] = []
    log = Log("x", secrets=secrets, stream_fd=outgoing)
    secrets.append("my-local-key")
    log("error", "sent my-local-key and sk-" + "ant-" + "a1" * 20)
    assert logged(log, incoming, outgoing) == b"yume-shim[x] error sent [redacted] and [redacted]\n"


def test_long_messages_are_cut() -> None:
    incoming, outgoing = os.pipe()
    log = Log("x", stream_fd=outgoing)
    log("error", "é" * 10_000)
    data = logged(log, incoming, outgoing)
    assert len(data) <= MAX_LINE_BYTES
    assert data.decode().endswith("éé…\n")


def test_a_closed_stderr() -> None:
    incoming, outgoing = os.pipe()
    log = Log("x", stream_fd=outgoing)
    os.close(incoming)
    log("error", "to no reader")
    os.close(outgoing)
    log("error", "to a closed file")
    Log("x", stream_fd=outgoing)("error", "to a file that never was")


@pytest.mark.skipif(sys.platform == "win32", reason="pipes cannot be asked for room")
def test_a_full_pipe_does_not_stop_us() -> None:
    incoming, outgoing = os.pipe()
    log = Log("x", stream_fd=outgoing)
    started = time.monotonic()
    for _ in range(200):
        log("error", "y" * 3_000)
    assert time.monotonic() - started < 10
    data = logged(log, incoming, outgoing)
    assert 10 < data.count(b"\n") < 200
    assert {len(line) for line in data.splitlines()} == {len("yume-shim[x] error ") + 3_000}


def test_debug_file_gets_everything(tmp_path: Path) -> None:
    path = tmp_path / "debug.log"
    incoming, outgoing = os.pipe()
    log = Log("x", stream_fd=outgoing, debug_file=str(path))
    log("debug", "quiet")
    log("error", "loud")
    assert logged(log, incoming, outgoing) == b"yume-shim[x] error loud\n"
    lines = path.read_text().splitlines()
    stamp = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z "
    assert [re.sub(stamp, "", line) for line in lines] == ["yume-shim[x] debug quiet", "yume-shim[x] error loud"]
    assert all(re.match(stamp, line) for line in lines)
    if sys.platform != "win32":
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_debug_file_that_cannot_be_written_is_reported_once(tmp_path: Path) -> None:
    incoming, outgoing = os.pipe()
    log = Log("x", stream_fd=outgoing, debug_file=str(tmp_path / "no" / "where"))
    log("debug", "quiet")
    log("error", "loud")
    lines = logged(log, incoming, outgoing).decode().splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("yume-shim[x] warning cannot write the debug file")
    assert lines[1] == "yume-shim[x] error loud"


def test_json_lines_carry_fields_are_redacted_and_never_too_long() -> None:
    incoming, outgoing = os.pipe()
    log = Log("x", "debug", secrets=["my-local-key"], stream_fd=outgoing, as_json=True)
    log("info", "plain\n my-local-key")
    log("debug", log_entry("request", status=400, model="", shape={"my-local-key": ["a my-local-key"]}))
    log("debug", log_entry("request", long="\U0001f600" * MAX_LINE_BYTES))
    data = logged(log, incoming, outgoing)
    lines = [json.loads(line) for line in data.splitlines()]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line.pop("time")) for line in lines)
    assert lines[:2] == [
        {"level": "info", "provider": "x", "message": "plain\\n [redacted]"},
        {
            "level": "debug",
            "provider": "x",
            "message": "request",
            "status": 400,
            "shape": {"[redacted]": ["a [redacted]"]},
        },
    ]
    assert lines[2]["clipped"] is True
    assert max(map(len, data.splitlines())) < MAX_LINE_BYTES


def test_an_entry_as_text() -> None:
    entry = log_entry("retry", decision="give up", status=400, gone=None, ids=["a", "b"])
    assert entry == 'retry decision="give up" status=400 ids=["a","b"]'
