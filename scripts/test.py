"""Run the whole test suite: `python3 scripts/test.py [pytest arguments]`. Makes the environment on the first run."""

from __future__ import annotations

import os
import sys

import _progress
import _venv

WORKERS_PER_CORE = 2
"""Half of the suite's time is waiting for processes, sockets and time limits: a second worker uses it."""
MOST_WORKERS = 16


def main() -> int:
    """Pytest's exit code."""
    _venv.ready()
    _venv.compile_modules()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # pytest keeps the tests that it has prepared for the next run
    given = sys.argv[1:]
    words = []
    if not any(word.startswith(("-n", "--numprocesses", "--pdb")) for word in given):
        words += ["-n", str(_workers()), "--dist", "worksteal"]
    os.chdir(_venv.ROOT)
    sys.path.insert(0, _venv.ROOT)
    return _progress.run_pytest([*words, *given])


def _workers() -> int:
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return min(cores * WORKERS_PER_CORE, MOST_WORKERS)


if __name__ == "__main__":
    sys.exit(main())
