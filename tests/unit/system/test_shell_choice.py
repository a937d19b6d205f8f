"""The shell of Windows: every combination of what is configured and installed, and that only a bash gets a command."""

from __future__ import annotations

import os
import shlex
import subprocess
from itertools import product
from typing import TYPE_CHECKING

import pytest

from yume_shim.system.shell_choice import INSTALL, ShellChoice, ShellFacts, choose_shell
from yume_shim.system.windows.shell import command_line, path_in_shell, script_text
from yume_shim.text.windows_paths import shell_path

if TYPE_CHECKING:
    from pathlib import Path

GIT_BASH = "C:\\Program Files\\Git\\bin\\bash.exe"
USR_BASH = "C:\\Program Files\\Git\\usr\\bin\\bash.exe"
GIT_CMD = "C:\\Program Files\\Git\\cmd\\git.exe"
LAUNCHER = "C:\\Windows\\System32\\bash.exe"
WSL = "C:\\Windows\\System32\\wsl.exe"
OWN = "D:\\tools\\bash.exe"
CYGWIN = "C:\\cygwin64\\bin\\bash.exe"
VARIABLE = "CLAUDE_CODE_GIT_BASH_PATH"


def choose(
    *files: str,
    configured: str = "",
    setting: str = "",
    path: tuple[str, ...] = ("C:\\Windows\\System32", "C:\\Program Files\\Git\\cmd"),
    programs: tuple[str, ...] = (),
    wsl: bool = False,
    owned: tuple[str, ...] = ("C:\\w",),
) -> ShellChoice:
    known = {name.lower() for name in files}
    named = [(name, text) for name, text in ((VARIABLE, configured), ("bash_path", setting)) if text]
    return choose_shell(
        ShellFacts(
            lambda name: name.replace("/", "\\").lower() in known,
            tuple(named),
            path,
            programs,
            owned=owned,
            wsl_answers=lambda: wsl,
        )
    )


@pytest.mark.parametrize("has", list(product((True, False), repeat=6)))
def test_the_order(has: tuple[bool, ...]) -> None:
    """Variable, setting, Git Bash, another bash on PATH, WSL that answers, nothing: each one only without those before
    it. System32's bash.exe is always there and never counts."""
    variable, setting, git, other, wsl_program, wsl_answers = has
    files = [
        LAUNCHER,
        *([GIT_CMD, GIT_BASH] if git else []),
        *([CYGWIN] if other else []),
        *([WSL] if wsl_program else []),
    ]
    choice = choose(
        *files,
        OWN,
        "D:\\other\\sh.exe",
        configured=OWN if variable else "",
        setting="D:\\other\\sh.exe" if setting else "",
        path=("C:\\Windows\\System32", "C:\\Program Files\\Git\\cmd", "C:\\cygwin64\\bin"),
        wsl=wsl_answers,
    )
    wanted = [
        (variable, ("git-bash", OWN, VARIABLE)),
        (setting, ("git-bash", "D:\\other\\sh.exe", "bash_path")),
        (git, ("git-bash", GIT_BASH, "Git for Windows")),
        (other, ("git-bash", CYGWIN, "PATH")),
        (wsl_program and wsl_answers, ("wsl", WSL, "WSL")),
        (True, ("", "", "")),
    ]
    assert (choice.kind, choice.program, choice.source) == next(found for there, found in wanted if there)
    assert choice.warnings == (() if choice.kind else (INSTALL,))


@pytest.mark.parametrize(
    ("configured", "files", "why"),
    [
        ("bash.exe", (), "it must be a full path"),
        (".\\bash.exe", (), "it must be a full path"),
        ("\\\\srv\\share\\bash.exe", (), "it must be a full path"),
        ("C:\\w\\bin\\bash.exe", ("C:\\w\\bin\\bash.exe",), "a model can replace it"),
        ("c:/W/bash.exe", ("C:\\w\\bash.exe",), "a model can replace it"),
        ("C:\\none\\bash.exe", (), "there is no such file"),
        ("C:\\Windows\\System32\\cmd.exe", ("C:\\Windows\\System32\\cmd.exe",), "it is not a bash"),
        ("C:\\ps\\powershell.exe", ("C:\\ps\\powershell.exe",), "it is not a bash"),
        ("C:\\Git\\git-bash.exe", ("C:\\Git\\git-bash.exe",), "it is not a bash"),
        (LAUNCHER, (LAUNCHER,), "it only starts WSL"),
        ("C:\\Windows\\Sysnative\\bash.exe", ("C:\\Windows\\Sysnative\\bash.exe",), "it only starts WSL"),
        (WSL, (WSL,), "no WSL distribution answers"),
    ],
)
def test_a_configured_shell_that_cannot_be_used(configured: str, files: tuple[str, ...], why: str) -> None:
    choice = choose(*files, GIT_CMD, GIT_BASH, configured=configured)
    assert choice.program == GIT_BASH
    assert len(choice.warnings) == 1
    assert VARIABLE in choice.warnings[0]
    assert why in choice.warnings[0]


def test_where_git_bash_is_found() -> None:
    git = "C:\\Program Files\\Git"
    for folder in ("cmd", "bin", "mingw64\\bin", "usr\\bin"):
        there = (f"{git}\\{folder}\\git.exe", GIT_BASH, USR_BASH)
        assert choose(*there, path=(f'"{git}\\{folder}"',)).program == GIT_BASH
    assert choose(GIT_CMD, USR_BASH).program == USR_BASH
    assert choose(GIT_BASH, path=(), programs=("C:\\Program Files",)).program == GIT_BASH
    assert choose(GIT_BASH, path=(), programs=("Program Files",)).kind == ""
    assert choose(WSL, wsl=True, configured=WSL).source == VARIABLE


def test_nothing_is_taken_from_the_workspace_or_a_relative_folder() -> None:
    planted = (
        "C:\\w\\bash.exe",
        "C:\\w\\git.exe",
        "C:\\w\\bin\\bash.exe",
        "C:\\bin\\bash.exe",
        "bash.exe",
        ".\\bash.exe",
    )
    path = (
        "",
        ".",
        "C:\\w",
        "C:\\W\\bin\\",
        "C:/w",
        ".\\bin",
        "bin",
        "C:bin",
        "\\bin",
        "C:\\x\\..\\w",
        "\\\\s\\h\\bin",
    )
    assert choose(*planted, path=path).kind == ""
    assert choose(LAUNCHER, path=("C:\\Windows\\System32", "C:\\WINDOWS\\SysWOW64")).kind == ""
    apps = "C:\\Users\\u\\AppData\\Local\\Microsoft\\WindowsApps"
    assert choose(f"{apps}\\bash.exe", path=(apps,)).kind == ""


# ---------------------------------------------------------------- starting a command

with_bash = pytest.mark.skipif(os.name == "nt", reason="needs a bash")
JUDGED_AS_BASH = [
    "echo 'x & echo P>own.txt & rem '",
    "echo P \\> own.txt",
    "ls # & echo P>own.txt",
    "echo '%PATH%' '^' '\"' \"'\" '@own.txt' '*'",
    "echo a; false || echo b\necho c",
    "true 'it''s' \"$(printf '%s' \\')\"",
    "exit 3",
]


@with_bash
@pytest.mark.parametrize("command", JUDGED_AS_BASH)
def test_the_shell_runs_exactly_the_judged_command(command: str, tmp_path: Path) -> None:
    def run(*argv: str) -> tuple[int, bytes, bytes]:
        ended = subprocess.run(["bash", "--noprofile", "--norc", *argv], cwd=tmp_path, capture_output=True, check=False)
        return ended.returncode, ended.stdout, ended.stderr

    script = tmp_path / "scratch" / "command-1.sh"
    script.parent.mkdir()
    expected = run("-c", command)
    for kind in ("git-bash", "wsl"):
        script.write_bytes(script_text(command, "", kind).encode())
        words = (
            shlex.split(command_line(ShellChoice("git-bash", "bash"), str(script), "")) if kind == "git-bash" else []
        )
        assert run(*words[3:] or [str(script)]) == expected
    assert not (tmp_path / "own.txt").exists()


@with_bash
def test_messages_of_the_shell_and_the_folder_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "it's").mkdir()
    noted = tmp_path / "it's" / "cwd.txt"
    script = tmp_path / "s.sh"
    script.write_text(script_text('cd "it\'s"\nnope\nexit 4', str(noted), "git-bash"))
    words = shlex.split(command_line(ShellChoice("git-bash", "bash"), str(script), ""))
    ended = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False, text=True)
    assert (ended.returncode, ended.stderr) == (4, "bash: line 2: nope: command not found\n")
    assert noted.read_text() == f"{tmp_path}/it's\n"


def test_the_command_line_has_no_word_of_the_command() -> None:
    git = choose(GIT_CMD, GIT_BASH)
    assert command_line(git, "C:\\Users\\O'B [x]\\t\\command.sh", "C:\\w") == (
        f'"{GIT_BASH}" "--noprofile" "--norc" "-c" '
        '". \'C:/Users/O\'\\\'\'B [x]/t/command.sh\'; eval \\"$yume_command\\"" "bash"'
    )
    wsl = choose(WSL, wsl=True)
    assert command_line(wsl, "C:\\t\\command.sh", "C:\\") == (
        f'"{WSL}" "--cd" "C:\\\\" "-e" "bash" "--noprofile" "--norc" "/mnt/c/t/command.sh"'
    )


def test_folders_of_the_shell() -> None:
    assert path_in_shell("C:\\a b\\c", "git-bash") == "C:/a b/c"
    assert path_in_shell("D:\\a", "wsl") == "/mnt/d/a"
    for noted, kind, folder in (
        ("C:/w/x", "git-bash", "C:/w/x"),
        ("/c/w", "git-bash", "C:\\w"),
        ("/mnt/c/w", "wsl", "C:\\w"),
        ("/mnt/d", "wsl", "D:\\"),
    ):
        assert shell_path(noted, kind) == (folder, "")
    for noted, kind in (
        ("/tmp", "git-bash"),
        ("/", "git-bash"),
        ("/home/u", "wsl"),
        ("C:/w", "wsl"),
        ("/mnt/cc", "wsl"),
    ):
        assert shell_path(noted, kind)[1]
