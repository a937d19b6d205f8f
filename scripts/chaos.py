"""By hand: random sessions with faults of endpoint, tools, host and system; reports every broken promise with its seed.

python scripts/chaos.py [--sessions 500] [--seed 1] [--jobs 4] [--only SEED]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.chaos.judge import judge
from tests.chaos.plan import draw
from tests.chaos.session import run_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tests.chaos.plan import Plan
    from tests.chaos.session import Outcome


def main() -> int:
    """Run the sessions; 1 if any promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--only", type=int, help="show one session in full")
    given = parser.parse_args()
    if given.only is not None:
        return _show(given.only)
    found: Counter[str] = Counter()
    bad = done = 0
    with tempfile.TemporaryDirectory(prefix="yume-chaos-") as made, ThreadPoolExecutor(given.jobs) as pool:
        seeds = range(given.seed * 1_000_000, given.seed * 1_000_000 + given.sessions)
        for plan, outcome in pool.map(lambda seed: _run(seed, Path(made)), seeds):
            seed, problems = plan.seed, judge(plan, outcome)
            for path in outcome.transcripts:
                path.unlink(missing_ok=True)
            done += 1
            bad += bool(problems)
            for problem in problems:
                found[problem.partition(":")[0]] += 1
                print(f"seed {seed}: {problem}", flush=True)
            if done % 50 == 0:
                print(f"{done} of {given.sessions} sessions, {bad} with findings", file=sys.stderr, flush=True)
    print(f"{done} sessions, {bad} with findings; {dict(found)}")
    return 1 if bad else 0


def _run(seed: int, folder: Path) -> tuple[Plan, Outcome]:
    plan = draw(seed)
    return plan, run_session(plan, folder / str(seed))


def _show(seed: int) -> int:
    plan = draw(seed)
    for name, item in plan._asdict().items():
        print(f"{name}: {item}")
    with tempfile.TemporaryDirectory(prefix="yume-chaos-") as made:
        outcome = run_session(plan, Path(made) / "one")
        problems = judge(plan, outcome)
    print(f"--- stdout\n{outcome.stdout.decode(errors='replace')}")
    print(f"--- stderr\n{outcome.stderr.decode(errors='replace')}")
    print(f"--- code {outcome.code}, {outcome.seconds:.1f} s, {outcome.peak_kb} KB")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
