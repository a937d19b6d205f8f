"""Judges a session: what the program promises whatever happens."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.chaos.session import LIMIT
from tests.helpers.record_check import check_lines
from yume_shim.dialects.records.index import RECORDS
from yume_shim.dialects.stream_check import StreamCheck
from yume_shim.store.load import load
from yume_shim.text import codec
from yume_shim.types.errors import StoreFailed

if TYPE_CHECKING:
    from tests.chaos.plan import Plan
    from tests.chaos.session import Outcome

CAPS = {True: 98_304, False: 1_000_000}
MEMORY_KB = 400_000
KILLED = -9
SIGNALS = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129}
SECRET = b"sk-chaos-1"


def judge(plan: Plan, outcome: Outcome) -> list[str]:
    """What is wrong; empty if every promise was kept."""
    problems: list[str] = []
    if outcome.code is None:
        problems.append(f"hang: no end within {LIMIT:.0f} s")
    if outcome.strays and plan.actions[-1].kind != "SIGKILL":
        problems.append(f"stray: {outcome.strays}")
    if b"Traceback" in outcome.stderr or b"Traceback" in outcome.stdout:
        problems.append(f"traceback: {outcome.stderr[-1500:].decode(errors='replace')}")
    if SECRET in outcome.stdout or SECRET in outcome.stderr:
        problems.append("secret: the key was printed")
    if outcome.peak_kb > MEMORY_KB:
        problems.append(f"memory: {outcome.peak_kb} KB")
    lines = _lines(plan, outcome, problems)
    end = plan.actions[-1].kind
    silenced = end in ("SIGKILL", "close-stdout") or (not plan.flat and end in ("SIGTERM", "SIGHUP"))
    complete = not silenced and outcome.code is not None
    _judge_turns(plan, lines, problems, complete=complete)
    _judge_stream(plan, lines, problems, complete=complete)
    _judge_code(plan, outcome, problems)
    _judge_transcripts(outcome, problems)
    return problems


def _lines(plan: Plan, outcome: Outcome, problems: list[str]) -> list[dict[str, Any]]:
    raw = outcome.stdout.split(b"\n")
    whole = plan.actions[-1].kind not in ("SIGKILL", "close-stdout")
    if raw[-1] and whole:
        problems.append(f"torn: the last line has no end: {raw[-1][:200]!r}")
    found = []
    for line in raw[:-1]:
        if len(line) + 1 > CAPS[plan.flat]:
            problems.append(f"cap: a line of {len(line)} bytes")
        try:
            obj = json.loads(line.decode("utf-8", "strict"))
        except ValueError as error:
            problems.append(f"json: {error}: {line[:200]!r}")
            continue
        found.append(obj)
    try:
        check_lines(found, RECORDS["flat" if plan.flat else "nested"])
    except AssertionError as error:
        problems.append(f"record: {str(error)[:300]}")
    return found


def _judge_turns(plan: Plan, lines: list[dict[str, Any]], problems: list[str], *, complete: bool) -> None:
    started: Counter[str] = Counter()
    ended: Counter[str] = Counter()
    for line in lines:
        for part in _parts(line):
            if part.get("type") == "tool_use":
                started[part["id"]] += 1
            elif part.get("type") == "tool_result":
                ended[part["tool_use_id"]] += 1
                if not started[part["tool_use_id"]]:
                    problems.append(f"order: result of {part['tool_use_id']} before its call")
    for call, count in (started | ended).items():
        if started[call] != 1 or ended[call] > 1 or (complete and ended[call] != 1):
            problems.append(f"calls: {call} shown {started[call]} times, {ended[call]} results (most {count})")
    results = sum(line["type"] == "result" for line in lines)
    prompts = sum(action.kind in ("prompt", "huge") for action in plan.actions)
    if complete and plan.actions[-1].kind in ("eof", "stop-cont") and not results:
        problems.append("result: a prompt was accepted, and no result came")
    tasks = sum(line.get("subtype") == "task_notification" for line in lines)
    if results > prompts + tasks:
        problems.append(f"result: {results} results for {prompts} prompts")
    if plan.flat and complete:
        stops = sum(line["type"] == "message_stop" for line in lines)
        if stops != results:
            problems.append(f"result: {results} results, {stops} message_stop lines")


def _judge_stream(plan: Plan, lines: list[dict[str, Any]], problems: list[str], *, complete: bool) -> None:
    """What `yume-shim check-stream --strict` says. A run that was stopped before its start prints nothing."""
    check = StreamCheck("flat" if plan.flat else "stream-json", strict=True)
    for number, line in enumerate(lines, 1):
        problems += [f"stream: line {number}: {problem}" for problem in check.feed(codec.dumps(line) + b"\n")]
    if complete and lines:
        problems += [f"stream: {problem}" for problem in check.end()]


def _parts(line: dict[str, Any]) -> list[dict[str, Any]]:
    if line["type"] in ("tool_use", "tool_result"):
        return [line]
    content = line.get("message", {}).get("content") if line["type"] in ("assistant", "user") else None
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _judge_code(plan: Plan, outcome: Outcome, problems: list[str]) -> None:
    end, code = plan.actions[-1].kind, outcome.code
    allowed: set[int | None] = {0, 1, None}
    if end in SIGNALS:
        own = SIGNALS[end]
        allowed = {own, -(own - 128), None} if plan.flat or end != "SIGINT" else {0, own, None}
        allowed |= {0, 1} if outcome.seconds > LIMIT / 2 else set()
    elif end == "SIGKILL":
        allowed = {KILLED, None}
    if plan.system:
        allowed |= {2}
    if code not in allowed:
        problems.append(f"code: {code} after {end}")


def _judge_transcripts(outcome: Outcome, problems: list[str]) -> None:
    for path in outcome.transcripts:
        try:
            load(str(path))
        except StoreFailed as error:
            problems.append(f"transcript: {error}")
