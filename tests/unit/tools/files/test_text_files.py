"""Encodings that survive an edit, complete writes, links that are not followed."""

from __future__ import annotations

import os
import stat
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from tests.helpers.fakes import cancel
from yume_shim.tools.files import atomic_write, text_files
from yume_shim.types.errors import Cancelled, ToolFailed

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("data", "decoded"),
    [
        (b"", text_files.Decoded("")),
        ("grün\n".encode(), text_files.Decoded("grün\n")),
        (b"\xef\xbb\xbfx", text_files.Decoded("x", "utf-8", b"\xef\xbb\xbf")),
        ("\ufeffgrün".encode("utf-16-le"), text_files.Decoded("grün", "utf-16-le", b"\xff\xfe")),
        ("\ufeffgrün".encode("utf-16-be"), text_files.Decoded("grün", "utf-16-be", b"\xfe\xff")),
        (b"gr\xfcn", text_files.Decoded("grün", "latin-1")),
        ("grün ä".encode() + b"\xff", text_files.Decoded("grün ä\udcff")),
        (bytes(range(1, 256)), text_files.Decoded(bytes(range(1, 256)).decode("latin-1"), "latin-1")),
    ],
)
def test_decoding_and_back(data: bytes, decoded: text_files.Decoded) -> None:
    assert text_files.decode(data) == decoded
    assert text_files.encode(decoded.text, decoded) == data


def test_what_an_encoding_cannot_hold() -> None:
    assert text_files.encode("ü€", text_files.Decoded("", "latin-1")) == "ü€".encode()
    assert text_files.encode("a\ud800b", text_files.Decoded("")) == "a\ufffdb".encode()
    assert text_files.encode("a\udcffb", text_files.Decoded("")) == b"a\xffb"


@pytest.mark.parametrize(("size", "text"), [(12, "12 bytes"), (1024, "1KB"), (580_000, "566.4KB"), (5 << 20, "5MB")])
def test_sizes(size: int, text: str) -> None:
    assert text_files.size_text(size) == text


def put(path: Path, data: bytes) -> None:
    atomic_write.write_file(atomic_write.write_target(str(path), path.name, True), data, path.name)


@pytest.mark.skipif(sys.platform == "win32", reason="file modes are those of POSIX")
def test_write_keeps_the_mode_and_leaves_nothing_beside(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_bytes(b"old")
    path.chmod(0o751)
    put(path, b"new")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode), os.listdir(tmp_path)) == (b"new", 0o751, ["run.sh"])


def test_a_new_file_gets_the_usual_mode(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    put(tmp_path / "deep" / "er" / "new", b"x")
    assert (tmp_path / "deep" / "er" / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.root
def test_write_keeps_the_owner(tmp_path: Path) -> None:
    path = tmp_path / "theirs"
    path.write_bytes(b"old")
    os.chown(path, 1234, 1235)
    put(path, b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 1235)


def test_other_hard_links_keep_the_old_content(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old and long")
    os.link(tmp_path / "a", tmp_path / "b")
    put(tmp_path / "a", b"new")
    assert ((tmp_path / "a").read_bytes(), (tmp_path / "b").read_bytes()) == (b"new", b"old and long")


def test_readers_never_see_half(tmp_path: Path) -> None:
    path = tmp_path / "big"
    wholes = (b"a" * 300_000, b"b" * 300_000)
    path.write_bytes(wholes[0])
    seen: set[bool] = set()
    over = threading.Event()

    def read() -> None:
        while not over.is_set():
            try:
                seen.add(path.read_bytes() in wholes)
            except PermissionError:  # Windows: in the moment in which it is replaced
                assert os.name == "nt"

    reader = threading.Thread(target=read)
    reader.start()
    for count in range(60):
        put(path, wholes[count % 2])
    over.set()
    reader.join()
    assert seen == {True}


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(ToolFailed, match=r"^(ENOTDIR|EEXIST): .*, open 'n'$"):
        put(tmp_path / "file" / "n", b"y")
    assert (tmp_path / "file").read_bytes() == b"x"


@pytest.mark.parametrize(
    ("target", "may_enter", "words"),
    [("nowhere", True, "leads nowhere"), ("../outside", False, "leaves the workspace"), (".", True, "EISDIR")],
)
def test_links_that_are_refused(tmp_path: Path, target: str, may_enter: bool, words: str) -> None:
    (tmp_path / "outside").write_bytes(b"x")
    (tmp_path / "ws").mkdir()
    link = tmp_path / "ws" / "l"
    link.symlink_to(target)
    with pytest.raises(ToolFailed, match=words):
        atomic_write.write_target(str(link), "l", may_enter)


def test_a_link_put_there_after_the_check_is_replaced_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"secret")
    target = atomic_write.write_target(str(tmp_path / "f"), "f", True)
    (tmp_path / "f").symlink_to(outside)
    atomic_write.write_file(target, b"mine", "f")
    assert (outside.read_bytes(), (tmp_path / "f").read_bytes(), (tmp_path / "f").is_symlink()) == (
        b"secret",
        b"mine",
        False,
    )


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no FIFOs here")
def test_a_fifo_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (str(tmp_path / "pipe"), "/dev/zero"):
        with pytest.raises(ToolFailed, match="Not a regular file"):
            text_files.open_file(path, "x", str(tmp_path))
    with pytest.raises(ToolFailed, match="Not a regular file"):
        atomic_write.write_target(str(tmp_path / "pipe"), "pipe", True)


@pytest.mark.skipif(sys.platform == "win32", reason="file modes are those of POSIX")
@pytest.mark.not_root
def test_unreadable(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x")
    (tmp_path / "x").chmod(0)
    with pytest.raises(ToolFailed, match=r"^EACCES: permission denied, open 'x'$"):
        text_files.open_file(str(tmp_path / "x"), "x", str(tmp_path))


def test_reading_can_be_cancelled(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x")
    stop = cancel()
    stop.set()
    with pytest.raises(Cancelled):
        text_files.read_whole(str(tmp_path / "x"), "x", str(tmp_path), stop)


def test_too_big_to_edit(tmp_path: Path) -> None:
    with open(tmp_path / "x", "wb") as file:
        file.truncate(text_files.MAX_TEXT_BYTES + 1)
    with pytest.raises(ToolFailed, match=r"too large to edit \(16MB, at most 16MB\)"):
        text_files.read_whole(str(tmp_path / "x"), "x", str(tmp_path), cancel())
