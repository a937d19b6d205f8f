"""Chooses the shell that runs commands: a pure function of facts about the system.

On Windows the command that a model writes is judged as a command of bash. So only a bash may run it: the configured
one, that of Git for Windows, or that of WSL. cmd.exe and PowerShell never do. Without a bash there is no Bash tool.
"""

from __future__ import annotations

import ntpath

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    ShellKind = Literal["posix", "git-bash", "wsl", ""]

INSTALL = (
    "the Bash tool is not offered: no bash was found. Install Git for Windows (https://git-scm.com/downloads/win), or "
    "set CLAUDE_CODE_GIT_BASH_PATH to the full path of a bash.exe"
)
LAUNCHERS = ("system32", "sysnative", "syswow64", "windowsapps")
"""Folders whose bash.exe starts WSL, and fails without a distribution."""
SHELL_NAMES = frozenset(("bash.exe", "sh.exe", "dash.exe", "zsh.exe", "bash", "sh", "dash", "zsh"))


def _never() -> bool:
    return False


class ShellFacts(Value):
    """What the choice depends on, on Windows. `configured`: (name of the setting, path), the first one counts first.
    `path`: the folders of PATH. `programs`: the folders below which Git may be installed. `owned`: the folders that
    the model can write. `wsl_answers` starts a command in the default distribution; it is asked last."""

    is_file: Callable[[str], bool]
    configured: tuple[tuple[str, str], ...] = ()
    path: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    system_root: str = "C:\\Windows"
    owned: tuple[str, ...] = ()
    wsl_answers: Callable[[], bool] = _never


class ShellChoice(Value):
    """`kind`: how the shell reads paths; "" = there is no shell. `source`: why it was chosen. `warnings`: what the user
    should know."""

    kind: ShellKind
    program: str = ""
    source: str = ""
    warnings: tuple[str, ...] = ()


def choose_shell(facts: ShellFacts) -> ShellChoice:
    """The shell of Windows."""
    warnings: list[str] = []
    for name, path in facts.configured:
        why = _unusable(path, facts)
        if not why:
            kind: ShellKind = "wsl" if _name(path) == "wsl.exe" else "git-bash"
            return ShellChoice(kind, ntpath.normpath(path), name, tuple(warnings))
        warnings.append(f"{name} ({path}) is ignored: {why}")
    found = _git_bash(facts)
    if found:
        return ShellChoice("git-bash", found, "Git for Windows", tuple(warnings))
    found = _on_path(facts)
    if found:
        return ShellChoice("git-bash", found, "PATH", tuple(warnings))
    wsl = ntpath.join(facts.system_root, "System32", "wsl.exe")
    if facts.is_file(wsl) and facts.wsl_answers():
        return ShellChoice("wsl", wsl, "WSL", tuple(warnings))
    return ShellChoice("", "", "", (*warnings, INSTALL))


def _unusable(path: str, facts: ShellFacts) -> str:
    """Why a configured path is no shell that can be used; "" if it is one."""
    if not _is_absolute(path):
        return "it must be a full path"
    if _is_owned(path, facts):
        return "it is in the folder of the session, where a model can replace it"
    if not facts.is_file(path):
        return "there is no such file"
    if _name(path) == "wsl.exe":
        return "" if facts.wsl_answers() else "no WSL distribution answers"
    if _name(path) not in SHELL_NAMES:
        return "it is not a bash: commands are judged as commands of bash"
    return "it only starts WSL; name wsl.exe instead" if _is_launcher(path, facts) else ""


def _git_bash(facts: ShellFacts) -> str:
    """bash.exe of Git for Windows. Often only `Git\\cmd` is on PATH, where there is no bash. `bin\\bash.exe` comes
    first: unlike `usr\\bin\\bash.exe` it gives commands the PATH of Git's tools."""
    roots: list[str] = []
    for folder in _searched(facts):
        if facts.is_file(ntpath.join(folder, "git.exe")):
            above = ntpath.dirname(folder)
            is_part = ntpath.basename(above).lower() in ("usr", "mingw64", "mingw32", "clangarm64")
            roots.append(ntpath.dirname(above) if is_part else above)
    roots += [ntpath.join(folder, "Git") for folder in facts.programs if _is_absolute(folder)]
    for root in dict.fromkeys(roots):
        for inner in ("bin", "usr\\bin"):
            full = ntpath.join(root, inner, "bash.exe")
            if facts.is_file(full) and not _is_owned(full, facts):
                return full
    return ""


def _on_path(facts: ShellFacts) -> str:
    for folder in _searched(facts):
        full = ntpath.join(folder, "bash.exe")
        if facts.is_file(full) and not _is_launcher(full, facts):
            return full
    return ""


def _searched(facts: ShellFacts) -> list[str]:
    """The folders of PATH that a program may be taken from."""
    tidy = (ntpath.normpath(folder.strip('"')) for folder in facts.path if folder.strip('"'))
    return [folder for folder in tidy if _is_absolute(folder) and not _is_owned(folder, facts)]


def _is_absolute(path: str) -> bool:
    return path[1:3] in (":\\", ":/")


def _is_launcher(path: str, facts: ShellFacts) -> bool:
    folder = _folded(ntpath.dirname(path))
    return ntpath.basename(folder) in LAUNCHERS or _is_below(folder, facts.system_root)


def _is_owned(path: str, facts: ShellFacts) -> bool:
    return any(_is_below(path, folder) for folder in facts.owned)


def _is_below(path: str, folder: str) -> bool:
    inner, outer = _folded(path), _folded(folder).rstrip("\\")
    return inner == outer or inner.startswith(outer + "\\")


def _folded(path: str) -> str:
    return ntpath.normcase(ntpath.normpath(path))


def _name(path: str) -> str:
    return ntpath.basename(ntpath.normpath(path)).lower()
