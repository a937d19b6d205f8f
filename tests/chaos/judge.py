"""Judges a session: what the program promises whatever happens."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.chaos.acp_judge import acp_texts, judge_acp
from tests.chaos.plan import afterwards, prompts_of
from tests.chaos.running import INTERRUPTED, LIMIT, ORDERLY
from tests.chaos.session import SECRET
from tests.helpers.record_check import check_lines
from yume_shim.dialects.nested_answers import VOID_CALL
from yume_shim.dialects.records.index import RECORDS
from yume_shim.dialects.stream_check import StreamCheck
from yume_shim.store.load import load
from yume_shim.text import codec
from yume_shim.types.errors import StoreFailed

if TYPE_CHECKING:
    from tests.chaos.plan import Plan
    from tests.chaos.running import Outcome

CAPS = {"flat": 98_304, "stream-json": 1_000_000, "acp": 32 << 20, "text": 32 << 20, "json": 32 << 20}
MEMORY_KB = 400_000
DESCRIPTORS = 100
SIGNALS = {"SIGINT": 130, "SIGTERM": 143, "SIGHUP": 129, "SIGKILL": -9}
UNSURE = "read-only home", "full disk", "few descriptors", "small address space"
"""Under these the program may refuse to start, and what was shown may not be kept."""
_RECORDS_LOCK = threading.Lock()
"""What is known about the records is gathered at their first use."""
BLANKS = re.compile(r"\s+")
NOT_STORED = re.compile(
    r"## Context Usage|Total cost:|Error: |Unknown (slash )?command|Set model|Compacted|Operation stopped by hook"
    r"|UserPromptSubmit operation blocked"
)
"""How texts of this program begin, about commands and hooks: they are about the conversation, and not part of it."""


def judge(plan: Plan, outcome: Outcome) -> list[str]:
    """What is wrong; empty if every promise was kept."""
    problems = _judge_process(plan, outcome)
    lines = _lines(plan, outcome, problems)
    complete = is_complete(plan, outcome)
    problems += [f"request: {rule}" for rule in outcome.broken]
    if plan.dialect == "acp":
        problems += judge_acp(plan, outcome, lines, complete=complete)
    elif plan.alone:
        problems += _judge_alone(plan, outcome, lines, complete=complete)
    else:
        problems += _judge_turns(plan, lines, complete=complete)
        problems += _judge_stream(plan, lines, complete=complete)
    problems += _judge_code(plan, outcome)
    problems += _judge_transcripts(plan, outcome, lines)
    if outcome.again is not None:
        problems += [f"{problem} (resumed)" for problem in _judge_again(afterwards(plan), outcome.again)]
    if outcome.second is not None:
        problems += [f"{problem} (second process)" for problem in _judge_second(plan, outcome.second)]
    return problems


def is_complete(plan: Plan, outcome: Outcome) -> bool:
    """Everything that the program had to say could be heard."""
    ends = plan.end.split("+")
    silenced = (
        outcome.forced
        or "SIGKILL" in ends
        or "close-stdout" in ends
        or (not plan.flat and {"SIGTERM", "SIGHUP"} & set(ends))
    )
    return not silenced and len([end for end in ends if end.startswith("SIG")]) < 2 and outcome.code is not None


def _judge_alone(plan: Plan, outcome: Outcome, lines: list[dict[str, Any]], *, complete: bool) -> list[str]:
    """One prompt of the command line: its answer or a reason, and with `json` one line."""
    results = sum(line.get("type") == "result" for line in lines)
    heard = complete and "SIG" not in plan.end and plan.system not in UNSURE
    problems = []
    if plan.dialect == "json" and (results > 1 or len(lines) > results or (heard and not results)):
        problems.append(f"result: {results} results in {len(lines)} lines")
    stopped = any(name == "stopping-hook" for _, name in plan.hooks)  # a turn that a hook stopped may have no words
    told = outcome.stdout.strip() or outcome.stderr.strip() or plan.system == "closed stderr"
    if heard and not told and not stopped:
        problems.append("result: neither an answer nor a reason was printed")
    return problems


def _judge_process(plan: Plan, outcome: Outcome) -> list[str]:
    problems: list[str] = []
    if outcome.code is None:
        reason = "starved: no verdict after" if outcome.starved else f"hang: no end within {LIMIT:.0f} s;"
        problems.append(f"{reason} {outcome.seconds:.0f} s, {outcome.lost:.0f} s without a processor")
    elif "SIG" in plan.end and outcome.ending > ORDERLY:
        problems.append(f"late: it ended {outcome.ending:.1f} s after {plan.end}")
    if outcome.interrupted > INTERRUPTED:
        problems.append(f"late: the result came {outcome.interrupted:.1f} s after the interrupt")
    if outcome.unwritten:
        problems.append("input: the program did not read")
    if outcome.strays and "SIGKILL" not in plan.end and plan.end.count("SIG") < 2:
        problems.append(f"stray: {outcome.strays}")
    for data in (outcome.stderr, outcome.stdout):
        place = data.find(b"internal error: ")
        if place >= 0:
            problems.append(f"internal: {data[place : place + 300].decode(errors='replace')}")
        place = data.find(b"Traceback (most")
        if place >= 0 and not (plan.cold and not outcome.stdout and b"\nKeyboardInterrupt" in data):
            problems.append(f"traceback: {data[place : place + 3000].decode(errors='replace')}")
    if SECRET.encode() in outcome.stdout or SECRET.encode() in outcome.stderr:
        problems.append("secret: a key was printed")
    if outcome.peak_kb > MEMORY_KB + (200_000 if plan.sdk else 0):
        problems.append(f"memory: {outcome.peak_kb} KB")
    if outcome.descriptors > DESCRIPTORS:
        problems.append(f"descriptors: {outcome.descriptors}")
    return problems


def _lines(plan: Plan, outcome: Outcome, problems: list[str]) -> list[dict[str, Any]]:
    raw = outcome.stdout.split(b"\n") if plan.dialect != "text" else [b""]
    ends = plan.end
    if raw[-1] and not (outcome.forced or "SIGKILL" in ends or "close-stdout" in ends or ends.count("SIG") > 1):
        problems.append(f"torn: the last line has no end: {raw[-1][:200]!r}")
    found = []
    for line in raw[:-1]:
        if len(line) + 1 > CAPS[plan.dialect]:
            problems.append(f"cap: a line of {len(line)} bytes")
        try:
            obj = json.loads(line.decode("utf-8", "strict"))
        except ValueError as error:
            problems.append(f"json: {error}: {line[:200]!r}")
            continue
        found.append(obj)
    if plan.dialect not in ("acp", "text"):
        try:
            with _RECORDS_LOCK:
                check_lines(found, RECORDS["flat" if plan.flat else "nested"])
        except AssertionError as error:
            problems.append(f"record: {str(error)[:300]}")
    return found


def _judge_turns(plan: Plan, lines: list[dict[str, Any]], *, complete: bool) -> list[str]:
    problems: list[str] = []
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
    prompts = prompts_of(plan)
    refused = any(line.get("subtype") == "error" and line["type"] == "system" for line in lines)
    if complete and plan.end == "eof" and not refused and plan.system not in UNSURE:
        least = prompts if plan.flat else 1
        if results < least:
            problems.append(f"result: {prompts} prompts were accepted, and {results} results came")
    tasks = sum(line.get("subtype") == "task_notification" for line in lines)
    if results > prompts + tasks:
        problems.append(f"result: {results} results for {prompts} prompts")
    if plan.flat:
        problems += _judge_names(lines)
    if plan.flat and complete:
        stops = sum(line["type"] == "message_stop" for line in lines)
        if stops != results:
            problems.append(f"result: {results} results, {stops} message_stop lines")
    return problems


def _judge_names(lines: list[dict[str, Any]]) -> list[str]:
    """The blocks of different answers have different names, also where the endpoint gives its answers the same one."""
    problems: list[str] = []
    ended: set[str] = set()
    shown: dict[str | None, set[str]] = {}
    for line in lines:
        own = shown.setdefault(line.get("parent_tool_use_id"), set())
        if line["type"] == "text":
            own.add(line.get("id", ""))
            problems += [f"names: the block {line['id']} is in two answers"] if line.get("id") in ended else []
        elif line["type"] == "usage":
            ended |= own
            own.clear()
    return problems


def _judge_stream(plan: Plan, lines: list[dict[str, Any]], *, complete: bool) -> list[str]:
    """What `yume-shim check-stream --strict` says. A run that was stopped before its start prints nothing."""
    problems: list[str] = []
    check = StreamCheck(plan.dialect, strict=True)
    for number, line in enumerate(lines, 1):
        problems += [f"stream: line {number}: {problem}" for problem in check.feed(codec.dumps(line) + b"\n")]
    if complete and lines:
        problems += [f"stream: {problem}" for problem in check.end()]
    return problems


def _parts(line: dict[str, Any]) -> list[dict[str, Any]]:
    if line["type"] in ("tool_use", "tool_result"):
        return [line]
    content = line.get("message", {}).get("content") if line["type"] in ("assistant", "user") else None
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _judge_code(plan: Plan, outcome: Outcome) -> list[str]:
    code = outcome.code
    if code is None:
        return []
    ends = plan.end.split("+")
    own = [SIGNALS[end] for end in ends if end in SIGNALS]
    allowed = {0, 1}
    if own:
        allowed = {*own, *(-(code - 128) for code in own if code > 0)}
        if not plan.flat and ends[0] == "SIGINT":
            allowed |= {0, 1}
        if _may_have_ended(plan):
            allowed |= {0, 1}
    if plan.system in UNSURE:
        allowed |= {2}
    if plan.cold and "SIGINT" in ends and not outcome.stdout:  # Python itself was starting, and ends in its own way
        allowed |= {1}
    return [] if code in allowed else [f"code: {code} after {plan.end}"]


def _may_have_ended(plan: Plan) -> bool:
    """The program ends by itself when its only prompt is answered, when its input ends, or when it cannot start."""
    return plan.alone or plan.system in UNSURE


def _judge_second(plan: Plan, outcome: Outcome) -> list[str]:
    """The second process on a session either waits for its turn or says why not."""
    problems = _judge_process(plan, outcome)
    _lines(plan, outcome, problems)
    silent = not outcome.stdout and not outcome.stderr and plan.system != "closed stderr"
    if outcome.code is not None and silent and plan.end == "eof":
        problems.append("result: the second process said nothing")
    return problems


def _judge_again(plan: Plan, outcome: Outcome) -> list[str]:
    """The session goes on, whatever happened to it before. A line that was cut then stays in the file."""
    problems = [problem for problem in judge(plan, outcome) if not problem.endswith("lines are no JSON")]
    if b"Done." not in outcome.stdout and not outcome.starved:
        problems.append(
            f"result: no answer: {(outcome.stdout[-400:] + outcome.stderr[-400:]).decode(errors='replace')}"
        )
    return problems


# ---------------------------------------------------------------- transcripts


def _judge_transcripts(plan: Plan, outcome: Outcome, lines: list[dict[str, Any]]) -> list[str]:
    problems: list[str] = []
    for path in outcome.transcripts:
        try:
            load(str(path))
        except StoreFailed as error:
            problems.append(f"transcript: {error}")
    if plan.system in (*UNSURE, "two processes") or outcome.code is None or plan.alone:
        return problems
    kept_text, kept_results = "", set()
    killed = outcome.forced or "SIGKILL" in plan.end or plan.end.count("SIG") > 1
    for path in outcome.transcripts:
        data = path.read_bytes()
        # the end may come inside of a write: the line that it cuts was not shown, and is skipped when it is loaded
        text, results, broken = _kept(data[: data.rfind(b"\n") + 1] if killed else data)
        kept_text += text
        kept_results |= results
        if broken:
            problems.append(f"transcript: {broken} lines are no JSON")
    shown_results = _shown_results(lines) if plan.dialect != "acp" else set()
    lost = [f"the result of {id}" for id in shown_results - kept_results]
    if not killed:
        shown = acp_texts(lines) if plan.dialect == "acp" else _shown_texts(plan, lines)
        of_model = [text for text in shown if not NOT_STORED.match(text)]
        lost += [f"the text {text[:200]!r}" for text in of_model if _plain(text) not in kept_text]
    return problems + [f"lost: {what} was shown and is not in the transcript" for what in lost]


def _kept(data: bytes) -> tuple[str, set[str], int]:
    """Text of the assistant, ids of results, lines that cannot be read."""
    text, results, broken = "", set(), 0
    for line in data.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            broken += 1
            continue
        if entry.get("type") not in ("user", "assistant"):
            continue
        for part in _parts(entry):
            if part.get("type") == "text" and entry["type"] == "assistant":
                text += part["text"]
            elif part.get("type") == "tool_result":
                results.add(part["tool_use_id"])
    return _plain(text), results, broken


def _shown_results(lines: list[dict[str, Any]]) -> set[str]:
    """Without those of calls that were taken back with their answer: the file keeps such a call beside the chain."""
    own = [part for line in lines if not line.get("parent_tool_use_id") for part in _parts(line)]
    shown = [part for part in own if part.get("type") == "tool_result"]
    return {part["tool_use_id"] for part in shown if part.get("content") != VOID_CALL}


def _shown_texts(plan: Plan, lines: list[dict[str, Any]]) -> list[str]:
    """The text of each block that was shown."""
    blocks: dict[str, str] = {}
    for number, line in enumerate(lines):
        if line.get("parent_tool_use_id"):
            continue
        if plan.flat and line["type"] == "text":
            name = str(line.get("id"))
            blocks[name] = blocks.get(name, "") + line["content"]
        elif not plan.flat and line["type"] == "assistant":
            if "error" in line or line["message"].get("model") == "<synthetic>":
                continue
            blocks[str(number)] = "".join(part["text"] for part in _parts(line) if part.get("type") == "text")
    return [text for text in blocks.values() if text]


def _plain(text: str) -> str:
    return BLANKS.sub("", text)
