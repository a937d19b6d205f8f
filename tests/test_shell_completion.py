"""Completion as shells do it: the real bash, zsh and fish load the script and are asked what may follow."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.child import DEADLINE, clean_environment

if sys.platform == "win32":
    pytest.skip("POSIX shells", allow_module_level=True)

from tests.helpers.terminals import Terminal

PROGRAMS = str(Path(sys.executable).parent)


def environment(home: Path) -> dict[str, str]:
    path = os.pathsep.join([PROGRAMS, os.environ["PATH"]])
    return clean_environment(home, PATH=path, TERM="dumb", LANG="C.UTF-8")


def answers(shell: list[str], script: str, home: Path) -> list[str]:
    """What a shell that runs the script prints, line by line."""
    program = [*shell, "-c", script]
    ended = subprocess.run(program, env=environment(home), capture_output=True, timeout=DEADLINE, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")
    return ended.stdout.decode().splitlines()


def test_bash(tmp_path: Path) -> None:
    ask = "COMPREPLY=(); COMP_WORDS=(yume-shim {}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); "
    ask += '_yume_shim_completion yume-shim; echo "${{COMPREPLY[*]}}"\n'
    script = 'eval "$(_YUME_SHIM_COMPLETE=bash_source yume-shim)"\n'
    script += "".join(ask.format(words) for words in ("doc", "--output-format te", "init --for zed"))
    assert answers(["bash", "--norc"], script, tmp_path) == ["doctor", "text", "zed"]


@pytest.mark.fish
def test_fish_shows_whole_descriptions(tmp_path: Path) -> None:
    script = "_YUME_SHIM_COMPLETE=fish_source yume-shim | source\n"
    script += "".join(f"complete -C 'yume-shim {words}'\n" for words in ("doc", "sessions exp", "--output-format te"))
    assert answers(["fish", "--no-config"], script, tmp_path) == [
        "doctor\tShow what a start here would use, what is missing, and what to do. Starts the MCP servers once.",
        "export\tWrite a session as Markdown, as one HTML page, as JSON or as text.",
        "text",
    ]


@pytest.mark.zsh
def test_zsh(tmp_path: Path) -> None:
    load = 'autoload -Uz compinit; compinit -u; eval "$(_YUME_SHIM_COMPLETE=zsh_source yume-shim)"; echo rea""dy\n'
    with Terminal([], cwd=tmp_path, env=environment(tmp_path), program=["zsh", "-f", "-i"]) as terminal:
        terminal.type(load)
        terminal.wait_for("ready")
        terminal.type("yume-shim --permission-mode acc\t\n")
        terminal.wait_for("--permission-mode acceptEdits")
        terminal.type("exit\n")
        terminal.end()
