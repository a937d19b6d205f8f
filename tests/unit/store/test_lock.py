"""One writer per session, with real processes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from yume_shim.store.lock import InUse, hold
from yume_shim.text.codec import loads

if TYPE_CHECKING:
    from pathlib import Path

SINCE = "2026-01-02T03:04:05.000Z"
HOLDER = """
import sys, time
from yume_shim.store.lock import hold
lock = hold(sys.argv[1], now=lambda: "2026-01-02T03:04:05.000Z")
sys.stdout.write("held\\n"); sys.stdout.flush()
time.sleep(float(sys.argv[2]))
lock.release()
"""


def other_process(transcript: Path, seconds: float) -> subprocess.Popen[str]:
    """Another process that holds the lock for a while."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(transcript), str(seconds)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def finish(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_the_lock_file_names_its_owner_and_is_removed(tmp_path: Path) -> None:
    lock = hold(str(tmp_path / "s.jsonl"), now=lambda: SINCE)
    assert lock is not None
    assert loads((tmp_path / "s.lock").read_bytes()) == {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "since": SINCE,
    }
    if os.name == "posix":
        assert (tmp_path / "s.lock").stat().st_mode & 0o777 == 0o600
    lock.release()
    lock.release()
    assert list(tmp_path.iterdir()) == []


def test_a_second_writer_learns_who_the_first_is(tmp_path: Path) -> None:
    process = other_process(tmp_path / "s.jsonl", 60)
    try:
        with pytest.raises(InUse) as raised:
            hold(str(tmp_path / "s.jsonl"), wait=0.2, now=lambda: SINCE)
    finally:
        finish(process)
    assert str(raised.value) == f"process {process.pid} on {socket.gethostname()} since {SINCE}"


def test_a_second_writer_waits_for_one_that_is_about_to_exit(tmp_path: Path) -> None:
    process = other_process(tmp_path / "s.jsonl", 0.3)
    lock = hold(str(tmp_path / "s.jsonl"), wait=30, now=lambda: SINCE)
    process.communicate()
    assert lock is not None
    lock.release()


def test_the_lock_file_of_a_killed_writer_is_reused(tmp_path: Path) -> None:
    process = other_process(tmp_path / "s.jsonl", 60)
    process.send_signal(signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)
    process.communicate()
    assert (tmp_path / "s.lock").exists()
    lock = hold(str(tmp_path / "s.jsonl"), wait=0, now=lambda: SINCE)
    assert lock is not None
    assert loads((tmp_path / "s.lock").read_bytes())["pid"] == os.getpid()
    lock.release()


def test_a_missing_folder_gives_no_lock(tmp_path: Path) -> None:
    assert hold(str(tmp_path / "missing" / "s.jsonl"), now=lambda: SINCE) is None


def test_an_invalid_lock_file_names_no_owner(tmp_path: Path) -> None:
    process = other_process(tmp_path / "s.jsonl", 60)
    (tmp_path / "s.lock").write_bytes(b"[]")
    try:
        with pytest.raises(InUse, match=r"^another process$"):
            hold(str(tmp_path / "s.jsonl"), wait=0, now=lambda: SINCE)
    finally:
        finish(process)
