"""What some tests need from the machine. A test says so with a marker of the same name (`@pytest.mark.node`); where the
thing is missing the test is skipped, and the summary counts it under the reason given here."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@cache
def can_sandbox() -> bool:
    """Whether bubblewrap works here: it needs namespaces, which containers often lack."""
    program = shutil.which("bwrap")
    if program is None:
        return False
    words = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid", "--unshare-net", "true"]
    return subprocess.run([program, *words], capture_output=True, check=False).returncode == 0


@cache
def can_run_ray() -> bool:
    """Whether Ray is installed and may get a network of its own, in which it finds loopback only."""
    if importlib.util.find_spec("ray") is None or shutil.which("unshare") is None:
        return False
    words = ["unshare", "--net", *([] if is_root() else ["--map-root-user"]), "true"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


@cache
def can_confine() -> bool:
    """Whether this kernel has Landlock and seccomp filters."""
    if not sys.platform.startswith("linux"):
        return False
    from yume_shim.tools.shell.launches import landlock_works

    return all(landlock_works())


@cache
def has_gnu_parallel() -> bool:
    """Whether there is a `parallel`, and it is GNU's: another program has the same name."""
    program = shutil.which("parallel")
    if program is None:
        return False
    return b"GNU parallel" in subprocess.run([program, "--version"], capture_output=True, check=False).stdout


def is_root() -> bool:
    """Whether the tests run as root. Windows has no such user."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _has(*programs: str) -> bool:
    return any(shutil.which(name) for name in programs)


REQUIREMENTS: dict[str, tuple[Callable[[], bool], str]] = {
    "node": (lambda: _has("node") and _has("npm"), "node or npm not found"),
    "chromium": (
        lambda: _has("chromium", "chromium-browser", "google-chrome"),
        "chromium not found",
    ),
    "fish": (lambda: _has("fish"), "fish not found"),
    "zsh": (lambda: _has("zsh"), "zsh not found"),
    "parallel": (has_gnu_parallel, "GNU parallel not found"),
    "ray": (can_run_ray, "Ray is not installed, or network namespaces are not permitted"),
    "wine": (lambda: _has("wine", "wine64"), "wine not found"),
    "ripgrep": (lambda: _has("rg"), "ripgrep not found"),
    "bubblewrap": (can_sandbox, "bubblewrap not found or not permitted"),
    "landlock": (can_confine, "Landlock or seccomp filters not available"),
    "root": (is_root, "root only"),
    "valgrind": (lambda: _has("valgrind"), "valgrind not found"),
    "not_root": (lambda: not is_root(), "not as root"),
    "recordings": (lambda: os.path.isdir(os.environ.get("YUME_RECORDED", "")), "YUME_RECORDED names no folder"),
}
"""Marker → (is it there, why a test is skipped where it is not). Redis is found or fetched by its own helper."""


def missing(marker: str) -> str:
    """Why a test with this marker cannot run here; "" if it can, or if the marker is no requirement."""
    if marker not in REQUIREMENTS:
        return ""
    present, reason = REQUIREMENTS[marker]
    return "" if present() else reason
