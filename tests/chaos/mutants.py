"""Broken copies of the program, which prove that the judge sees what it should: one change of the source each.

By hand: `python scripts/chaos.py --mutants` tries all of them, the suite some.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.chaos.judge import judge
from tests.chaos.launcher import Launcher
from tests.chaos.plan import Action, Plan
from tests.chaos.session import Launchers, run_session
from tests.helpers.scripted_model import call, say

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "yume_shim"


class Mutant(NamedTuple):
    """`old` in `file` becomes `new`; a session with `changes` must have a problem that begins with `found`."""

    name: str
    file: str
    old: str
    new: str
    found: str
    changes: dict[str, Any]


def _acts(*kinds: str, end: str = "eof") -> dict[str, Any]:
    return {"actions": [*(Action(kind, 0.0, "x") for kind in kinds), Action(end, 0.1)]}


PLAIN = Plan(
    seed=1,
    api="anthropic-messages",
    dialect="flat",
    partial=True,
    sdk=False,
    cold=False,
    road="",
    keys=1,
    spare="",
    answers=[[say("Hello, all of you.", 3), call("Bash", command="echo fine")], [say("Ünïcödé ✓", 2)]],
    alike=False,
    faults=[],
    actions=[Action("prompt", 0.0, "x"), Action("wait", 0.0), Action("eof", 0.0)],
    asks=False,
    reply="allow",
    slow=False,
    hooks=(),
    server=None,
    system="",
    resumed=False,
)
"""A session without any fault: text, a call, text."""
FLAT, NESTED = "dialects/flat.py", {"dialect": "stream-json"}
PRINT, ALONE, TEXT = "dialects/plain.py", {"dialect": "json"}, {"dialect": "text"}
RESULT = "return [result_line(event, session_id, prompt_id), MessageStopLine()]"
MUTANTS = (
    Mutant("no result", FLAT, RESULT, "return [MessageStopLine()]", "result", {}),
    Mutant("two results", FLAT, RESULT, f"{RESULT[:-1]}] * 2", "result", {}),
    Mutant("no message_stop", FLAT, RESULT, "return [result_line(event, session_id, prompt_id)]", "result", {}),
    Mutant("text behind the result", FLAT, RESULT, f'{RESULT[:-1]}, text_line("!", "b")]', "stream", {}),
    Mutant("an unknown line", FLAT, RESULT, f'{RESULT[:-1]}, {{"type": "surprise"}}]', "record", {}),
    Mutant(
        "lines that are not UTF-8",
        "host/writer.py",
        "return escape_separators(codec.dumps(obj), self._wide)",
        'return escape_separators(codec.dumps(obj), self._wide).replace(b"\\xc3", b"")',
        "json",
        {},
    ),
    Mutant(
        "lines over the limit",
        "host/writer.py",
        "self._max_line = max(max_line_bytes, LEAST_LINE_BYTES)",
        "self._max_line = 10_000_000",
        "cap",
        {"answers": [[call("Write", file_path="new.txt", content="x" * 400_000)]]},
    ),
    Mutant(
        "half a line at the end",
        "app/start.py",
        "    signals.settle()\n",
        "    signals.settle()\n    os.write(1, b'{\"type\":')\n",
        "torn",
        {},
    ),
    Mutant(
        "a wrong exit code",
        "app/start.py",
        "return 0 if last_end.outcome in SUCCESSES else 1",
        "return 3",
        "code",
        {},
    ),
    Mutant(
        "the code of another signal",
        "host/signals.py",
        '"SIGTERM": 143',
        '"SIGTERM": 0',
        "code",
        _acts("prompt", "wait", end="SIGTERM"),
    ),
    Mutant(
        "a traceback",
        "app/start.py",
        "    signals.settle()\n",
        "    signals.settle()\n    import traceback\n    traceback.print_stack()\n"
        '    os.write(2, b"Traceback (most recent call last)")\n',
        "traceback",
        {},
    ),
    Mutant(
        "a key in the log",
        "app/start.py",
        "    signals.settle()\n",
        "    signals.settle()\n    os.write(2, startup.keys.known(startup.spec.endpoint).key.encode())\n",
        "secret",
        {},
    ),
    Mutant(
        "deaf to interrupts",
        "engine/cancel.py",
        '        """Stop: wake the waiters, call the stoppers (each once)."""\n',
        '        """Do nothing."""\n        return\n',
        "hang",
        {"answers": [[call("Bash", command="sleep 90", timeout=100_000)]], **_acts("prompt", "interrupt")},
    ),
    Mutant(
        "no limit for silence",
        "providers/http/stream.py",
        "return self._connection.read(self._deadline.seconds(limit))",
        "return self._connection.read(1000.0)",
        "hang",
        {"faults": ["silent-in-text"] * 9},
    ),
    Mutant(
        "endless retries",
        "engine/retry.py",
        "if not failure.retryable or done >= backoff.retries:",
        "if not failure.retryable:",
        "hang",
        {"faults": ["500"] * 5_000},
    ),
    Mutant(
        "a result of a tool that is not kept",
        "store/entries.py",
        "            case ToolFinished():\n                line = ",
        "            case ToolFinished():\n                return None\n                line = ",
        "lost",
        {},
    ),
    Mutant(
        "text that is not kept",
        "store/entries.py",
        "            case PartialKept():\n                return self._block(None, event.block, tagged)\n",
        "",
        "lost",
        {"faults": ["cut-in-text"] * 9},
    ),
    Mutant(
        "a transcript that is no JSON",
        "store/jsonl.py",
        'end = self._append(self._fd, data + b"\\n")',
        'end = self._append(self._fd, data[:-9] + b"\\n")',
        "transcript",
        {},
    ),
    Mutant(
        "a result shown twice",
        FLAT,
        "tool_result_line(event, self._room)]",
        "tool_result_line(event, self._room)] * 2",
        "calls",
        {},
    ),
    Mutant(
        "memory without a bound",
        "app/start.py",
        "    signals.settle()\n",
        '    signals.settle()\n    held = b"x" * 600_000_000\n',
        "memory",
        {},
    ),
    Mutant(
        "descriptors without a bound",
        "app/host_commands.py",
        "        self.take(command)\n",
        "        import os\n        self.take(command)\n        [os.dup(0) for _ in range(300)]\n",
        "descriptors",
        {},
    ),
    Mutant(
        "input that is not read",
        "app/host_commands.py",
        "        self.take(command)\n",
        "        self.take(command)\n        import time\n        time.sleep(40)\n",
        "input",
        _acts("prompt", "huge", "huge"),
    ),
    Mutant(
        "no answer to a client",
        "app/acp/turns.py",
        "            self._client.answer(id, result)\n",
        "            pass\n",
        "acp",
        {"dialect": "acp", **_acts("prompt", "wait")},
    ),
    Mutant(
        "two answers to a client",
        "app/acp/turns.py",
        "            self._client.answer(id, result)\n",
        "            self._client.answer(id, result)\n            self._client.answer(id, result)\n",
        "acp",
        {"dialect": "acp", **_acts("prompt", "wait")},
    ),
    Mutant(
        "a call without its result",
        FLAT,
        "return [tool_result_line(event, self._room)]",
        "return []",
        "calls",
        {},
    ),
    Mutant(
        "bytes of a line in another order",
        "host/writer.py",
        'return escape_separators(codec.dumps(obj), self._wide) + b"\\n"',
        'line = escape_separators(codec.dumps(obj), self._wide)\n        return line[9:] + line[:9] + b"\\n"',
        "json",
        {},
    ),
    Mutant(
        "text in another order",
        "dialects/line_template.py",
        '        """A line for each text."""\n',
        '        """A line for each text."""\n        texts = [text[::-1] for text in texts]\n',
        "lost",
        {},
    ),
    Mutant(
        "a result long after the interrupt",
        "engine/session.py",
        "            cancel.set()\n        tasks = ",
        "            threading.Timer(12, cancel.set).start()\n        tasks = ",
        "late",
        {"answers": [[call("Bash", command="sleep 90", timeout=100_000)]], **_acts("prompt", "interrupt")},
    ),
    Mutant(
        "an end long after the signal",
        "host/signals.py",
        "        self._on_signal(self._names[number])\n\n    def _watch(self, number: int) -> None:\n",
        "        time.sleep(12)\n        self._on_signal(self._names[number])\n\n"
        "    def _watch(self, number: int) -> None:\n        time.sleep(60)\n",
        "late",
        _acts("prompt", "wait", end="SIGTERM"),
    ),
    Mutant(
        "commands that go on after the end",
        "system/linux/marked_processes.py",
        "        os.kill(pid, signal.SIGKILL)",
        "        pass",
        "stray",
        {"answers": [[call("Bash", command="setsid sleep 90 & echo apart")]], **_acts("prompt", "wait")},
    ),
    Mutant(
        "no result in the Claude form",
        "dialects/nested.py",
        "case TurnEnded():",
        "case TurnEnded() if False:",
        "result",
        NESTED,
    ),
    Mutant(
        "a session that cannot go on",
        "store/load.py",
        "return _load(path, at, child=child)",
        "return None",
        "result",
        {"resumed": True},
    ),
    Mutant(
        "requests that the API refuses",
        "providers/apis/anthropic_messages/encode.py",
        '"tool_use_id": ids.result(block.call_id)',
        '"tool_use_id": ids.result(block.call_id) + "x"',
        "request",
        {},
    ),
    Mutant(
        "answers with the same name",
        "engine/model_client.py",
        "if event.id in self._used_ids:",
        "if False:",
        "names",
        {"alike": True},
    ),
    Mutant(
        "calls with the same name",
        "engine/model_client.py",
        "(not block.id or block.id in self._used_ids)",
        "not block.id",
        "calls",
        {"alike": True, "answers": [[call("Bash", command="echo fine")]] * 2},
    ),
    Mutant(
        "text of an ACP session that is not kept",
        "store/entries.py",
        "                return self._block(event.index, event.block, tagged)\n            case PartialKept",
        "                return []\n            case PartialKept",
        "lost",
        {"dialect": "acp", **_acts("prompt", "wait")},
    ),
    Mutant(
        "no object in the json form", PRINT, "            return [result]\n", "            return []\n", "result", ALONE
    ),
    Mutant("two objects in the json form", PRINT, "return [result]", "return [result] * 2", "result", ALONE),
    Mutant("no answer in the text form", PRINT, "text = closing_text(event)", "return []", "result", TEXT),
)


def broken_copy(mutant: Mutant, folder: Path) -> Path:
    """A copy of the program with the change; the folder that holds it."""
    shutil.copytree(ROOT / PACKAGE, folder / PACKAGE)  # with the compiled files, which hold for all but one
    path = folder / PACKAGE / mutant.file
    text = path.read_text("utf-8")
    if mutant.old not in text:
        raise ValueError(f"{mutant.name}: {mutant.file} has changed: {mutant.old!r} is not in it")
    path.write_text(text.replace(mutant.old, mutant.new, 1), "utf-8")
    return folder


def problems_of(mutant: Mutant, folder: Path) -> list[str]:
    """What the judge says about a session with the broken program."""
    launcher = Launcher(broken_copy(mutant, folder / "source"))
    try:
        plan = PLAIN._replace(**mutant.changes)
        return judge(plan, run_session(plan, folder / "session", Launchers(launcher, launcher)))
    finally:
        launcher.close()


def is_seen(mutant: Mutant, problems: Iterable[str]) -> bool:
    """Did the judge find what is broken?"""
    return any(problem.startswith(mutant.found) for problem in problems)


def try_mutants(name: str, jobs: int) -> int:
    """Try those whose names contain `name`; 1 if the judge misses one, or finds fault with the program itself."""
    unbroken = Mutant("the program itself", "__init__.py", "", "", "", {})
    chosen = [unbroken, *(mutant for mutant in MUTANTS if name in mutant.name)]
    missed = 0
    with tempfile.TemporaryDirectory(prefix="yume-mutants-") as made, ThreadPoolExecutor(jobs) as pool:
        folders = [Path(made) / str(number) for number in range(len(chosen))]
        for mutant, problems in zip(chosen, pool.map(problems_of, chosen, folders), strict=True):
            fine = is_seen(mutant, problems) if mutant is not unbroken else not problems
            missed += not fine
            told = problems[0][:100] if problems else "nothing"
            sys.stdout.write(f"{'seen' if fine else 'MISSED'}: {mutant.name}: {told}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{len(chosen) - 1} mutants, {missed} missed\n")
    return 1 if missed else 0
