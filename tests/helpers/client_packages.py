"""Third-party programs from npm and PyPI, installed once into a cache outside the checkout.

A test whose client cannot be installed (no Node, no network, or switched off) is skipped with the reason.
"""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

SWITCH = "YUME_TEST_NODE"
"""`0` skips all tests that need third-party programs."""
INSTALL_LIMIT = 240
"""Seconds that one install may take."""
DONE = "installed.json"
_ENVIRONMENT = dict(os.environ)
"""The environment at collection time: a test has its own home, but npm needs the settings of the real one."""


def node() -> str:
    """The interpreter, or a skipped test that says why."""
    _check_switch()
    found = shutil.which("node")
    if found is None or shutil.which("npm") is None:
        pytest.skip("node and npm are not installed")
    return found


def from_npm(*packages: str) -> Path:
    """A folder whose `node_modules` holds these packages (`name@version`), without platform binaries or scripts."""
    node()

    def install(folder: Path) -> None:
        (folder / "package.json").write_text('{"private": true}\n', "utf-8")
        words = ["install", "--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund"]
        _run([str(shutil.which("npm")), *words, *packages], folder)

    return _kept(("npm", *packages), install)


def from_pypi(package: str, command: str, *options: str) -> Path:
    """A command of a package (`name==version`), in its own virtual environment; options are pip's."""
    _check_switch()

    def install(folder: Path) -> None:
        _run([sys.executable, "-m", "venv", str(folder / "env")], folder)
        python = shutil.which("python", path=_programs(folder))
        _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *options, package], folder)

    folder = _kept(("pypi", package, *options), install)
    found = shutil.which(command, path=_programs(folder))
    assert found is not None, f"{package} has no command {command}"
    return Path(found)


def _programs(folder: Path) -> str:
    """The search path for the commands of an environment."""
    return os.pathsep.join(str(folder / "env" / name) for name in ("bin", "Scripts"))


def _check_switch() -> None:
    if os.environ.get(SWITCH) == "0":
        pytest.skip(f"{SWITCH}=0: tests with third-party programs are switched off")


def _kept(packages: tuple[str, ...], install: Callable[[Path], None]) -> Path:
    """The folder of an install, made if it is missing. Parallel test processes wait for each other."""
    root = Path(tempfile.gettempdir()) / f"yume-shim-clients-{getpass.getuser()}"
    root.mkdir(mode=0o700, exist_ok=True)
    name = hashlib.sha256("\n".join(packages).encode()).hexdigest()[:16]
    folder, lock = root / name, root / f"{name}.lock"
    deadline = time.monotonic() + INSTALL_LIMIT
    while not (folder / DONE).exists():
        if time.monotonic() > deadline:
            pytest.skip(f"another process has been installing {' '.join(packages)} for too long: remove {lock}")
        try:
            lock.mkdir()
        except FileExistsError:
            time.sleep(0.2)
            continue
        try:
            shutil.rmtree(folder, ignore_errors=True)  # what an install that was stopped has left
            folder.mkdir()
            install(folder)
            (folder / DONE).write_text(json.dumps(packages), "utf-8")
        finally:
            lock.rmdir()
    return folder


def _run(words: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(
            words, cwd=folder, env=_ENVIRONMENT, capture_output=True, text=True, timeout=INSTALL_LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"not done within {INSTALL_LIMIT} s: {' '.join(words)}")
    if done.returncode:
        pytest.skip(f"failed: {' '.join(words)}: {done.stderr.strip()[-300:]}")
