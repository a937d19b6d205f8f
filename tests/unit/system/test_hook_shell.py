"""How a hook's command starts on Windows: in the session's bash, else alone in cmd.exe."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from yume_shim.system.hook_shell import NO_BASH, VARIABLE, hook_start
from yume_shim.system.shell_choice import ShellChoice

if TYPE_CHECKING:
    from pathlib import Path

GIT, WSL, NONE = ShellChoice("git-bash", "C:\\Git\\bin\\bash.exe"), ShellChoice("wsl", "C:\\wsl.exe"), ShellChoice("")
COMMANDS = [
    *("echo hi", "echo 'a  b' \"c\" *", "x='1 2'; printf '<%s>' $x", "printf '%s' \"a\nb\"", "echo $0 $yume_command ."),
    *(
        "printf '[%s]' a\\ b '&' '|' '%PATH%' '^'",
        "cat; exit 3",
        "printf '%s' \"$IFS\" | od -c",
        "echo @x ~ 'it'\\''s'",
    ),
]


@pytest.mark.parametrize("choice", [GIT, WSL])
@pytest.mark.parametrize("shell", ["", "bash"])
def test_a_bash_gets_the_command_in_a_variable(choice: ShellChoice, shell: str) -> None:
    for command in COMMANDS:
        begun = hook_start(command, shell, choice, {"CLAUDE_PROJECT_DIR": "C:\\a&calc"})
        assert isinstance(begun.argv, list)
        assert begun.problem == ""
        assert begun.argv[0] == choice.program
        assert "cmd" not in " ".join(begun.argv).replace(VARIABLE, "")
        assert begun.env[VARIABLE].endswith(command)
        assert not set(subprocess.list2cmdline(begun.argv[1:])) & set("'*?@\\%&|<>^!")  # and quotes only around words
    assert hook_start("x", "", GIT, {"A": "C:\\w x", "B": "b\\c"}).env["A"] == "C:/w x"
    assert (
        hook_start("x", "", WSL, {"A": "C:\\w", "B": "b"}, wslenv="Z/p").env["WSLENV"] == "Z/p:yume_command/u:A/up:B/u"
    )


@pytest.mark.skipif(os.name == "nt", reason="there is no bash")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_real_bash_runs_it_as_it_is(command: str, tmp_path: Path) -> None:
    begun = hook_start(command, "", ShellChoice("git-bash", "/bin/bash"), {})
    env = {"PATH": os.environ["PATH"], "HOME": "/h"}
    seen = [
        subprocess.run(argv, input=b'{"a":1}', capture_output=True, env=more, cwd=tmp_path, check=False)
        for argv, more in ((begun.argv, {**env, **begun.env}), (["/bin/bash", "-c", command, "bash"], env))
    ]
    assert (seen[0].returncode, seen[0].stdout) == (seen[1].returncode, seen[1].stdout)


def test_without_a_bash_cmd_gets_the_command_alone() -> None:
    begun = hook_start('type "a b" | more', "", NONE, {"CLAUDE_PROJECT_DIR": "C:\\a&calc"}, system_root="D:\\Win")
    assert begun.argv == '"D:\\Win\\System32\\cmd.exe" /d /s /c "type "a b" | more"'
    assert begun.env == {}


@pytest.mark.parametrize("folder", ["C:\\a&calc", "C:\\a^b", "C:\\%x%", "C:\\a!b!", "C:\\a\nb"])
def test_cmd_never_reads_a_folder_as_commands(folder: str) -> None:
    for command in (
        "%CLAUDE_PROJECT_DIR%\\x",
        'type "%claude_project_dir:~0%"',
        "!Claude_Project_Dir!",
        "(%CLAUDE_PROJECT_DIR%)",
    ):
        begun = hook_start(command, "", NONE, {"CLAUDE_PROJECT_DIR": folder})
        assert not begun.argv
        assert "CLAUDE_PROJECT_DIR" in begun.problem
    plain = {"CLAUDE_PROJECT_DIR": "C:\\a (x86)"}
    assert not hook_start('type "%CLAUDE_PROJECT_DIR%"', "", NONE, plain).problem
    assert hook_start("if 1==1 (type %CLAUDE_PROJECT_DIR%)", "", NONE, plain).problem


def test_a_hook_for_bash_does_not_run_in_cmd() -> None:
    begun = hook_start("rm x", "bash", NONE, {})
    assert (begun.argv, begun.problem) == ([], NO_BASH)
