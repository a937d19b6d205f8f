"""Long runs: do processes, open files, threads or memory grow? Ends with 1 if something did.

    scripts/soak.py [CALLS]              2000 mixed tool calls in one session, by default
    scripts/soak.py --turns 10000        turns in one process
    scripts/soak.py --processes 50       processes at once
    scripts/soak.py --hours 24           simulated hours of an idle session with keep-alives

For the hand. `tests/unit/tools/test_soak.py` runs a short one of the first kind.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import _venv

if TYPE_CHECKING:
    from yume_shim.engine.toolbox import Toolbox

MAX_CALLS = 100_000
WARM = 60
"""Calls before the first measurement: imports and caches are no leak."""
MAX_FILES = 2
MAX_KILOBYTES = 16_384
"""Growth that is let pass, over the whole run."""
BACKGROUND_EVERY = 25


class Left(NamedTuple):
    """What a process holds at a moment."""

    files: int
    kilobytes: int
    threads: int


class Report(NamedTuple):
    """What a soak found."""

    calls: int
    failed: int
    seconds: float
    before: Left
    after: Left
    children: list[str]

    def complaints(self) -> list[str]:
        """Everything that grew beyond its bound."""
        found = [f"still running: {child}" for child in self.children]
        if self.after.files - self.before.files > MAX_FILES:
            found.append(f"open files grew from {self.before.files} to {self.after.files}")
        if self.after.kilobytes - self.before.kilobytes > MAX_KILOBYTES:
            found.append(f"memory grew from {self.before.kilobytes} to {self.after.kilobytes} KB")
        if self.after.threads > self.before.threads:
            found.append(f"threads grew from {self.before.threads} to {self.after.threads}")
        return found


def main() -> int:
    """Soak, then say what was left."""
    _venv.ready()
    parser = argparse.ArgumentParser(description="Many tool calls in one session; what do they leak?")
    parser.add_argument("calls", nargs="?", type=int, default=2_000)
    parser.add_argument("--turns", type=int, default=0)
    parser.add_argument("--processes", type=int, default=0)
    parser.add_argument("--hours", type=int, default=0)
    given = parser.parse_args()
    calls = min(given.calls, MAX_CALLS)
    sys.path.insert(0, _venv.ROOT)
    if given.turns or given.processes or given.hours:
        return sessions(given)
    with tempfile.TemporaryDirectory(prefix="yume-soak-") as folder:
        report = soak(Path(folder), calls)
    each = report.seconds / max(report.calls, 1) * 1000
    print(f"{report.calls} calls ({report.failed} failed on purpose) in {report.seconds:.1f} s, {each:.1f} ms each")
    print(f"before: {report.before}\nafter:  {report.after}")
    for complaint in report.complaints():
        print(f"! {complaint}", file=sys.stderr)
    return 1 if report.complaints() else 0


def sessions(given: argparse.Namespace) -> int:
    """The runs of the real program that were asked for; each says its verdict."""
    import soak_sessions as kinds

    asked = (
        (kinds.many_turns, min(given.turns, kinds.MAX_TURNS)),
        (kinds.many_processes, min(given.processes, kinds.MAX_PROCESSES)),
        (kinds.idle_hours, min(given.hours, kinds.MAX_HOURS)),
    )
    failed = 0
    for run, count in asked:
        if count:
            with tempfile.TemporaryDirectory(prefix="yume-soak-") as folder:
                found = run(Path(folder), count)
            print(f"{found.done}: {'GROWN OR BROKEN' if found.complaints else 'flat'}\n  {found.figures}", flush=True)
            for complaint in found.complaints:
                print(f"! {complaint}", file=sys.stderr)
            failed += bool(found.complaints)
    return 1 if failed else 0


def soak(folder: Path, calls: int) -> Report:
    """Make the calls; measure before and after."""
    from yume_shim.engine.toolbox import Toolbox
    from yume_shim.tools.dispatch.builtin import open_builtin_tools
    from yume_shim.types.errors import ToolFailed
    from yume_shim.types.settings import Settings

    workspace = folder / "ws"
    workspace.mkdir()
    for place in range(20):
        (workspace / f"file{place}.txt").write_text(f"line of file {place}\n" * 50)
    env = {"PATH": os.environ.get("PATH", os.defpath)}
    chance = random.Random(1)
    failed = 0

    def session(count: int) -> None:
        nonlocal failed
        tools = open_builtin_tools(
            Settings(cwd=str(workspace)), str(folder / "scratch"), env, lambda _level, _text: None
        )
        for place in range(count):
            try:
                one_call(Toolbox((tools,)), place, chance)
            except ToolFailed:
                failed += 1
        tools.close()

    session(WARM)
    failed, before, began = 0, measure(), time.monotonic()
    session(calls)
    seconds = time.monotonic() - began
    after = measure(settle_to=before)
    return Report(calls, failed, seconds, before, after, processes_in(str(folder)))


def one_call(tools: Toolbox, place: int, chance: random.Random) -> None:
    """The next call of the mixture."""
    from yume_shim.engine.cancel import CancelSignal
    from yume_shim.types.blocks import ToolCall
    from yume_shim.types.outputs import ToolContext

    name, given = "Bash", {"command": "sleep 300 & sleep 300", "run_in_background": True}
    if place % BACKGROUND_EVERY == 1:
        name, given = "TaskStop", {"task_id": f"bash_{place // BACKGROUND_EVERY + 1}"}
    elif place % BACKGROUND_EVERY:
        name, given = chance.choice(mixture(chance.randrange(20)))
    call = tools.complete(ToolCall(f"call_{place}", name, given))
    tools.run(tools.prepare(call), ToolContext(call.id, CancelSignal()))


def mixture(number: int) -> list[tuple[str, dict[str, Any]]]:
    """Calls of every kind; some of them fail, as they do in life."""
    file = f"file{number}.txt"
    todos = [{"content": "soak", "status": "in_progress"}]
    return [
        ("Read", {"file_path": file}),
        ("Read", {"file_path": "missing.txt"}),
        ("Write", {"file_path": file, "content": f"line of file {number}\n" * 50}),
        ("Edit", {"file_path": file, "old_string": f"line of file {number}\n" * 2, "new_string": "x\n"}),
        ("Edit", {"file_path": file, "old_string": "line", "new_string": "line!", "replace_all": True}),
        ("Glob", {"pattern": "**/*.txt"}),
        ("Grep", {"pattern": "line", "output_mode": "count"}),
        ("LS", {}),
        ("TodoWrite", {"todos": todos}),
        ("Bash", {"command": "echo hello; cat file1.txt"}),
        ("Bash", {"command": "seq 1 20000"}),
        ("Bash", {"command": "exit 3"}),
        ("Bash", {"command": "sleep 5", "timeout": 20}),
        ("TaskOutput", {"task_id": "bash_1"}),
        ("WebFetch", {"url": "http://127.0.0.1/", "prompt": "refused"}),
    ]


def measure(settle_to: Left | None = None) -> Left:
    """What this process holds now. Threads that are just ending get a moment."""
    import threading

    deadline = time.monotonic() + 3
    while True:
        gc.collect()
        files = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
        now = Left(files, memory_kilobytes(), threading.active_count())
        if settle_to is None or now.threads <= settle_to.threads or time.monotonic() > deadline:
            return now
        time.sleep(0.05)


def memory_kilobytes() -> int:
    """Resident memory; where the system does not report it, the peak."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "darwin" else 1)


def processes_in(folder: str) -> list[str]:
    """Command lines of living processes whose working directory is below the folder."""
    found: list[str] = []
    if not os.path.isdir("/proc/self"):
        return found
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            place = os.readlink(f"/proc/{name}/cwd")
            with open(f"/proc/{name}/cmdline", "rb") as file:
                command = file.read().replace(b"\0", b" ").decode("utf-8", "replace").strip()
        except OSError:
            continue
        if place.startswith(folder) and command:
            found.append(f"{name} {command}")
    return found


if __name__ == "__main__":
    sys.exit(main())
