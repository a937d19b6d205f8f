"""Standing instructions from real files."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from yume_shim.context.memory_files import INTRODUCTION, MAX_FILE_BYTES, MAX_FILES, MAX_TOTAL_BYTES, load_memory


class Place:
    """A home and a project below it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.config = root / "home" / ".claude"
        self.cwd = root / "home" / "project"
        self.config.mkdir(parents=True)
        self.cwd.mkdir()

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def load(self, **more: Any) -> str:
        return load_memory(str(self.cwd), str(self.config), **more)

    def sections(self, **more: Any) -> list[tuple[str, str]]:
        """(path below the root, text) of what was loaded, in order."""
        note = self.load(**more)
        found: list[tuple[str, str]] = []
        for section in note.split(f"\n\n{self.root}{os.sep}")[1:]:
            head, text = section.split("\n\n", 1)
            found.append((Path(head.split(" (")[0]).as_posix(), text.removesuffix("\n</system-reminder>")))
        return found


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_no_files_give_no_note(place: Place) -> None:
    assert place.load() == ""
    place.write("home/project/CLAUDE.md", " \n")
    assert place.load() == ""


def test_the_whole_note(place: Place) -> None:
    mine = place.write("home/.claude/CLAUDE.md", "Be kind.\n")
    ours = place.write("home/project/CLAUDE.md", "Use tabs.\n")
    assert place.load() == (
        f"<system-reminder>\n{INTRODUCTION}\n"
        f"\n{mine} (the user's, for all projects):\n\nBe kind.\n"
        f"\n{ours} (the project's):\n\nUse tabs.\n"
        "</system-reminder>"
    )


def test_files_are_read_from_the_root_to_the_working_directory(place: Place) -> None:
    place.write("CLAUDE.md", "root")
    place.write("home/.claude/CLAUDE.md", "user")
    place.write("home/CLAUDE.md", "parent")
    place.write("home/project/CLAUDE.local.md", "local")
    place.write("home/project/.claude/CLAUDE.md", "inner")
    place.write("home/project/CLAUDE.md", "project")
    assert [text for _, text in place.sections()] == ["user", "root", "parent", "project", "inner", "local"]


def test_an_agents_file_counts_only_without_a_claude_file(place: Place) -> None:
    place.write("home/AGENTS.md", "alone")
    place.write("home/project/AGENTS.md", "not alone")
    place.write("home/project/CLAUDE.md", "project")
    assert [text for _, text in place.sections()] == ["alone", "project"]
    place.write("AGENTS.md", "beside a local file")
    place.write("CLAUDE.local.md", "local")
    assert [text for _, text in place.sections()] == ["beside a local file", "local", "alone", "project"]


@pytest.mark.parametrize(
    ("sources", "texts"),
    [
        (("user",), ["user"]),
        (("project",), ["project"]),
        (("local",), ["local"]),
        ((), []),
        (("project", "local"), ["project", "local"]),
    ],
)
def test_sources(place: Place, sources: tuple[str, ...], texts: list[str]) -> None:
    place.write("home/.claude/CLAUDE.md", "user")
    place.write("home/project/CLAUDE.md", "project")
    place.write("home/project/CLAUDE.local.md", "local")
    assert [text for _, text in place.sections(sources=sources)] == texts


def test_imports_follow_their_file(place: Place) -> None:
    place.write(
        "home/project/CLAUDE.md", "See @docs/style.md, and\n@docs/a\\ b.md (also @nothing.md and me@example.org)."
    )
    place.write("home/project/docs/style.md", "style; more in @deep/x.md")
    place.write("home/project/docs/deep/x.md", "deep")
    place.write("home/project/docs/a b.md", "spaced")
    place.write("home/project/example.org", "not this one")
    assert [path for path, _ in place.sections()] == [
        "home/project/CLAUDE.md",
        "home/project/docs/style.md",
        "home/project/docs/deep/x.md",
        "home/project/docs/a b.md",
    ]
    assert "(the project's; imported by CLAUDE.md):" in place.load()


@pytest.mark.parametrize(
    "text",
    [
        "`@x.md`",
        "``a ` @x.md ``",
        "```\n@x.md\n```",
        "~~~ sh\n@x.md\n~~~\n",
        "````\n```\n@x.md\n```\n````",
        "```\n@x.md",
        "a@x.md",
        "@",
        "@.",
        "@..",
    ],
)
def test_code_and_ordinary_words_import_nothing(place: Place, text: str) -> None:
    place.write("home/project/CLAUDE.md", text)
    place.write("home/project/x.md", "imported")
    assert len(place.sections()) == 1


@pytest.mark.parametrize("text", ["@x.md", "see @./x.md.", "- @x.md", "`code` @x.md `code`", "```\ncode\n```\n@x.md"])
def test_outside_of_code_it_is_imported(place: Place, text: str) -> None:
    place.write("home/project/CLAUDE.md", text)
    place.write("home/project/x.md", "imported")
    assert [text for _, text in place.sections()][1:] == ["imported"]


def test_cycles_are_read_once(place: Place) -> None:
    place.write("home/project/CLAUDE.md", "@a.md @CLAUDE.md")
    place.write("home/project/a.md", "@b.md")
    place.write("home/project/b.md", "@a.md @CLAUDE.md")
    assert len(place.sections()) == 3


def test_imports_have_a_depth_limit(place: Place) -> None:
    place.write("home/project/CLAUDE.md", "@1.md")
    for step in range(1, 9):
        place.write(f"home/project/{step}.md", f"@{step + 1}.md")
    assert [path for path, _ in place.sections()][-1] == "home/project/5.md"


def test_a_project_imports_only_its_own_files(place: Place) -> None:
    secret = place.write("home/secret.txt", "key")
    place.write("home/project/CLAUDE.md", f"@../secret.txt @{secret} @link.txt")
    place.write("home/project/CLAUDE.local.md", "@../secret.txt")
    if sys.platform != "win32":
        (place.cwd / "link.txt").symlink_to(secret)
        (place.cwd / "AGENTS.md").symlink_to(secret)
    assert [path for path, _ in place.sections()] == ["home/project/CLAUDE.md", "home/project/CLAUDE.local.md"]


def test_a_repository_is_one_project(place: Place) -> None:
    (place.root / "home" / ".git").mkdir()
    place.write("home/shared.md", "shared")
    place.write("outside.md", "outside")
    place.write("home/project/CLAUDE.md", "@../shared.md @../../outside.md")
    assert [path for path, _ in place.sections()] == ["home/project/CLAUDE.md", "home/shared.md"]


def test_the_user_imports_from_anywhere(place: Place) -> None:
    other = place.write("elsewhere/rules.md", "rules")
    place.write("home/.claude/CLAUDE.md", f"@{other} @mine.md")
    place.write("home/.claude/mine.md", "mine")
    assert [text for _, text in place.sections()][1:] == ["rules", "mine"]


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need rights there")
def test_the_same_file_by_two_names_is_read_once(place: Place) -> None:
    place.write("home/project/AGENTS.md", "rules")
    (place.cwd / "CLAUDE.md").symlink_to("AGENTS.md")
    place.write("home/project/.claude/CLAUDE.md", "@../AGENTS.md")
    assert [text for _, text in place.sections()] == ["rules", "@../AGENTS.md"]


def test_long_files_are_cut(place: Place) -> None:
    place.write("home/project/CLAUDE.md", "x" * MAX_FILE_BYTES + "y")
    ((_, text),) = place.sections()
    assert text == "x" * MAX_FILE_BYTES + f"\n[cut: the file is longer than {MAX_FILE_BYTES} bytes]"


def test_all_files_together_have_a_limit(place: Place) -> None:
    place.write("home/project/CLAUDE.md", " ".join(f"@{number}.md" for number in range(MAX_FILES + 5)))
    for number in range(MAX_FILES + 5):
        place.write(f"home/project/{number}.md", "short")
    assert len(place.sections()) <= MAX_FILES
    for number in range(10):
        place.write(f"home/project/{number}.md", "x" * MAX_FILE_BYTES)
    assert len(place.load()) < MAX_TOTAL_BYTES + 20_000


def test_files_that_cannot_be_read_are_ignored(place: Place) -> None:
    place.write("home/project/CLAUDE.md", "ok @binary.md @folder @bad.md")
    (place.cwd / "binary.md").write_bytes(b"PK\0\1")
    (place.cwd / "folder").mkdir()
    (place.cwd / "bad.md").write_bytes("\ufeffGr\xfc\xdfe".encode("utf-8") + b"\xff")
    (place.cwd / "CLAUDE.local.md").mkdir()
    assert [text for _, text in place.sections()] == ["ok @binary.md @folder @bad.md", "Gr\xfc\xdfe\ufffd"]
    assert load_memory(str(place.cwd / "gone" / "deeper"), str(place.root / "nowhere")) == place.load()


@pytest.mark.skipif(sys.platform == "win32", reason="no named pipes in folders there")
def test_a_pipe_does_not_block(place: Place) -> None:
    os.mkfifo(place.cwd / "CLAUDE.md")
    place.write("home/project/CLAUDE.local.md", "@pipe")
    os.mkfifo(place.cwd / "pipe")
    done: list[str] = []
    thread = threading.Thread(target=lambda: done.append(place.load()), daemon=True)
    thread.start()
    thread.join(5)
    assert len(done) == 1


def test_it_is_quick(place: Place) -> None:
    """Long lines of backticks and fences do not slow down the patterns."""
    place.write("home/project/CLAUDE.md", ("`" * 3 + "\n") * 3_000 + "`a " * 20_000 + "@x.md")
    done: list[str] = []
    thread = threading.Thread(target=lambda: done.append(place.load()), daemon=True)
    thread.start()
    thread.join(10)
    assert len(done) == 1
