"""Writes are complete even if the writer is killed, and go only where the gate allowed."""

from __future__ import annotations

import os
import random
import signal
import stat
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from tests.helpers.fakes import cancel
from tests.helpers.tool_cases import ROOT, call, toolbox
from yume_shim.engine.toolbox import Toolbox
from yume_shim.tools.files import atomic_write
from yume_shim.types.blocks import ToolCall
from yume_shim.types.errors import ToolFailed
from yume_shim.types.outputs import ToolContext

if TYPE_CHECKING:
    from pathlib import Path

fcntl = pytest.importorskip("fcntl", reason="locks, modes and links are POSIX's own")
KILLS = 30
WRITER = """
import sys
from yume_shim.tools.files import atomic_write
path = sys.argv[1]
wholes = [bytes([65 + place]) * 200_000 for place in range(4)]
sys.stderr.write("ready")
sys.stderr.flush()
while True:
    for whole in wholes:
        atomic_write.write_file(atomic_write.write_target(path, "f", True), whole, "f")
"""


def put(path: Path, data: bytes) -> None:
    atomic_write.write_file(atomic_write.write_target(str(path), path.name, True), data, path.name)


@pytest.mark.slow
def test_killed_writers_leave_whole_files(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    path.write_bytes(b"A" * 200_000)
    path.chmod(0o640)
    chance = random.Random(7)
    leftovers = 0
    for _ in range(KILLS):
        writer = subprocess.Popen(
            [sys.executable, "-S", "-c", WRITER, str(path)],
            env={"PYTHONPATH": str(ROOT)},
            stderr=subprocess.PIPE,
        )
        assert writer.stderr is not None
        assert writer.stderr.read(5) == b"ready"
        time.sleep(chance.uniform(0.0, 0.04))  # any moment is a right one; that some hit a write is checked below
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stderr.close()
        data = path.read_bytes()
        assert (len(data), len(set(data)), stat.S_IMODE(path.stat().st_mode)) == (200_000, 1, 0o640)
        leftovers += len(os.listdir(tmp_path)) - 1
        put(path, data)
        assert os.listdir(tmp_path) == ["file.txt"]
    assert leftovers > 0, "no kill hit a write: the test proved nothing"


def test_a_leftover_is_cleaned_and_never_taken_over(tmp_path: Path) -> None:
    left = tmp_path / atomic_write.temporary_name("f")
    for make in (
        lambda: left.write_bytes(b"half"),
        lambda: left.symlink_to(tmp_path / "elsewhere"),
        lambda: os.link(tmp_path / "precious", left),
        lambda: os.mkfifo(left),
    ):
        (tmp_path / "precious").write_bytes(b"precious")
        make()
        put(tmp_path / "f", b"new")
        assert sorted(os.listdir(tmp_path)) == ["f", "precious"]
        assert ((tmp_path / "f").read_bytes(), (tmp_path / "precious").read_bytes()) == (b"new", b"precious")


def test_a_write_waits_for_another_writer(tmp_path: Path) -> None:
    temporary = tmp_path / atomic_write.temporary_name("f")
    other = os.open(temporary, os.O_WRONLY | os.O_CREAT)
    fcntl.flock(other, fcntl.LOCK_EX)

    def finish() -> None:
        os.replace(temporary, tmp_path / "f")
        os.close(other)

    timer = threading.Timer(0.2, finish)
    timer.start()
    put(tmp_path / "f", b"second")
    timer.join()
    assert ((tmp_path / "f").read_bytes(), os.listdir(tmp_path)) == (b"second", ["f"])


def test_another_writer_that_never_ends(tmp_path: Path) -> None:
    temporary = tmp_path / atomic_write.temporary_name("f")
    other = os.open(temporary, os.O_WRONLY | os.O_CREAT)
    try:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(ToolFailed, match=r"^EBUSY: another program is writing this file, open 'f'$"):
            put(tmp_path / "f", b"x")
    finally:
        os.close(other)


def test_a_very_long_name(tmp_path: Path) -> None:
    path = tmp_path / ("ü" * 127)
    put(path, b"x")
    put(path, b"y")
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"y", [path.name])


def test_a_folder_swapped_for_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "outside").mkdir()
    target = atomic_write.write_target(str(tmp_path / "ws" / "sub" / "f"), "f", True)
    (tmp_path / "ws" / "sub").symlink_to(tmp_path / "outside")
    with pytest.raises(ToolFailed, match=r"^(Refused: f led somewhere else|ENOTDIR|ELOOP)"):
        atomic_write.write_file(target, b"x", "f")
    assert os.listdir(tmp_path / "outside") == []


def test_a_folder_above_swapped_for_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "outside" / "sub").mkdir(parents=True)
    target = atomic_write.write_target(str(tmp_path / "ws" / "a" / "sub" / "f"), "f", True)
    (tmp_path / "ws" / "a").symlink_to(tmp_path / "outside")
    with pytest.raises(ToolFailed, match=r"^Refused: f led somewhere else"):
        atomic_write.write_file(target, b"x", "f")
    assert os.listdir(tmp_path / "outside" / "sub") == []


@pytest.mark.parametrize(
    ("tool", "more"),
    [
        ("Read", {}),
        ("Write", {"content": "x"}),
        ("Edit", {"old_string": "secret", "new_string": "x"}),
        ("MultiEdit", {"edits": [{"old_string": "secret", "new_string": "x"}]}),
    ],
)
@pytest.mark.parametrize("where", ["file", "folder"])
def test_a_path_swapped_after_the_permission_is_not_touched(
    tmp_path: Path, tool: str, more: dict[str, object], where: str
) -> None:
    workspace, outside = tmp_path / "ws", tmp_path / "outside"
    (workspace / "sub").mkdir(parents=True)
    outside.mkdir()
    (workspace / "sub" / "f").write_bytes(b"mine")
    (outside / "f").write_bytes(b"secret")
    tools = toolbox(workspace, tmp_path / "scratch", add_dirs=(str(outside),))
    box = Toolbox((tools,))
    prepared = box.prepare(box.complete(ToolCall("1", tool, {"file_path": "sub/f", **more})))
    if where == "file":
        (workspace / "sub" / "f").unlink()
        (workspace / "sub" / "f").symlink_to(outside / "f")
    else:
        (workspace / "sub").rename(workspace / "old")
        (workspace / "sub").symlink_to(outside)
    with pytest.raises(ToolFailed, match=r"led somewhere else when permission for it was given\.$"):
        box.run(prepared, ToolContext("1", cancel()))
    assert (outside / "f").read_bytes() == b"secret"


def test_an_unchanged_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x\n")
    (tmp_path / "l").symlink_to("f")
    tools = toolbox(tmp_path, tmp_path / "scratch")
    assert call(tools, "Read", {"file_path": "l"}).content == "1\tx\n2\t"
