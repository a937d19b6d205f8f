"""Chooses how the command of a hook is started on Windows: a pure function of the session's shell.

The command is the user's own text, written for the shell that the Claude CLI gives it: Git Bash. It reaches a bash in a
variable, so that no command line has to be quoted for it. Only where no bash was found does cmd.exe get it: the
command alone, never with a value that the workspace or the model has a part in. The event goes by stdin.
"""

from __future__ import annotations

import ntpath

from yume_shim.system.windows.shell import path_in_shell
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from yume_shim.system.shell_choice import ShellChoice

VARIABLE = "yume_command"
_PROGRAM = f"set -f; IFS=; eval ${VARIABLE}"
"""Runs the variable without a quote in it: each program of Windows reads quotes in its own way."""
_RESTORED = f"set +f; IFS=' \t\n'; unset {VARIABLE}; "
_SPECIAL = frozenset('&|<>^"%!\r\n')
"""What cmd.exe obeys in the value of a variable, too."""
NO_BASH = "no bash is installed for it: install Git for Windows, or set CLAUDE_CODE_GIT_BASH_PATH"


class HookStart(Value):
    """`argv`: words, or a whole command line of Windows. `env`: variables that it gets besides its own. `problem`: why
    it is not started."""

    argv: list[str] | str
    env: Mapping[str, str]
    problem: str = ""


def hook_start(
    command: str,
    shell: str,
    choice: ShellChoice,
    given: Mapping[str, str],
    *,
    system_root: str = "C:\\Windows",
    wslenv: str = "",
) -> HookStart:
    """How a hook's command starts. `shell`: what the hook asks for; `given`: the variables that this program sets for
    it; `wslenv`: the variable WSLENV as it is."""
    if not choice.kind:
        if shell == "bash":
            return HookStart([], {}, NO_BASH)
        return _in_cmd(command, given, system_root)
    bash = ["--noprofile", "--norc", "-c", _PROGRAM, "bash"]
    env = {VARIABLE: _RESTORED + command}
    if choice.kind == "wsl":
        shared = [f"{VARIABLE}/u", *(f"{name}/{'up' if _is_path(text) else 'u'}" for name, text in given.items())]
        env["WSLENV"] = ":".join(filter(None, (wslenv, *shared)))
        return HookStart([choice.program, "-e", "bash", *bash], env)
    paths = {name: path_in_shell(text, choice.kind) for name, text in given.items() if _is_path(text)}
    return HookStart([choice.program, *bash], {**env, **paths})


def _in_cmd(command: str, given: Mapping[str, str], system_root: str) -> HookStart:
    special = _SPECIAL | set("()") if "(" in command else _SPECIAL
    for name, text in given.items():
        if name.lower() in command.lower() and special.intersection(text):
            why = f"its command names {name}, whose value cmd.exe would take for commands"
            return HookStart([], {}, f"{why}; install Git for Windows, so that a bash runs it")
    program = ntpath.join(system_root, "System32", "cmd.exe")
    return HookStart(f'"{program}" /d /s /c "{command}"', {})


def _is_path(text: str) -> bool:
    return text[1:3] in (":\\", ":/")
