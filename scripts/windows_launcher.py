"""Has pip make `yume-shim.exe` on the real Windows Python under Wine, and runs `tests/test_windows_start.py` with it.

The wheel is built here; pip is the one that comes with this Python. It takes about a minute, so CI does not run it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import _venv
import test_windows as windows

SECONDS = 300


def bundled_pip() -> Path:
    """The wheel of pip in the standard library."""
    import ensurepip

    return next((Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl"))


def make_launcher() -> Path:
    """Install the wheel of this checkout beside the interpreter, without its dependencies."""
    from flit_core.wheel import make_wheel_in  # type: ignore[import-untyped]

    place = windows.interpreter().parent / "launcher"
    with tempfile.TemporaryDirectory() as folder:
        wheel = make_wheel_in(windows.ROOT / "pyproject.toml", Path(folder)).file
        pip = windows.windows_path(bundled_pip()) + "\\pip"
        words = ["wine", str(windows.interpreter()), "-B", pip, "install", "--quiet", "--no-index", "--no-deps"]
        words += ["--upgrade", "--no-cache-dir", "--target", windows.windows_path(place), windows.windows_path(wheel)]
        done = subprocess.run(
            words, env=windows.environment(), stdin=-3, capture_output=True, check=False, timeout=SECONDS
        )
        if done.returncode != 0:
            raise OSError(f"pip failed: {(done.stdout + done.stderr).decode('utf-8', 'replace')[-2000:]}")
    return place / "bin" / "yume-shim.exe"


def main() -> int:
    """Set up, make the launcher, run the tests."""
    _venv.ready()
    if windows.lacks_wine():
        print(f"windows: {windows.lacks_wine()}", file=sys.stderr)
        return 1
    try:
        with windows.alone(), windows.wine():
            print(make_launcher())
            return windows.run(["tests/test_windows_start.py"], SECONDS)[0]
    except (OSError, subprocess.SubprocessError) as error:
        print(f"windows: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
