"""By hand: random trees of links, `..` and odd names; what the gate judged against what the file tools open.

python scripts/fuzz_paths.py [--trees 500] [--first-seed 0]

Ends with 1 if a file outside of the workspace, or one that a rule hides, was read or changed, if a tool touched another
file than the kernel opens for the path, or if reading a plain file of the workspace needed a question. The tests have a
short run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.helpers.path_fuzz import fuzz

SHOWN = 40


def main() -> int:
    """Run all trees; 1 if there was a disagreement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--first-seed", type=int, default=0)
    given = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="yume-paths-") as made:
        found = fuzz(Path(made), range(given.first_seed, given.first_seed + given.trees))
    for problem in found.problems[:SHOWN]:
        print(problem)
    for name, count in sorted(found.counts.items()):
        print(f"{count:8} {name}")
    print(f"{given.trees} trees in {time.monotonic() - began:.0f} s, {len(found.problems)} disagreements")
    return 1 if found.problems else 0


if __name__ == "__main__":
    sys.exit(main())
