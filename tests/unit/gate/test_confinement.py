"""The ground of an allow: what the system must enforce on a command that was judged, and on none that a rule allows."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.gates import decide, gate
from tests.helpers.timing import SOON, wait_until
from yume_shim.gate.hidden_files import SETTLED_NS, HiddenFiles
from yume_shim.gate.paths import POSIX
from yume_shim.gate.rules import path_pattern

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.types.confinement import Confinement

pytestmark = pytest.mark.skipif(os.sep != "/", reason="POSIX paths")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work" / "sub").mkdir(parents=True)
    (tmp_path / "work" / "a.txt").write_text("a\n")
    return tmp_path / "work"


def ground(work: Path, command: str, mode: str = "default", **rules: Any) -> Confinement | None:
    decision = decide(gate(work, mode, allow_bypass=True, **rules), "Bash", command=command)
    assert decision.verdict == "allow", command
    return decision.confinement


@pytest.mark.parametrize("mode", ["default", "plan", "dontAsk", "acceptEdits"])
def test_a_judged_command_is_confined_to_reading(work: Path, mode: str) -> None:
    found = ground(work, "cat a.txt | wc -l && git status", mode)
    assert found is not None
    assert (found.kind, found.folders, found.trees, found.hidden) == ("read", (), (), ())
    assert found.programs == ("cat", "wc", "git")


def test_what_a_rule_allows_is_not_confined(work: Path) -> None:
    assert ground(work, "make all", allow=("Bash(make:*)",)) is None
    assert ground(work, "make all && cat a.txt", allow=("Bash(make:*)",)) is None
    assert ground(work, "cat a.txt", allow=("Bash",)) is None
    assert ground(work, "make all", "bypassPermissions") is None


@pytest.mark.parametrize(
    ("command", "folders", "trees"),
    [
        ("touch new", [""], []),
        ("echo x > sub/new", ["sub"], []),
        ("mkdir -p sub/x/y/z", ["sub"], []),
        ("rm -r sub", [""], ["sub"]),
        ("cp a.txt sub", [""], ["sub"]),
        ("mv a.txt b.txt", [""], []),
    ],
)
def test_an_edit_may_change_the_folders_of_its_targets(
    work: Path, command: str, folders: list[str], trees: list[str]
) -> None:
    found = ground(work, command, "acceptEdits")
    assert found is not None
    assert found.kind == "edit"
    assert set(folders) <= {os.path.relpath(path, work).strip(".") for path in found.folders}
    assert [os.path.relpath(path, work) for path in found.trees] == trees
    assert {".git", ".claude", ".npmrc"} <= set(found.protected)


def test_denied_files_are_hidden_from_every_judged_command(work: Path, tmp_path: Path) -> None:
    (work / ".env").write_text("KEY=1\n")
    (work / "sub" / ".env").write_text("KEY=2\n")
    (tmp_path / "real").write_text("x")
    (work / "link.key").symlink_to(tmp_path / "real")
    found = ground(work, "pwd", deny=("Read(.env)", "Read(./*.key)", "Read(./gone/**)"))
    assert found is not None
    assert set(found.hidden) == {str(work / ".env"), str(work / "sub" / ".env"), str(tmp_path / "real")}


def test_a_hidden_file_with_a_second_name_asks(work: Path) -> None:
    (work / ".env").write_text("KEY=1\n")
    os.link(work / ".env", work / "other")
    decision = decide(gate(work, deny=("Read(.env)",)), "Bash", command="pwd")
    assert (decision.verdict, "hard link" in decision.message) == ("ask", True)


def test_too_many_files_to_search_ask(work: Path) -> None:
    for name in "bcdef":
        (work / name).touch()
    pattern = path_pattern("**/.env", str(work), "", POSIX)
    assert HiddenFiles(6).find((pattern,))[1].startswith("rules hide files from reading, and there are over 6")
    assert HiddenFiles(7).find((pattern,)) == ((), "")


def test_a_file_that_appears_later_is_found(work: Path) -> None:
    pattern = path_pattern("**/.env", str(work), "", POSIX)
    search = HiddenFiles()
    (work / "sub" / "x").mkdir()
    for folder in (work, work / "sub", work / "sub" / "x"):
        assert search.find((pattern,)) == search.find((pattern,))
        before = os.stat(folder)
        (folder / ".env").touch()
        os.utime(folder, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert str(folder / ".env") in search.find((pattern,))[0]
    (work / "sub" / ".env").unlink()
    other = path_pattern("**/a.txt", str(work), "", POSIX)
    assert set(search.find((pattern,))[0]) == {str(work / ".env"), str(work / "sub" / "x" / ".env")}
    assert search.find((other,))[0] == (str(work / "a.txt"),)


def test_a_folder_that_has_not_changed_is_not_listed_again(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pattern = path_pattern("**/.env", str(work), "", POSIX)
    search = HiddenFiles()
    wait_until(lambda: time.time_ns() - os.stat(work).st_ctime_ns > 2 * SETTLED_NS, "a settled folder", SOON)
    first = search.find((pattern,))
    listed: list[str] = []
    real = os.scandir

    def scandir(folder: str) -> object:
        listed.append(folder)
        return real(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    assert search.find((pattern,)) == first
    assert listed == []


class FakeConfiner:
    """A system that cannot enforce anything, or on which a command has failed before."""

    def __init__(self, why: str = "", failed: str = "") -> None:
        self._why, self._failed = why, failed

    def problem(self, confinement: Confinement) -> str:
        return self._why * (confinement.kind in ("read", "edit"))

    def failed(self, command: str) -> bool:
        return command == self._failed


def test_a_command_that_cannot_be_confined_is_asked_about(work: Path) -> None:
    asked = decide(gate(work, confiner=FakeConfiner("this system cannot confine it")), "Bash", command="git status")
    assert (asked.verdict, "this system cannot confine it" in asked.message) == ("ask", True)
    denied = decide(gate(work, "dontAsk", confiner=FakeConfiner("no")), "Bash", command="git status")
    assert denied.verdict == "deny"
    allowed = decide(gate(work, allow=("Bash(git:*)",), confiner=FakeConfiner("no")), "Bash", command="git status")
    assert (allowed.verdict, allowed.confinement) == ("allow", None)


def test_a_command_that_failed_confined_is_asked_about(work: Path) -> None:
    guard = gate(work, confiner=FakeConfiner(failed="git status"))
    assert decide(guard, "Bash", command=" git status ").verdict == "ask"
    assert decide(guard, "Bash", command="git log").verdict == "allow"
