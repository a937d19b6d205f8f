"""The shell of this Windows: collects the facts for `shell_choice.py`, and starts a command in the chosen shell."""

from __future__ import annotations

import os
import sys

from yume_shim.system.programs import is_owned
from yume_shim.system.shell_choice import ShellFacts, choose_shell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from yume_shim.system.shell_choice import ShellChoice
    from yume_shim.types.settings import Settings

WSL_ANSWER_S = 10.0
"""How long the first command in a WSL distribution may take: its machine may have to start."""
_PROGRAM_FOLDERS = ("ProgramFiles", "ProgramW6432", "ProgramFiles(x86)")
_LXSS = r"Software\Microsoft\Windows\CurrentVersion\Lxss"
SETTING = "bash_path"
VARIABLES = ("CLAUDE_CODE_GIT_BASH_PATH",)


_chosen: dict[object, ShellChoice] = {}
"""By what the choice depends on: a probe of WSL takes seconds."""


def shell_of_settings(settings: Settings) -> ShellChoice:
    """The choice for a session; made once per process."""
    owned = (settings.cwd or os.getcwd(), *settings.permissions.add_dirs)
    bash_path, env = settings.tools.bash_path, settings.env or os.environ
    key = (owned, bash_path, *(variable(env, name) for name in ("PATH", *VARIABLES)))
    if key not in _chosen:
        _chosen[key] = shell_of_this_windows(env, bash_path, owned)
    return _chosen[key]


def shell_of_this_windows(env: Mapping[str, str], bash_path: str, owned: tuple[str, ...]) -> ShellChoice:
    """The choice for this system; `bash_path` is our setting, `owned` the folders of the session."""
    configured = [(name, env[name]) for name in VARIABLES if env.get(name)]
    configured += [(SETTING, bash_path)] if bash_path else []
    return choose_shell(
        ShellFacts(
            is_file=lambda path: os.path.isfile(path) and not is_owned(path, owned),  # also through links
            configured=tuple(configured),
            path=tuple(variable(env, "PATH").split(";")),
            programs=_program_folders(env),
            system_root=system_root(),
            owned=owned,
            wsl_answers=_wsl_answers,
        )
    )


def _program_folders(env: Mapping[str, str]) -> tuple[str, ...]:
    folders = [variable(env, name) for name in _PROGRAM_FOLDERS]
    local = variable(env, "LOCALAPPDATA")
    folders += [local + "\\Programs"] if local else []
    return tuple(dict.fromkeys(folder for folder in folders if folder))


def variable(env: Mapping[str, str], name: str) -> str:
    """A variable by its name in any case, as Windows finds it."""
    if name in env:
        return env[name]
    return next((text for other, text in env.items() if other.upper() == name.upper()), "")


def system_root() -> str:
    """The folder of Windows, as the system itself says: a variable could have been changed."""
    if sys.platform == "win32":
        import ctypes

        buffer = ctypes.create_unicode_buffer(300)
        if ctypes.windll.kernel32.GetSystemWindowsDirectoryW(buffer, len(buffer)):
            return buffer.value
    return "C:\\Windows"


def _wsl_answers() -> bool:
    """Whether a distribution is registered, and runs a command."""
    import subprocess

    if not _has_distribution():
        return False
    argv = [os.path.join(system_root(), "System32", "wsl.exe"), "-e", "/bin/sh", "-c", "echo yume"]
    try:
        ended = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=WSL_ANSWER_S,
            check=False,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return ended.returncode == 0 and ended.stdout.strip() == b"yume"


def _has_distribution() -> bool:
    if sys.platform == "win32":
        import winreg

        try:
            with winreg.OpenKey(winreg.HKEY_CURRENT_USER, _LXSS) as key:
                return bool(winreg.QueryValueEx(key, "DefaultDistribution")[0])
        except OSError:
            pass  # WSL was never used
    return False


# ---------------------------------------------------------------- starting a command


def script_text(command: str, cwd_file: str, kind: str) -> str:
    """A script that holds the command in a variable, and at the end of the shell notes its folder. In WSL it also runs
    the command."""
    note = "true"
    if cwd_file:
        where = quoted(path_in_shell(cwd_file, kind))
        note = f"pwd 2>/dev/null >{where}" if kind == "wsl" else f"{{ pwd -W || pwd; }} 2>/dev/null >{where}"
    held = f"yume_command={quoted('unset yume_command; ' + command)}; trap -- {quoted(note)} EXIT\n"
    return held + 'eval "$yume_command"\n' if kind == "wsl" else held


def command_line(choice: ShellChoice, script: str, cwd: str) -> str:
    """The command line that runs a script. Nothing of the command is in it: bash of Git expands patterns and `@files`
    of a command line of Windows before it sees them, and each program finds quotes in its own way. The program of `-c`
    makes the messages of the shell begin with `bash: line 1`."""
    path = path_in_shell(script, choice.kind)
    words = [choice.program]
    if choice.kind == "wsl":
        words += ["--cd", cwd, "-e", "bash", "--noprofile", "--norc", path]
    else:
        words += ["--noprofile", "--norc", "-c", f'. {quoted(path)}; eval \\"$yume_command\\"', "bash"]
    return " ".join(f'"{word}\\"' if word.endswith("\\") else f'"{word}"' for word in words)


def path_in_shell(path: str, kind: str) -> str:
    """A path of a Windows drive as the shell reads it: `C:/x`, in WSL `/mnt/c/x`."""
    if kind == "wsl" and path[1:2] == ":":
        return f"/mnt/{path[0].lower()}" + path[2:].replace("\\", "/")
    return path.replace("\\", "/")


def quoted(text: str) -> str:
    """One word of a POSIX shell."""
    return "'" + text.replace("'", "'\\''") + "'"
