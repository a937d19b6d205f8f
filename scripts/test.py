"""Run the whole test suite: `python3 scripts/test.py [pytest arguments]`. Makes the environment on the first run."""

from __future__ import annotations

import os
import subprocess
import sys

import _venv


def main() -> int:
    """Pytest's exit code."""
    _venv.ready()
    given = sys.argv[1:]
    command = [sys.executable, "-m", "pytest"]
    if (os.cpu_count() or 1) > 1 and not any(word.startswith(("-n", "--numprocesses", "--pdb")) for word in given):
        command += ["-n", "2", "--dist", "worksteal"]
    return subprocess.call([*command, *given], cwd=_venv.ROOT)


if __name__ == "__main__":
    sys.exit(main())
