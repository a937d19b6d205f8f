"""Run the whole test suite: `python3 scripts/test.py [pytest arguments]`. Makes the environment on the first run."""

from __future__ import annotations

import os
import sys

import _progress
import _venv


def main() -> int:
    """Pytest's exit code."""
    _venv.ready()
    _venv.compile_modules()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # pytest keeps the tests that it has prepared for the next run
    given = sys.argv[1:]
    words = []
    if (os.cpu_count() or 1) > 1 and not any(word.startswith(("-n", "--numprocesses", "--pdb")) for word in given):
        words += ["-n", "2", "--dist", "worksteal"]
    os.chdir(_venv.ROOT)
    sys.path.insert(0, _venv.ROOT)
    return _progress.run_pytest([*words, *given])


if __name__ == "__main__":
    sys.exit(main())
