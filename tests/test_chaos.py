"""A few chaos sessions, and proof that the judge can fail. `scripts/chaos.py` runs as many as wanted."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.chaos.judge import judge
from tests.chaos.plan import Action, draw
from tests.chaos.session import Outcome, run_session

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and limits")

SEEDS = (11, 12, 13, 14, 15, 16)
PLAN = draw(1)._replace(flat=True, actions=[Action("prompt", 0.0, "Go"), Action("eof", 0.0)], system="")
RESULT = b'{"type":"result","subtype":"success","is_error":false,"session_id":"s"}\n{"type":"message_stop"}\n'
CALL = b'{"type":"tool_use","id":"c","name":"Bash","input":{}}\n'


@pytest.mark.parametrize("seed", SEEDS)
def test_every_promise_is_kept(seed: int, tmp_path: Path) -> None:
    plan = draw(seed)
    assert judge(plan, run_session(plan, tmp_path)) == []


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
        (b"\xff\n" + RESULT, b"", 0, "json"),
        (b'{"type":"no_such_line"}\n' + RESULT, b"", 0, "record"),
        (b'{"type":"text","content":"' + b"x" * 100_000 + b'"}\n' + RESULT, b"", 0, "cap"),
    ],
)
def test_the_judge_sees_it(stdout: bytes, stderr: bytes, code: int | None, found: str) -> None:
    outcome = Outcome()
    outcome.stdout, outcome.stderr, outcome.code = stdout, stderr, code
    assert found in {problem.partition(":")[0] for problem in judge(PLAN, outcome)}
