"""By hand: what the confinement of a command costs: `true` through the Bash tool, open, as a reading command, and as an
edit.

    python scripts/bench_confinement.py [--runs 60]

The kinds take turns, so that a busy moment of the machine hits all of them. The minimum says what the mechanism costs,
the median what it costs at the load that is printed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.helpers.fakes import cancel
from tests.helpers.tool_cases import toolbox
from yume_shim.engine.toolbox import Toolbox
from yume_shim.types.blocks import ToolCall
from yume_shim.types.confinement import Confinement
from yume_shim.types.outputs import ToolContext
from yume_shim.types.protected_names import single_names


def kinds(work: Path) -> dict[str, Confinement | None]:
    """What a command may be allowed on."""
    (work / "sub").mkdir()
    (work / "secret.txt").write_text("x")
    hidden = (str(work / "secret.txt"),)
    return {
        "open": None,
        "read": Confinement("read"),
        "read, a hidden file": Confinement("read", hidden=hidden),
        "edit": Confinement("edit", (str(work),), (str(work / "sub"),), single_names()),
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=60, help="commands per kind")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="yume-bench-", dir="/var/tmp") as made:
        took = measure(Path(made), given.runs)
    sys.stdout.write(f"{'ms':<22}{'median':>8}{'minimum':>9}\n")
    for name, times in took.items():
        sys.stdout.write(f"{name:<22}{statistics.median(times):>8.1f}{min(times):>9.1f}\n")
    load = ", ".join(f"{number:.1f}" for number in os.getloadavg())
    sys.stdout.write(f"{given.runs} runs of each; load {load} on {os.cpu_count()} processors\n")
    return 0


def measure(base: Path, runs: int) -> dict[str, list[float]]:
    """Milliseconds by kind; the first round, which loads modules, does not count."""
    work = base / "work"
    work.mkdir()
    tools = toolbox(work, base / "scratch")
    box = Toolbox((tools,))
    prepared = box.prepare(box.complete_for_host(ToolCall("c", "Bash", {"command": "true"})))
    all_kinds = kinds(work)
    took: dict[str, list[float]] = {name: [] for name in all_kinds}
    for number in range(runs + 1):
        for name, confinement in all_kinds.items():
            began = time.perf_counter()
            box.run(prepared, ToolContext("c", cancel(), confinement=confinement))
            if number:
                took[name].append(1000 * (time.perf_counter() - began))
    tools.close()
    return took


if __name__ == "__main__":
    sys.exit(main())
