"""Fuzzes everything that reads foreign bytes, in this process: does anything raise, hang or break the protocol?

    scripts/fuzz.py [--target NAME …] [--inputs N] [--seconds S] [--seed N] [--engine atheris|random] [--list]
    scripts/fuzz.py --target NAME --input FILE            one input again, with the traceback

Ends with 1 if a promise was broken; each such input is written to a folder, with the command that shows it again. The
engine `random` needs nothing; `atheris` looks for inputs that reach new code: `.venv/bin/pip install atheris` first (it
has wheels for Linux only, so it is not among the dependencies). The targets are in `tests/fuzz/`; the suite runs a few
inputs of each.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import _venv

if TYPE_CHECKING:
    from tests.fuzz.harness import Finding, Report

INPUTS = 20_000
PLACE = Path(tempfile.gettempdir()) / "yume-fuzz"


def main() -> int:
    """Fuzz each target, then a table of what was done."""
    _venv.ready()
    sys.path.insert(0, _venv.ROOT)
    from tests.fuzz.harness import target_names

    parser = argparse.ArgumentParser(description="Random bytes for everything that reads bytes.")
    parser.add_argument("--target", action="append", choices=sorted(target_names()), help="all by default")
    parser.add_argument("--inputs", type=int, default=INPUTS, help="of each target")
    parser.add_argument("--seconds", type=float, default=0.0, help="of each target at most; 0 = no limit")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", choices=("atheris", "random"), default="random")
    parser.add_argument("--input", type=Path, help="check this file only")
    parser.add_argument("--findings", type=Path, default=PLACE, help="where inputs that broke a promise are written")
    parser.add_argument("--list", action="store_true", help="the names of the targets")
    given = parser.parse_args()
    names: list[str] = given.target or sorted(target_names())
    if given.list:
        print("\n".join(names))
        return 0
    if given.input is not None:
        return once(names[0], given.input)
    if given.engine == "atheris":
        return run_atheris(names, given)
    reports = [run_target(name, given) for name in names]
    return summary(reports)


def run_target(name: str, given: argparse.Namespace) -> Report:
    """Random inputs for one target."""
    from tests.fuzz.harness import open_target, run_random

    folder = Path(tempfile.mkdtemp(prefix="yume-fuzz-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
    try:
        target = open_target(name, folder)
        try:
            report = run_random(
                target,
                inputs=given.inputs,
                seconds=given.seconds,
                seed=given.seed,
                found=lambda finding: keep(name, finding, given.findings),
            )
        finally:
            target.close()
    finally:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
    show(report)
    return report


def show(report: Report) -> None:
    """One row of the table."""
    each = report.inputs / max(report.seconds, 0.001)
    print(
        f"{report.target:26} {report.inputs:>10,} inputs {report.seconds:8.1f} s {each:>9,.0f}/s "
        f"{len(report.findings)} findings",
        flush=True,
    )


def summary(reports: list[Report]) -> int:
    """The sum; 1 if something was found."""
    inputs, seconds = sum(report.inputs for report in reports), sum(report.seconds for report in reports)
    found = sum(len(report.findings) for report in reports)
    print(f"{'all':26} {inputs:>10,} inputs {seconds:8.1f} s {inputs / max(seconds, 0.001):>9,.0f}/s {found} findings")
    return 1 if found else 0


def keep(name: str, finding: Finding, place: Path) -> None:
    """Write the input and its traceback; say how it is shown again."""
    from hashlib import sha256

    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{name}-{sha256(finding.data).hexdigest()[:12]}"
    path.write_bytes(finding.data)
    path.with_suffix(".txt").write_text(finding.report, "utf-8", errors="replace")
    print(f"! {name}: {finding.what}\n  scripts/fuzz.py --target {name} --input {path}", file=sys.stderr, flush=True)


def once(name: str, path: Path) -> int:
    """One input again."""
    from tests.fuzz.harness import open_target, time_limit, try_input

    with tempfile.TemporaryDirectory(prefix="yume-fuzz-") as folder, time_limit():
        target = open_target(name, Path(folder))
        finding = try_input(target, path.read_bytes())
        target.close()
    print(finding.report if finding is not None else "no promise is broken")
    return 1 if finding is not None else 0


# ---------------------------------------------------------------- the coverage-guided engine


def run_atheris(names: list[str], given: argparse.Namespace) -> int:
    """Each target in a process of its own: this engine ends its process."""
    from importlib.util import find_spec

    if find_spec("atheris") is None:
        print("this engine needs atheris: .venv/bin/pip install atheris", file=sys.stderr)
        return 2
    from tests.fuzz.harness import Report

    reports = []
    for name in names:
        with tempfile.TemporaryDirectory(prefix="yume-fuzz-") as folder:
            told = Path(folder) / "report.json"
            words = [name, str(told), str(given.inputs), str(given.seconds), str(given.seed), str(given.findings)]
            runner = [sys.executable, "-m", "tests.fuzz.guided", *words]
            with open(Path(folder) / "log", "wb") as log:
                code = subprocess.run(runner, cwd=_venv.ROOT, stdout=log, stderr=log, check=False).returncode
            if code or not told.exists():
                print(f"! {name} ended with {code}:", (Path(folder) / "log").read_text("utf-8", "replace")[-3_000:])
                return 1
            facts = json.loads(told.read_text("utf-8"))
            reports.append(Report(name, facts["inputs"], facts["seconds"], facts["findings"]))
        for what in facts["findings"]:
            print(f"! {name}: {what}", file=sys.stderr, flush=True)
        show(reports[-1])
    return summary(reports)


if __name__ == "__main__":
    sys.exit(main())
