"""By hand: SIGKILL at random points of a scripted session, then resume; counts what was lost, doubled or invalid.

python scripts/kill_test.py [--points 300] [--jobs 2]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.helpers.kill_points import Verdict, one_kill


def main() -> int:
    """Run all points; 1 if anything went wrong at any of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="yume-kill-") as made, ThreadPoolExecutor(given.jobs) as pool:

        def point(seed: int) -> Verdict:
            return one_kill(Path(made) / str(seed), seed)

        verdicts = list(pool.map(point, range(given.points)))
    found: Counter[str] = Counter()
    for seed, verdict in enumerate(verdicts):
        found.update(problem.partition(":")[0] for problem in verdict.problems)
        for problem in verdict.problems:
            print(f"point {seed}, after {verdict.after:.3f} s: {problem}")
    acknowledged = sum(verdict.acknowledged for verdict in verdicts)
    bad = sum(bool(verdict.problems) for verdict in verdicts)
    print(f"{len(verdicts)} kills, {acknowledged} acknowledged blocks and results; {bad} bad points; {dict(found)}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
