"""Files that a hostile workspace prepared are read without waiting and up to a limit."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from yume_shim.disk.bounded import is_absent, open_regular, read_start, read_text, read_whole

if TYPE_CHECKING:
    from pathlib import Path


def test_a_regular_file_up_to_the_limit(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"12345")
    (tmp_path / "l").symlink_to("f")
    assert read_whole(str(tmp_path / "l"), 5) == b"12345"
    assert read_start(str(tmp_path / "f"), 3) == b"123"
    with pytest.raises(OSError, match="longer than 4 bytes"):
        read_whole(str(tmp_path / "f"), 4)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_text_of_editors_on_windows(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "f").write_bytes('{"a": "gr\xfcn"}\r\n'.encode(encoding))
    assert read_text(str(tmp_path / "f"), 99) == '{"a": "gr\xfcn"}\r\n'.encode()
    (tmp_path / "f").write_bytes(b"\xff\xfe{")
    assert read_text(str(tmp_path / "f"), 99) == "\ufffd".encode()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
@pytest.mark.parametrize("name", ["pipe", "link to pipe", "zero", "folder", "terminal"])
def test_anything_else_is_refused_at_once(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link to pipe").symlink_to("pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "terminal").symlink_to("/dev/ptmx")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="not a regular file"):
        open_regular(str(tmp_path / name))


def test_absence_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"")
    for name, absent in (("none", True), ("f/x", True), (".", False)):
        with pytest.raises(OSError, match=r".") as caught:
            read_whole(str(tmp_path / name), 9)
        assert is_absent(caught.value) is absent


@pytest.mark.skipif(os.name == "nt" or not os.path.isdir("/dev/fd"), reason="no /dev/fd here")
def test_a_pipe_of_the_shell_may_be_read_where_a_person_named_it() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"{}")
    os.close(writer)
    try:
        assert read_whole(f"/dev/fd/{reader}", 9, pipes=True) == b"{}"
        with pytest.raises(OSError, match="not a regular file"):
            read_whole(f"/dev/fd/{reader}", 9)
    finally:
        os.close(reader)
