"""Lines of `doctor` about the machine: Python, bytecode, packages, programs, confinement of commands."""

from __future__ import annotations

import os
import sys

from yume_shim import CLAUDE_VERSION, __version__
from yume_shim.cli.doctor.line import Line
from yume_shim.types.packages import PACKAGES, install_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from yume_shim.types.settings import Settings

INSTALL, PROGRAMS = "Installation", "Programs and confinement"
_EVERY_TURN = "orjson"
_PROGRAMS = (
    ("ripgrep", "rg", "not found: Grep uses its built-in search, which is slower"),
    ("git", "git", "not found: commands of git do not work, prompts do not say which branch is checked out"),
    ("node", "node", "not found: MCP servers and hooks that need it do not start"),
)


def install_lines(transport: str) -> Iterator[Line]:
    """The program, Python, bytecode, packages and extras. `transport`: "sdk" makes the SDKs necessary."""
    yield Line(INSTALL, "yume_shim", "ok", f"{__version__}, compatible with Claude CLI {CLAUDE_VERSION}")
    yield Line(INSTALL, "Python", "ok", f"{sys.version.split()[0]}, {sys.executable or 'bundled'}")
    yield bytecode_line(package_folder())
    yield _orjson_line()
    plain = [package for package in PACKAGES.values() if not package.extra]
    missing = [package for package in plain if not is_there(package.module)]
    if not missing:
        yield Line(INSTALL, "packages", "ok", f"all {len(plain)} of a plain installation")
    else:
        yield Line(INSTALL, "packages", "off", f"{len(plain) - len(missing)} of {len(plain)}: a lean installation")
    for package in missing:
        needed = transport == "sdk" and "SDK transport" in package.job
        yield Line(
            INSTALL,
            package.name,
            "wrong" if needed else "off",
            f"not installed: {package.job}",
            install_command(package),
        )
    for package in PACKAGES.values():
        if package.extra and is_there(package.module):
            yield Line(INSTALL, package.name, "ok", f"extra {package.extra}: {package.job}")
        elif package.extra:
            text = f"extra {package.extra} not installed: {package.job}"
            yield Line(INSTALL, package.name, "off", text, install_command(package))


def _orjson_line() -> Line:
    if is_there(_EVERY_TURN):
        return Line(INSTALL, _EVERY_TURN, "ok", "installed: every turn needs it")
    return Line(INSTALL, _EVERY_TURN, "wrong", "not installed: every turn needs it", f"pip install {_EVERY_TURN}")


def is_there(module: str) -> bool:
    """Can it be found? Nothing is imported: some of them take a second."""
    from importlib.util import find_spec

    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # a parent is missing, or is blocked
        return False


def package_folder() -> str:
    """Where this program is installed."""
    import yume_shim

    return os.path.dirname(os.path.abspath(yume_shim.__file__))


def bytecode_line(folder: str) -> Line:
    """Without bytecode in a folder that cannot be written every start compiles the whole program again."""
    from importlib.util import cache_from_source

    if getattr(sys, "frozen", False):
        return Line(INSTALL, "bytecode", "ok", "part of the bundle")
    sources = [os.path.join(base, name) for base, _, names in os.walk(folder) for name in names if name.endswith(".py")]
    missing = [path for path in sources if not os.path.exists(cache_from_source(path))]
    if not missing:
        return Line(INSTALL, "bytecode", "ok", "complete")
    if _can_write(os.path.dirname(cache_from_source(missing[0]))) and not sys.dont_write_bytecode:
        return Line(INSTALL, "bytecode", "ok", "written when a module is first loaded")
    why = "PYTHONDONTWRITEBYTECODE is set" if sys.dont_write_bytecode else f"{folder} cannot be written"
    text = f"missing for {len(missing)} of {len(sources)} modules, and {why}: every start compiles them again"
    repair = f"as the owner of the folder: {sys.executable or 'python3'} -m compileall -q {folder}"
    return Line(INSTALL, "bytecode", "off", text, repair)


def _can_write(folder: str) -> bool:
    while not os.path.isdir(folder) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    return os.access(folder, os.W_OK)


def program_lines(settings: Settings | None, env: Mapping[str, str]) -> Iterator[Line]:
    """Programs on the PATH, the shell that Bash uses, and what the system can enforce on commands."""
    from yume_shim.tools.shell.wall import confinement_rows, full_probe, is_complete

    for name, program, absent in _PROGRAMS:
        found = _which(program, env)
        yield Line(PROGRAMS, name, "ok" if found else "off", found or absent)
    yield _shell_line(settings, env)
    able = full_probe()
    wants = settings is not None and (settings.tools.claude_sandbox.enabled or bool(settings.tools.sandbox))
    for name, text in confinement_rows(able, wants):
        if name == "sandbox":
            todo = "install bubblewrap, or remove the sandbox from the settings"
            yield Line(PROGRAMS, name, "wrong", text, todo)
        else:
            yield Line(PROGRAMS, name, "ok" if is_complete(able) else "off", text)
    if sys.platform.startswith("linux") and not able.bubblewrap:
        installed = _which("bwrap", env)
        text = f"{installed} is not permitted to make namespaces here" if installed else "not found"
        yield Line(PROGRAMS, "bubblewrap", "off", text)


def _which(name: str, env: Mapping[str, str]) -> str:
    from yume_shim.config.setting_sources import working_folder
    from yume_shim.system.programs import find_program

    return find_program(name, env.get("PATH", os.defpath), owned=(working_folder(),))


def _shell_line(settings: Settings | None, env: Mapping[str, str]) -> Line:
    """The shell of the Bash tool."""
    if os.name == "nt":
        from yume_shim.config.setting_sources import working_folder
        from yume_shim.system.windows.shell import shell_of_settings, shell_of_this_windows

        owned = (working_folder(),)
        choice = shell_of_settings(settings) if settings is not None else shell_of_this_windows(env, "", owned)
        text = "; ".join((f"{choice.program} ({choice.source})" if choice.kind else "none", *choice.warnings))
        todo = "" if choice.kind else "install Git for Windows, or set CLAUDE_CODE_GIT_BASH_PATH"
        return Line(PROGRAMS, "shell", "ok" if choice.kind else "off", text, todo)
    for name in ("bash", "sh"):
        found = _which(name, env)
        if found:
            return Line(PROGRAMS, "shell", "ok", f"{found} runs the commands of Bash")
    return Line(PROGRAMS, "shell", "off", "neither bash nor sh on the PATH: commands may not run", "install bash")
