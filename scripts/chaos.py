"""By hand: random sessions with faults of endpoint, tools, host and system; reports every broken promise with its seed.

python scripts/chaos.py [--sessions 500] [--seed 1] [--jobs 4] [--only SEED] [--source FOLDER] [--log FILE]
python scripts/chaos.py --mutants [NAME]     proves that the judge sees a broken program
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from _progress import Progress

from tests.chaos.coverage import Coverage
from tests.chaos.judge import judge
from tests.chaos.plan import draw
from tests.chaos.session import Launchers, run_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tests.chaos.plan import Plan
    from tests.chaos.running import Outcome

ROOT = Path(__file__).resolve().parents[1]
SEED_STEP = 1_000_000
REPORT_EVERY = 100


def main() -> int:
    """Run the sessions; 1 if any promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--only", type=int, help="show one session in full")
    parser.add_argument("--source", type=Path, default=ROOT, help="the folder that holds yume_shim")
    parser.add_argument("--log", type=Path, help="append findings and counts to this file")
    parser.add_argument("--mutants", nargs="?", const="", help="try the judge on broken programs")
    given = parser.parse_args()
    if given.mutants is not None:
        from tests.chaos.mutants import try_mutants

        return try_mutants(given.mutants, given.jobs)
    launchers = Launchers.open(given.source)
    try:
        if given.only is not None:
            return _show(given.only, launchers)
        seeds = range(given.seed * SEED_STEP, given.seed * SEED_STEP + given.sessions)
        return _run_all(seeds, given.jobs, launchers, given.log)
    finally:
        launchers.close()


def _run_all(seeds: range, jobs: int, launchers: Launchers, log: Path | None) -> int:
    found: Counter[str] = Counter()
    covered = Coverage()
    bad = forced = 0
    began = time.monotonic()
    progress = Progress("chaos", len(seeds))
    with progress, tempfile.TemporaryDirectory(prefix="yume-chaos-") as made, ThreadPoolExecutor(jobs) as pool:
        run = pool.map(lambda seed: _run(seed, Path(made), launchers), seeds)
        for done, (plan, outcome, problems) in enumerate(run, 1):
            if outcome is not None:
                covered.add(plan, outcome)
                forced += outcome.forced
            again: set[str] = set()
            if problems:
                bad += 1
                again = {_kind(problem) for problem in _run(plan.seed, Path(made), launchers)[2]}
            progress.step(f"{bad} with findings" if bad else "")
            for problem in problems:
                found[_kind(problem)] += 1
                repeated = "yes" if _kind(problem) in again else "no"
                _say(log, f"seed {plan.seed}: {problem} (again: {repeated})", progress)
            if done % REPORT_EVERY == 0:
                rate = done / (time.monotonic() - began)
                _say(log, f"{done} of {len(seeds)} sessions, {bad} with findings, {rate:.1f} per second", progress)
    _say(log, covered.table())
    _say(log, f"{len(seeds)} sessions from seed {seeds[0]}, {bad} with findings; {dict(found)}")
    if forced:
        _say(log, f"{forced} of them were given so little processor time that the program had to end them itself")
    return 1 if bad else 0


def _kind(problem: str) -> str:
    return problem.partition(":")[0]


def _run(seed: int, folder: Path, launchers: Launchers) -> tuple[Plan, Outcome | None, list[str]]:
    plan, outcome = draw(seed), None
    place = folder / str(seed)
    try:
        outcome = run_session(plan, place, launchers)
        problems = judge(plan, outcome)
    except Exception as error:
        problems = [f"harness: {error!r}"]
    shutil.rmtree(place, ignore_errors=True)
    return plan, outcome, problems


def _say(log: Path | None, text: str, progress: Progress | None = None) -> None:
    if progress is not None:
        progress.clear()
    print(text, flush=True)
    if log is not None:
        with log.open("a", encoding="utf-8") as file:
            file.write(text + "\n")


def _show(seed: int, launchers: Launchers) -> int:
    plan: Plan = draw(seed)
    for name, item in plan._asdict().items():
        print(f"{name}: {item}")
    with tempfile.TemporaryDirectory(prefix="yume-chaos-") as made:
        outcome: Outcome = run_session(plan, Path(made) / "one", launchers)
        problems = judge(plan, outcome)
        for path in outcome.transcripts:
            print(f"--- {path.name}\n{path.read_text('utf-8', 'replace')}")
    print(f"--- stdout\n{outcome.stdout.decode(errors='replace')}")
    print(f"--- stderr\n{outcome.stderr.decode(errors='replace')}")
    print(f"--- code {outcome.code}, {outcome.seconds:.1f} s and {outcome.lost:.1f} s without a processor")
    print(f"--- {outcome.peak_kb} KB, {outcome.descriptors} descriptors, faults {outcome.faults}")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
