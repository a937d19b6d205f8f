"""Instructions instead of milliseconds, where valgrind is installed: they are the same on a busy machine."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bench_parts.programs import bare_python, environment, ours
from bench_parts.runs import prompt

if TYPE_CHECKING:
    from bench_parts.programs import Program, Start

SHORT, LESS, MORE = 20, 4_000, 8_000
"""Deltas of a short turn; of the two answers whose difference gives the instructions of an event. Both are long enough
for the faster JSON parser to be loaded."""
SCRIPT = "from yume_shim.cli.main import entry; entry()"
_COUNT = re.compile(rb"Collected : (\d+)")


def available() -> bool:
    """Is valgrind there?"""
    return shutil.which("valgrind") is not None


def count(program: Program, url: str, asked: str) -> int:
    """Instructions of one run, in user space, all threads."""
    with tempfile.TemporaryDirectory(prefix="yume-bench-") as folder:
        home = Path(folder)
        start = program.start(asked, url, home)
        words = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={home / 'out'}", *start.argv]
        done = subprocess.run(words, cwd=home, env=environment(home, start.env), capture_output=True, check=False)
    found = _COUNT.search(done.stderr)
    if found is None or done.returncode:
        raise SystemExit(f"valgrind failed ({done.returncode}): {done.stderr.decode()[-500:]}")
    return int(found[1])


def of_short_turn(url: str) -> dict[str, float]:
    """A short turn, and its ratio to bare Python."""
    floor = count(bare_python(), url, "")
    found = {}
    for form in ("stream-json", "flat"):
        turn = count(_as_script(ours("anthropic", form)), url, prompt(SHORT))
        found[f"instructions of a short turn, {form}, millions"] = turn / 1e6
        found[f"… to bare Python, {form}"] = turn / floor
    return found


def _as_script(program: Program) -> Program:
    """Started as the console script does it: `python -m` adds 9 million."""

    def start(asked: str, url: str, home: Path) -> Start:
        made = program.start(asked, url, home)
        place = made.argv.index("-m")
        return made._replace(argv=[*made.argv[:place], "-P", "-c", SCRIPT, *made.argv[place + 2 :]])

    return program._replace(start=start)


def per_event(api: str, form: str, url: str) -> float:
    """Instructions of one event."""
    program = ours(api, form)
    counts = [count(program, url, prompt(deltas)) for deltas in (LESS, MORE)]
    return (counts[1] - counts[0]) / (MORE - LESS)
