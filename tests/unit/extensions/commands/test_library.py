"""Commands and skills in files: names, frontmatter, which of two wins, changes, and what a hostile folder prepares."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from yume_shim.extensions.commands import files as files_module
from yume_shim.extensions.commands.library import PromptLibrary
from yume_shim.types.prompt_files import PromptFile, PromptFolder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from yume_shim.types.prompt_files import PromptKind


class Shelf:
    """A folder of a project with commands and skills, and what was logged."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.logged: list[str] = []

    def write(self, name: str, text: str) -> str:
        path = self.base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return str(path)

    def folder(self, name: str, kind: PromptKind, **more: object) -> PromptFolder:
        return PromptFolder(str(self.base / name), kind, "project", inside=str(self.base), **more)  # type: ignore[arg-type]

    def library(self, *folders: PromptFolder, hidden: Callable[[str], bool] = lambda path: False) -> PromptLibrary:
        both = (self.folder("skills", "skill"), self.folder("commands", "command"))
        return PromptLibrary(folders or both, hidden, lambda level, text: self.logged.append(text))


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "project")


def names(library: PromptLibrary) -> list[str]:
    return [file.name for file in library.all()]


def test_every_field_of_a_skill_is_read(shelf: Shelf) -> None:
    header = """\
name: Greeter
description: Greets
when_to_use: when somebody comes
argument-hint: <who> [how]
arguments: [who, how]
allowed-tools: Bash(echo:*), Read
model: haiku
context: fork
agent: Explore
disable-model-invocation: true
user-invocable: false
"""
    path = shelf.write("skills/greet/SKILL.md", f"---\n{header}---\nHello $who\n")
    where = shelf.folder("skills", "skill")
    assert shelf.library(where).all() == (
        PromptFile(
            name="greet",
            body="Hello $who\n",
            where=where,
            folder=os.path.dirname(path),
            title="Greeter",
            description="Greets - when somebody comes",
            hint="<who> [how]",
            arguments=("who", "how"),
            allowed_tools=("Bash(echo:*)", "Read"),
            model="haiku",
            fork=True,
            agent="Explore",
            for_model=False,
            for_user=False,
        ),
    )
    assert shelf.logged == []


def test_a_command_without_frontmatter_is_described_by_its_first_line(shelf: Shelf) -> None:
    shelf.write("commands/plain.md", "\n# Do it\n\nmore")
    [file] = shelf.library().all()
    assert (file.description, file.described, file.folder, file.body) == ("Do it", False, "", "\n# Do it\n\nmore")


def test_names_come_from_folders_and_plugins(shelf: Shelf) -> None:
    shelf.write("commands/b.md", "B")
    shelf.write("commands/sub/deep/a.md", "A")
    shelf.write("commands/.hidden.md", "no")
    shelf.write("commands/notes.txt", "no")
    shelf.write("skills/z/SKILL.md", "Z")
    shelf.write("skills/README.md", "no")
    assert names(shelf.library()) == ["z", "b", "sub:deep:a"]
    kit = {"plugin": "kit", "plugin_root": str(shelf.base)}
    one_file = PromptFolder(str(shelf.base / "commands" / "b.md"), "command", "plugin", str(shelf.base), **kit)  # type: ignore[arg-type]
    one_skill = PromptFolder(str(shelf.base / "skills" / "z"), "skill", "plugin", str(shelf.base), **kit)  # type: ignore[arg-type]
    library = shelf.library(one_skill, one_file)
    assert names(library) == ["kit:z", "kit:b"]
    assert library.find("z") == library.find("kit:z")  # a skill, as in the Claude CLI
    assert library.find("b") is None  # not a command


def test_the_first_folder_wins_a_name_and_titles_are_names_too(shelf: Shelf) -> None:
    shelf.write("one/x.md", "one")
    shelf.write("two/x.md", "two")
    shelf.write(
        "skills/s/SKILL.md", "---\nname: other\n---\nS ${CLAUDE_SKILL_DIR} ${CLAUDE_SESSION_ID} ${CLAUDE_PLUGIN_ROOT}"
    )
    library = shelf.library(
        shelf.folder("one", "command"), shelf.folder("two", "command"), shelf.folder("skills", "skill")
    )
    library.session_id = lambda: "session-1"
    assert [file.body for file in library.all()][1:] == ["one"]
    found = library.find("other")
    assert found is not None
    assert found.body == f"S {os.path.join(shelf.base, 'skills', 's')} session-1 ${{CLAUDE_PLUGIN_ROOT}}"
    assert library.find("nothing") is None
    assert library.find("") is None


def test_what_a_host_is_told(shelf: Shelf) -> None:
    shelf.write("commands/shout.md", "---\ndescription: Shouts\nargument-hint: [word] [more]\n---\nX")
    shelf.write("skills/s/SKILL.md", "---\nname: other\ndescription: Does\n---\nS")
    shelf.write("skills/internal/SKILL.md", "---\ndescription: d\nuser-invocable: no\n---\nS")
    assert shelf.library().listed() == (
        {"name": "other", "description": "Does (project)", "argumentHint": "", "aliases": ["s"]},
        {"name": "shout", "description": "Shouts (project)", "argumentHint": "[word] [more]"},
    )


def test_changes_are_noticed(shelf: Shelf) -> None:
    path = shelf.write("commands/a.md", "one")
    library = shelf.library()
    assert not library.refresh()
    shelf.write("commands/b.md", "new")
    assert library.refresh()
    assert names(library) == ["a", "b"]
    os.utime(path, ns=(1, 1))
    assert not library.refresh()  # touched, but it says the same
    os.remove(path)
    assert library.refresh()
    assert names(library) == ["b"]


def test_settings_narrow_how_skills_are_offered(shelf: Shelf) -> None:
    for name in ("a", "b", "c", "d"):
        shelf.write(f"skills/{name}/SKILL.md", "---\ndescription: D\n---\nX")
    how = {"a": "off", "b": "name-only", "c": "user-invocable-only", "d": "on"}
    library = PromptLibrary((shelf.folder("skills", "skill"),), lambda path: False, print, how)
    found = [(file.name, file.description, file.for_model) for file in library.all()]
    assert found == [("b", "", True), ("c", "D", False), ("d", "D", True)]


# ---------------------------------------------------------------- hostile folders


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of POSIX")
def test_a_file_outside_of_the_project_is_not_read(shelf: Shelf, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("KEY")
    shelf.write("commands/ok.md", "ok")
    (shelf.base / "commands" / "leak.md").symlink_to(secret)
    (shelf.base / "skills").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "SKILL.md").write_text("KEY")
    (shelf.base / "skills" / "leak").symlink_to(tmp_path / "elsewhere")
    assert names(shelf.library()) == ["ok"]
    assert len(shelf.logged) == 2
    assert all("it leads out of" in text for text in shelf.logged)


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of POSIX")
def test_pipes_loops_and_long_files_are_left_out(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files_module, "MAX_FILE_BYTES", 100)
    shelf.write("commands/ok.md", "ok")
    shelf.write("commands/long.md", "x" * 101)
    shelf.write("commands/two words.md", "x")
    os.mkfifo(shelf.base / "commands" / "pipe.md")
    (shelf.base / "commands" / "loop.md").symlink_to("loop.md")
    (shelf.base / "commands" / "round").symlink_to(shelf.base / "commands")
    (shelf.base / "commands" / "folder.md").mkdir()
    assert names(shelf.library()) == ["ok"]
    assert len(shelf.logged) >= 3


def test_a_file_that_a_rule_hides_is_left_out(shelf: Shelf) -> None:
    shelf.write("commands/a.md", "A")
    hidden = shelf.write("commands/b.md", "B")
    assert names(shelf.library(hidden=lambda path: path == hidden)) == ["a"]
    assert shelf.logged == [f"{hidden} is left out: a permission rule denies reading it"]


def test_the_number_of_files_is_bounded(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files_module, "MAX_FILES", 3)
    for number in range(6):
        shelf.write(f"commands/c{number}.md", "x")
    assert names(shelf.library()) == ["c0", "c1", "c2"]
    assert "has more than 3 commands" in shelf.logged[0]
