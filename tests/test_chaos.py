"""A few chaos sessions, and proof that the judge can fail. `scripts/chaos.py` runs as many as wanted."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.chaos.judge import judge
from tests.chaos.launcher import Launcher
from tests.chaos.mutants import MUTANTS, PLAIN, ROOT, broken_copy, is_seen, problems_of
from tests.chaos.plan import Action, draw
from tests.chaos.running import Outcome
from tests.chaos.session import Launchers, run_session
from tests.helpers.scripted_model import call

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from tests.chaos.plan import Plan

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and limits")

SEEDS = range(11, 21)
FOUND: dict[str, dict[str, Any]] = {
    "text behind a finished call stays when the stream is cut": {"faults": ["cut-after-call"]},
    "a message without blocks is closed before the retry": {"dialect": "stream-json", "faults": ["no-end"]},
    "requests are answered when the input ends": {
        "dialect": "acp",
        "answers": [[call("Bash", command="sleep 20")]],
        "actions": [Action("prompt", 0.0, "x"), Action("prompt", 0.3, "y"), Action("eof", 0.0)],
    },
    "a server that is being given up is ended": {
        "server": "silent",
        "actions": [Action("prompt", 0.0, "x"), Action("eof", 0.9)],
    },
}
"""Sessions of the kinds in which chaos once found something."""
TRIED = ("no result",)
"""Mutants that the suite runs; `scripts/chaos.py --mutants` runs them all."""
RESULT = b'{"type":"result","subtype":"success","is_error":false,"session_id":"s"}\n{"type":"message_stop"}\n'
CALL = b'{"type":"tool_use","id":"c","name":"Bash","input":{}}\n'
SHOWN = b'{"type":"text","content":"Hi","id":"b"}\n'


@pytest.mark.timeout(900)
def test_every_promise_is_kept(tmp_path: Path) -> None:
    launcher = Launcher(ROOT)
    plans = {str(seed): draw(seed)._replace(sdk=False) for seed in SEEDS}
    plans |= {name: PLAIN._replace(**changes) for name, changes in FOUND.items()}
    found = {}
    for number, (name, plan) in enumerate(plans.items()):
        outcome = run_session(plan, tmp_path / str(number), Launchers(launcher, launcher))
        found[name] = judge(plan, outcome)
    launcher.close()
    assert {name: problems for name, problems in found.items() if problems} == {}


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", TRIED)
def test_the_judge_sees_a_broken_program(name: str, tmp_path: Path) -> None:
    [mutant] = [mutant for mutant in MUTANTS if mutant.name == name]
    assert is_seen(mutant, problems_of(mutant, tmp_path))


def test_every_mutant_changes_the_program(tmp_path: Path) -> None:
    text = {mutant.file: (ROOT / "yume_shim" / mutant.file).read_text("utf-8") for mutant in MUTANTS}
    assert [mutant.name for mutant in MUTANTS if mutant.old not in text[mutant.file] or mutant.old == mutant.new] == []
    assert broken_copy(MUTANTS[0], tmp_path) == tmp_path


@pytest.mark.parametrize(
    ("stdout", "stderr", "code", "found"),
    [
        (RESULT, b"", None, "hang"),
        (RESULT, b"", 7, "code"),
        (RESULT, b"Traceback (most recent call last)", 0, "traceback"),
        (RESULT, b"Authorization: sk-chaos-1", 0, "secret"),
        (b"", b"", 0, "result"),
        (RESULT + RESULT, b"", 0, "result"),
        (RESULT.partition(b"\n")[0] + b"\n", b"", 0, "result"),
        (CALL + RESULT, b"", 0, "calls"),
        (CALL + CALL + RESULT, b"", 0, "calls"),
        (RESULT[:-1], b"", 0, "torn"),
        (RESULT, b"", 0, "stream"),
        (SHOWN + RESULT, b"", 0, "lost"),
        (b"\xff\n" + RESULT, b"", 0, "json"),
        (b'{"type":"no_such_line"}\n' + RESULT, b"", 0, "record"),
        (b'{"type":"text","content":"' + b"x" * 100_000 + b'"}\n' + RESULT, b"", 0, "cap"),
    ],
)
def test_the_judge_sees_it(stdout: bytes, stderr: bytes, code: int | None, found: str) -> None:
    plan = PLAIN._replace(actions=[Action("prompt", 0.0, "Go"), Action("eof", 0.0)])
    assert found in kinds_of(plan, stdout, stderr, code)


def test_the_judge_sees_an_unanswered_request() -> None:
    plan = PLAIN._replace(dialect="acp", actions=[Action("prompt", 0.0, "Go"), Action("eof", 0.0)])
    answer = b'{"jsonrpc":"2.0","id":1,"result":{}}\n'
    assert kinds_of(plan, answer, b"", 0, asked=[1]) == set()
    for lines in (b"", answer * 2, answer.replace(b'"id":1', b'"id":5'), answer.replace(b"2.0", b"1.0")):
        assert kinds_of(plan, lines, b"", 0, asked=[1]) == {"acp"}


def kinds_of(plan: Plan, stdout: bytes, stderr: bytes, code: int | None, asked: list[int] | None = None) -> set[str]:
    """The first words of what the judge says."""
    outcome = Outcome()
    outcome.stdout, outcome.stderr, outcome.code, outcome.asked = stdout, stderr, code, asked or []
    return {problem.partition(":")[0] for problem in judge(plan, outcome)}
