"""Programs by absolute path: never one that the session's folder or a relative entry of PATH offers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from yume_shim.system import programs
from yume_shim.system.batch_files import batch_line
from yume_shim.system.programs import absolute_argv, find_program, is_owned, trusted_path
from yume_shim.system.windows.shell import system_root

if TYPE_CHECKING:
    from pathlib import Path

ENDING = programs.RUNNABLE[0]


def plant(folder: Path, name: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}{ENDING}"
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return str(file)


def test_planted_programs_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work, real = tmp_path / "work", plant(tmp_path / "bin", "rg")
    plant(work, "rg")
    plant(work / ".venv" / "bin", "rg")
    monkeypatch.chdir(work)
    path = os.pathsep.join(("", ".", ".venv/bin", str(work), str(work / ".venv" / "bin"), str(tmp_path / "bin")))
    assert find_program("rg", path, owned=(str(work),)) == real
    assert find_program("rg", os.pathsep.join(("", ".", ".venv/bin"))) == ""
    assert find_program("rg", path) == str(work / f"rg{ENDING}")  # what the user put on PATH, where that is wanted
    assert trusted_path(path, (str(work),)) == str(tmp_path / "bin")


def test_quotes_around_a_folder_of_path_hide_it_from_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "WINDOWS", True)
    work, real = tmp_path / "work", plant(tmp_path / "bin", "rg")
    plant(work / "bin", "rg")
    path = os.pathsep.join((f'"{work / "bin"}"', f'"{tmp_path / "bin"}"'))
    assert trusted_path(path, (str(work),)) == str(tmp_path / "bin")
    assert find_program("rg", path, ENDING, owned=(str(work),)) == real


@pytest.mark.skipif(os.name != "nt", reason="elsewhere such a folder is absolute")
def test_a_folder_of_path_without_a_drive_is_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path / "bin", "rg")
    monkeypatch.chdir(tmp_path)
    path = os.path.splitdrive(tmp_path / "bin")[1]
    assert find_program("rg", path) == trusted_path(path, ()) == ""


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_into_the_folder_counts_as_the_folder(tmp_path: Path) -> None:
    work = tmp_path / "work"
    plant(work, "rg")
    (tmp_path / "link").symlink_to(work)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "rg").symlink_to(work / "rg")
    path = os.pathsep.join((str(tmp_path / "link"), str(tmp_path / "bin")))
    assert find_program("rg", path, owned=(str(work),)) == ""
    assert is_owned(str(work), (str(tmp_path / "link"),))
    assert not is_owned(str(tmp_path / "work-sibling"), (str(work),))


def test_the_argv_of_a_configured_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "WINDOWS", True)
    monkeypatch.setattr(programs, "RUNNABLE", (".exe", ".cmd"))
    for folder in ("planted", "bin"):
        (tmp_path / folder).mkdir()
        for name in ("npx.cmd", "node.exe"):
            (tmp_path / folder / name).write_text("")
            (tmp_path / folder / name).chmod(0o755)
    monkeypatch.chdir(tmp_path / "planted")
    env = {"Path": str(tmp_path / "bin")}
    found = str(tmp_path / "bin" / "node.exe")
    assert absolute_argv(["node", "a b"], env) == [found, "a b"]
    assert absolute_argv(["node.exe"], env) == [found]
    assert absolute_argv([found], env) == [found]
    line = absolute_argv(["npx", "a b"], env)
    assert line == batch_line(str(tmp_path / "bin" / "npx.cmd"), ["a b"], system_root())
    assert absolute_argv(["C:\\x\\run.BAT"], env) == batch_line("C:\\x\\run.BAT", [], system_root())
    with pytest.raises(FileNotFoundError):
        absolute_argv(["deno"], env)


@pytest.mark.skipif(os.name == "nt", reason="there the current folder is searched, too")
def test_a_path_with_relative_folders_is_searched_without_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = plant(tmp_path / "bin", "npx")
    plant(tmp_path / "work", "npx")
    plant(tmp_path / "work", "node")
    monkeypatch.chdir(tmp_path / "work")
    assert absolute_argv(["npx", "x"], {"PATH": str(tmp_path / "bin")}) == ["npx", "x"]
    assert absolute_argv(["npx", "x"], {}) == ["npx", "x"]
    for path in (f".:{tmp_path}/bin", f":{tmp_path}/bin", f"work:{tmp_path}/bin"):
        assert absolute_argv(["npx", "x"], {"PATH": path}) == [real, "x"]
        with pytest.raises(FileNotFoundError):
            absolute_argv(["node"], {"PATH": path})
    with pytest.raises(FileNotFoundError):
        absolute_argv(["node"], {"PATH": ""})
