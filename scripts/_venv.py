"""The environment of this checkout: `.venv`, made from requirements.lock on the first run, reused on every later one.

`ready()` returns only inside an environment that has everything; otherwise it makes one and starts the calling script
again in it. A stamp (hash of the lock file and of pyproject.toml) shows whether anything has to be done, so the second
run costs a few milliseconds. Nothing newer than Python 3.7 here: an old one must get as far as the message about it.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

OLDEST = (3, 11)
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
LOCK = os.path.join(ROOT, "requirements.lock")
STAMP = os.path.join(VENV, "yume-stamp")
NEEDED = ("yume_shim", "pytest", "xdist", "orjson", "claude_agent_sdk")
"""What another virtual environment must have to be used as it is."""
COMPILED = ("yume_shim", "scripts", "tests/chaos", "tests/helpers")
"""Folders with modules that are started again and again: thousands of times in one run of the tests."""
SHOWN_LINES = 30
"""Lines of a failed command's output that are shown."""


def ready() -> None:
    """Come back only when this process runs in a complete environment."""
    refuse_old_python()
    if _is_complete_elsewhere():
        return
    if not _is_stamped():
        _make()
    if os.path.realpath(sys.prefix) != os.path.realpath(VENV):
        _restart()


def compile_modules(interpreter: str = sys.executable) -> None:
    """Write the bytecode of what changed, also where PYTHONDONTWRITEBYTECODE keeps Python from doing so: a start
    without it compiles every module that it imports, which takes three times the processor time. A checkout that
    cannot be written stays as it is."""
    subprocess.call([interpreter, "-m", "compileall", "-qq", *COMPILED], cwd=ROOT)


def refuse_old_python() -> None:
    """End with a clear message if this Python is too old."""
    if tuple(sys.version_info) < OLDEST:
        needed = ".".join(map(str, OLDEST))
        stop(
            f"Python {needed} or newer is needed, this is {_version()} ({sys.executable}).",
            f"Run the script with a newer one, for example: python{needed} {' '.join(sys.argv)}",
        )


def python() -> str:
    """The environment's interpreter."""
    if os.name == "nt":
        return os.path.join(VENV, "Scripts", "python.exe")
    return os.path.join(VENV, "bin", "python")


def stop(problem: str, advice: str) -> NoReturn:
    """Say what is wrong and what to do about it, and end."""
    sys.stderr.write(f"\n{problem}\n{advice}\n")
    raise SystemExit(2)


def _version() -> str:
    return ".".join(map(str, sys.version_info[:3]))


def _is_complete_elsewhere() -> bool:
    """Another virtual environment that has the project and its test tools."""
    if sys.prefix == sys.base_prefix or os.path.realpath(sys.prefix) == os.path.realpath(VENV):
        return False
    from importlib.util import find_spec

    return all(find_spec(name) is not None for name in NEEDED)


def _wanted_stamp() -> str:
    digest = hashlib.sha256()
    for path in (LOCK, os.path.join(ROOT, "pyproject.toml")):
        with open(path, "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def _is_stamped() -> bool:
    try:
        with open(STAMP, encoding="ascii") as file:
            return file.read() == _wanted_stamp() and os.path.exists(python())
    except OSError:
        return False


def _make() -> None:
    started = time.monotonic()
    if not _works():
        _say(f"Making the environment .venv with Python {_version()} …")
        _run([sys.executable, "-m", "venv", "--clear", VENV], "make a virtual environment")
        # Python 3.11 puts setuptools into new environments; its .pth file runs code at every start of the interpreter.
        _run([python(), "-m", "pip", "uninstall", "--yes", "setuptools"], "tidy the virtual environment")
    pip = [python(), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    _say("Installing what requirements.lock lists (about a minute the first time) …")
    _run([*pip, "--progress-bar", "off", "-r", LOCK], "install the packages of requirements.lock", _count_pins())
    _say("Installing yume_shim itself, editable …")
    _run([*pip, "--no-deps", "--no-build-isolation", "-e", ROOT], "install yume_shim")
    compile_modules(python())
    with open(STAMP, "w", encoding="ascii") as file:
        file.write(_wanted_stamp())
    _say(f"Ready after {time.monotonic() - started:.0f} s.")


def _works() -> bool:
    """Whether `.venv` holds an interpreter that starts, is new enough and has pip."""
    if not os.path.exists(python()):
        return False
    probe = f"import sys, pip; sys.exit(sys.version_info < {OLDEST!r})"
    return subprocess.call([python(), "-c", probe], stderr=subprocess.DEVNULL) == 0


def _count_pins() -> int:
    with open(LOCK, encoding="utf-8") as file:
        return sum("==" in line for line in file)


def _run(command: list[str], what: str, expected: int = 0) -> None:
    """Run a command; on a terminal show which package it is at. Its output is shown only when it fails."""
    tail: list[str] = []
    seen = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT) as child:
        assert child.stdout is not None
        for raw in child.stdout:
            line = raw.decode("utf-8", "replace").rstrip()
            tail = [*tail[1 - SHOWN_LINES :], line]
            if line.startswith("Collecting ") and expected:
                seen += 1
                _progress(f"  {seen} of about {expected}: {line.split()[1]}")
    _progress("")
    if child.returncode:
        sys.stderr.write("\n".join(tail) + "\n")
        stop(
            f"Could not {what} (exit code {child.returncode}, see above).",
            "Check the network and pip's index settings, then run the same command again: what is there stays.\n"
            f"To start afresh delete the folder .venv first. The command was:\n  {' '.join(command)}",
        )


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K" + text)
        sys.stderr.flush()


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _restart() -> NoReturn:
    """Run the calling script again, in the environment."""
    sys.stdout.flush()
    command = [python(), *sys.argv]
    if os.name == "nt":  # exec on Windows would give the console back before the script is done
        raise SystemExit(subprocess.call(command))
    os.execv(command[0], command)
