"""Generated shell commands: the gate's decision against what bash really does.

    scripts/fuzz_gate.py [COUNT] [--seed N] [--start N] [--mode MODE]     ends with 1 if they disagree

For the hand: 1,000 commands take about half a minute. Needs bubblewrap. `tests/test_gate_fuzz.py` runs a short one. A
finding is repeated with its seed and number: `scripts/fuzz_gate.py 1 --seed 7 --start 4711`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import _venv

if TYPE_CHECKING:
    from tests.helpers.gate_fuzz import Finding

MAX_COUNT = 1_000_000


def show(finding: Finding) -> None:
    """Print a finding at once: a long run may be stopped."""
    print(f"! seed {finding.seed}, number {finding.number}, {finding.mode}: {finding.what}", flush=True)
    print(repr(finding.command), flush=True)


def main() -> int:
    """Generate, judge, run, compare."""
    _venv.ready()
    sys.path.insert(0, _venv.ROOT)
    from tests.helpers.gate_fuzz import MODES, Trial, fuzz
    from tests.helpers.requirements import can_sandbox

    parser = argparse.ArgumentParser(description="The gate's decision against what bash really does.")
    parser.add_argument("count", nargs="?", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--mode", choices=tuple(MODES))
    given = parser.parse_args()
    if not can_sandbox():
        print("this needs bubblewrap: the commands are run for real", file=sys.stderr)
        return 2
    began = time.monotonic()
    numbers = range(given.start, given.start + min(given.count, MAX_COUNT))
    with tempfile.TemporaryDirectory(prefix="yume-fuzz-") as folder:
        tally = fuzz(Trial(Path(folder)), given.seed, numbers, (given.mode,) if given.mode else tuple(MODES), show)
    print(
        f"{tally.generated} decisions, {tally.allowed} commands allowed and run, {tally.programs} programs seen, "
        f"{len(tally.findings)} findings, {time.monotonic() - began:.0f} s"
    )
    return 1 if tally.findings else 0


if __name__ == "__main__":
    sys.exit(main())
