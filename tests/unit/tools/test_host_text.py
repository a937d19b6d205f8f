"""Files through the host: its text counts, encodings stay on disk, a path that moved is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from yume_shim.engine.cancel import CancelSignal
from yume_shim.tools.files.atomic_write import write_target
from yume_shim.tools.files.host_text import current_data, write_through
from yume_shim.types.errors import ToolFailed

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.types.ports import Cancel


class Buffers:
    """A host with open files."""

    def __init__(self, texts: dict[str, str], *, saves: bool = True) -> None:
        self.texts, self.saves = texts, saves

    def read(self, path: str, cancel: Cancel) -> str | None:
        return self.texts.get(path)

    def write(self, path: str, text: str, cancel: Cancel) -> bool:
        self.texts[path] = text
        if self.saves:
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(text)
        return path.endswith(".txt")


def test_the_hosts_text_counts_for_plain_files(tmp_path: Path) -> None:
    host, cancel = Buffers({"/a": "unsaved"}), CancelSignal()
    assert current_data(b"saved", "/a", host, cancel) == b"unsaved"
    assert current_data(b"saved", "/b", host, cancel) == b"saved"
    assert current_data(b"\xff\xfea\0", "/a", host, cancel) == b"\xff\xfea\0"
    assert current_data(b"\xe9", "/a", host, cancel) == b"\xe9"


def test_what_the_host_does_not_write_is_written_to_disk(tmp_path: Path) -> None:
    host, cancel = Buffers({}), CancelSignal()
    written, other = tmp_path / "a.txt", tmp_path / "a.py"
    facts = write_through(write_target(str(written), "a.txt", True), b"one\r\n", "a.txt", host, cancel)
    assert facts is not None
    assert (facts.st_size, written.read_bytes()) == (5, b"one\r\n")
    assert write_through(write_target(str(other), "a.py", True), b"one", "a.py", host, cancel) is None
    assert write_through(write_target(str(written), "a.txt", True), b"\xe9", "a.txt", host, cancel) is None


def test_a_lost_write_and_a_moved_path_are_failures(tmp_path: Path) -> None:
    cancel = CancelSignal()
    target = write_target(str(tmp_path / "b.txt"), "b.txt", True)
    with pytest.raises(ToolFailed, match="no such file"):
        write_through(target, b"x", "b.txt", Buffers({}, saves=False), cancel)
    (tmp_path / "b.txt").symlink_to("/etc/hosts")
    host = Buffers({})
    with pytest.raises(ToolFailed, match="led somewhere else"):
        write_through(target, b"x", "b.txt", host, cancel)
    assert host.texts == {}
