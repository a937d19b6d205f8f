"""File checkpoints: kept once per prompt, rewound to any prompt, also by the next process."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from yume_shim.tools.files.checkpoints import MAX_FILE_BYTES, Checkpoints
from yume_shim.types.errors import ToolFailed

if TYPE_CHECKING:
    from pathlib import Path


class Files:
    """A workspace with a checkpoint folder beside it."""

    def __init__(self, base: Path) -> None:
        self.space = base / "ws"
        self.space.mkdir()
        self.kept = base / "kept"
        self.told: list[str] = []
        self.points = self.open()

    def open(self) -> Checkpoints:
        return Checkpoints(str(self.kept), self.put, lambda level, text: self.told.append(text))

    @staticmethod
    def put(path: str, data: bytes) -> None:
        with open(path, "wb") as file:
            file.write(data)

    def change(self, name: str, text: str) -> str:
        path = str(self.space / name)
        self.points.keep(path)
        self.put(path, text.encode())
        return path

    def read(self, name: str) -> str | None:
        path = self.space / name
        return path.read_text() if path.exists() else None


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_back_to_any_prompt(files: Files) -> None:
    (files.space / "a").write_text("one\n")
    files.points.begin("p1")
    a = files.change("a", "two\n")
    files.change("a", "three\n")
    files.points.begin("p2")
    files.change("a", "four\nfive\n")
    b = files.change("b", "new\n")
    planned = files.points.rewind("p2", dry_run=True)
    assert planned == {"canRewind": True, "filesChanged": [a, b], "insertions": 1, "deletions": 3}
    assert files.read("b") == "new\n"
    assert files.points.rewind("p2", dry_run=False) == planned
    assert (files.read("a"), files.read("b")) == ("three\n", None)
    assert files.points.rewind("p1", dry_run=False)["filesChanged"] == [a]
    assert files.read("a") == "one\n"
    assert files.points.rewind("p1", dry_run=False)["filesChanged"] == []


def test_the_next_process_can_rewind_too(files: Files) -> None:
    files.points.begin("p1")
    files.change("a", "x")
    with open(files.kept / "checkpoints.jsonl", "ab") as file:
        file.write(b'{"prompt": "torn')
    again = files.open()
    again.begin("p2")  # after half a line
    assert files.open().rewind("p2", dry_run=True)["filesChanged"] == []
    assert len(again.rewind("p1", dry_run=False)["filesChanged"]) == 1
    assert files.read("a") is None
    assert files.told == []


def test_unknown_prompts(files: Files) -> None:
    with pytest.raises(ToolFailed, match="No file checkpoint"):
        files.points.rewind("never", dry_run=True)


def test_nothing_is_kept_before_the_first_prompt(files: Files) -> None:
    files.change("a", "x")
    assert not files.kept.exists()


def test_links_and_large_files_are_left_alone(files: Files) -> None:
    (files.space / "big").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    files.points.begin("p1")
    files.change("big", "small")
    link = files.change("link", "text")
    (files.space / "link").unlink()
    (files.space / "link").symlink_to("elsewhere")
    assert files.points.rewind("p1", dry_run=False) == {
        "canRewind": True,
        "filesChanged": [],
        "insertions": 0,
        "deletions": 0,
        "skippedLinks": [link],
    }
    assert files.read("big") == "small"


@pytest.mark.skipif(sys.platform == "win32", reason="file modes are those of POSIX")
def test_backups_are_private(files: Files) -> None:
    (files.space / "a").write_text("secret")
    files.points.begin("p1")
    files.change("a", "x")
    assert files.kept.stat().st_mode & 0o077 == 0
    assert all(entry.stat().st_mode & 0o077 == 0 for entry in files.kept.iterdir())
