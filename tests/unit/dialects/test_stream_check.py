"""The published schemas and `check-stream`: goldens pass, each kind of mistake is found, jsonschema agrees."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.helpers import session_cases
from yume_shim.dialects.line_order import FlatOrder, NestedOrder
from yume_shim.dialects.schema_check import CUT_MARK, SchemaCheck, load_schema
from yume_shim.dialects.stream_check import StreamCheck
from yume_shim.text import codec

Line = dict[str, Any]
NAMES = {"flat": "flat", "nested": "stream-json"}
OUTPUTS = {"flat": "flat-output", "nested": "stream-json-output"}
RUNS = [(case, dialect) for case in session_cases.cases() for dialect in case.dialects]


def printed(case: session_cases.Case, dialect: str) -> list[bytes]:
    return (case.expected / f"{dialect}.jsonl").read_bytes().splitlines(keepends=True)


def sample(name: str, dialect: str) -> list[Line]:
    return [json.loads(line) for line in printed(session_cases.load(session_cases.SESSIONS / name), dialect)]


def found(lines: list[Line], dialect: str, **options: Any) -> list[str]:
    """What is wrong with a stream, each with the number of its line."""
    check = StreamCheck(NAMES[dialect], **options)
    problems = [
        f"{number}: {problem}"
        for number, line in enumerate(lines, 1)
        for problem in check.feed(codec.dumps(line) + b"\n")
    ]
    return problems + [f"end: {problem}" for problem in check.end()]


def test_every_golden_passes() -> None:
    wrong = []
    for case, dialect in RUNS:
        check = StreamCheck(NAMES[dialect], strict=True)
        for number, raw in enumerate(printed(case, dialect), 1):
            wrong += [f"{case.name} {dialect} {number}: {problem}" for problem in check.feed(raw)]
        if case.results(dialect) > 0 or dialect == "flat":  # a terminated Claude form prints nothing more
            wrong += [f"{case.name} {dialect}: {problem}" for problem in check.end()]
    assert wrong == []


def test_the_dialect_is_found_by_the_first_line() -> None:
    for dialect, name in NAMES.items():
        check = StreamCheck()
        for line in sample("anthropic-messages-single-tool", dialect):
            assert check.feed(codec.dumps(line)) == []
        assert (check.dialect, check.results, check.end()) == (name, 1, [])


# ---------------------------------------------------------------- fields


def changed(line: Line) -> list[Line]:
    """The line with each field left out, and with each field of another type."""
    odd: Line = {"x": ["unexpected"]}
    return [
        *({key: item for key, item in line.items() if key != name} for name in line),
        *(line | {name: odd} for name in line),
        line | {"added_later": 1},
    ]


@pytest.mark.parametrize("dialect", OUTPUTS)
def test_jsonschema_agrees(dialect: str) -> None:
    schema = load_schema(OUTPUTS[dialect])
    Draft202012Validator.check_schema(schema)
    reference, ours = Draft202012Validator(schema), SchemaCheck(schema)
    kinds: dict[tuple[Any, ...], Line] = {}
    for case, run in RUNS:
        if run == dialect:
            for raw in printed(case, dialect):
                line = json.loads(raw)
                if any(name.endswith(CUT_MARK) for name in line):
                    continue  # a schema cannot say that a field may be missing where it was cut
                kinds.setdefault((line["type"], line.get("subtype"), tuple(line)), line)
    assert len(kinds) > 20
    good = bad = 0
    for line in kinds.values():
        for value in (line, *changed(line)):
            fits = reference.is_valid(value)
            assert (ours.problems(value) == []) == fits, value
            good, bad = good + fits, bad + (not fits)
    assert good > 100
    assert bad > 100


@pytest.mark.parametrize("name", ["input", "control-answers", "host-answers"])
def test_the_other_schemas_are_schemas(name: str) -> None:
    Draft202012Validator.check_schema(load_schema(name))


TEXT: Line = {"type": "text", "content": "a", "id": "m:0"}


@pytest.mark.parametrize(
    ("line", "loose", "strict"),
    [
        (TEXT, [], []),
        ({"type": "text", "id": "m:0"}, ["content: missing"], ["content: missing"]),
        (TEXT | {"content": 1}, ["content: must be a string, not 1"], ["content: must be a string, not 1"]),
        (TEXT | {"more": 1}, [], ["more: unknown field"]),
        (TEXT | {"content_truncated": True}, [], []),
        ({"type": "text", "id": "m:0", "content_truncated": True}, [], []),
        ({"type": "fanfare"}, [], ['unknown kind "fanfare"']),
        ({"type": "system", "subtype": "fanfare"}, [], ['unknown kind "system" "fanfare"']),
        ({"content": "a"}, ["type: missing"], ["type: missing", "unknown kind"]),
        (
            {"type": "interrupt", "reason": "boredom"},
            ['reason: must be one of "user", "signal", "shutdown", "deadline", not "boredom"'],
            ['reason: must be one of "user", "signal", "shutdown", "deadline", not "boredom"'],
        ),
        (
            {"type": "thinking", "is_thinking": True, "id": "m:0"},
            ["thought: missing"],
            ["thought: missing"],
        ),
        (
            {"type": "control_response", "response": {"subtype": "error"}},
            ["response.error: missing"],
            ["response.error: missing"],
        ),
        (
            {"type": "control_request", "request_id": "1", "request": {"subtype": "play_fanfare"}},
            [],
            ['request: unknown kind "play_fanfare"'],
        ),
    ],
)
def test_reasons(line: Line, loose: list[str], strict: list[str]) -> None:
    schema = load_schema("flat-output")
    assert SchemaCheck(schema).problems(line) == loose
    assert SchemaCheck(schema, strict=True).problems(line) == strict


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"\n", "not JSON"),
        (b"{", "not JSON"),
        (b'{"type":"text","content":"\xff"}', "not UTF-8 at byte 27"),
        (b"[1]", "not a JSON object"),
    ],
)
def test_what_is_no_line(raw: bytes, reason: str) -> None:
    check = StreamCheck("flat")
    [problem] = check.feed(raw)
    assert problem.startswith(reason)


def test_an_oversized_line() -> None:
    lines = sample("anthropic-messages-text-only", "flat")
    assert found(lines, "flat", max_line=2_000) == []
    place = next(place for place, line in enumerate(lines) if line["type"] == "text")
    named = f"{place + 1}: the line has"
    lines[place]["content"] = "a" * 2_000
    assert found(lines, "flat", max_line=2_000) == [f"{named} 2,045 bytes; at most 2,000 are allowed"]
    lines[place]["content"] = "a" * 98_304
    assert [problem.partition(";")[0] for problem in found(lines, "flat")] == [f"{named} 98,349 bytes"]


# ---------------------------------------------------------------- order


def flat(*kinds: str) -> list[Line]:
    """Lines of the flat dialect by short names."""
    whole = {line["type"] + line.get("subtype", ""): line for line in sample("anthropic-messages-single-tool", "flat")}
    short = {
        "init": whole["systeminit"],
        "text": TEXT,
        "use": whole["tool_use"],
        "done": whole["tool_result"],
        "result": whole["resultsuccess"],
        "stop": {"type": "message_stop"},
        "interrupt": {"type": "interrupt", "reason": "user"},
        "pong": {"type": "pong"},
        "other": whole["tool_use"] | {"id": "toolu_other"},
        "inner": whole["tool_use"] | {"id": "toolu_in", "parent_tool_use_id": whole["tool_use"]["id"]},
        "inner done": whole["tool_result"] | {"tool_use_id": "toolu_in", "parent_tool_use_id": whole["tool_use"]["id"]},
    }
    return [short[kind] for kind in kinds]


@pytest.mark.parametrize(
    ("kinds", "problems"),
    [
        (("init",), []),
        (("init", "pong", "text", "result", "stop", "pong", "text", "result", "stop"), []),
        (("init", "use", "inner", "inner done", "done", "result", "stop"), []),
        ((), ["end: the stream is empty: `init` is missing"]),
        (("text", "result", "stop"), ["1: the first line must be `system` `init` or `system` `error`"]),
        (("init", "init"), ["2: a second `init`"]),
        (("init", "text"), ["end: the stream ends inside a turn: `result` is missing"]),
        (("init", "text", "result"), ["end: the stream ends after `result`: `message_stop` is missing"]),
        (("init", "result", "result", "stop"), ["3: a second `result` of the turn"]),
        (
            ("init", "result", "pong", "stop"),
            ["3: `message_stop` must follow `result` at once", "4: `message_stop` without `result`"],
        ),
        (("init", "text", "stop", "result", "stop"), ["3: `message_stop` without `result`"]),
        (("init", "interrupt", "text", "result", "stop"), ["3: `text` after `interrupt`"]),
        (("init", "use", "result", "stop"), ["3: `result` before the `tool_result` of 'toolu_a1'"]),
        (("init", "done", "result", "stop"), ["2: `tool_result` of 'toolu_a1', which is not running"]),
        (("init", "use", "done", "done", "result", "stop"), ["4: `tool_result` of 'toolu_a1', which is not running"]),
        (("init", "use", "done", "use", "done", "result", "stop"), ["4: `tool_use` 'toolu_a1' comes twice"]),
        (
            ("init", "use", "other", "done", "result", "stop"),
            [
                "3: `tool_use` before the `tool_result` of 'toolu_a1'",
                "4: `tool_result` of 'toolu_a1', which is not running",
                "5: `result` before the `tool_result` of 'toolu_other'",
            ],
        ),
        (
            ("init", "inner", "inner done"),
            [f"{number}: parent_tool_use_id: there was no call 'toolu_a1'" for number in (2, 3)],
        ),
    ],
)
def test_flat_order(kinds: tuple[str, ...], problems: list[str]) -> None:
    assert found(flat(*kinds), "flat") == problems


def nested(*kinds: str) -> list[Line]:
    """Lines of the nested dialect by short names."""
    lines = sample("anthropic-messages-single-tool", "nested")
    short: dict[str, Line] = {}
    for line in lines:
        content = line.get("message", {}).get("content", [{}])
        block = content[0].get("type", "") if isinstance(content, list) else ""
        short.setdefault(f"{line['type']} {line.get('subtype', block)}", line)
    short = {
        "init": short["system init"],
        "text": short["assistant text"],
        "use": short["assistant tool_use"],
        "done": short["user tool_result"],
        "result": short["result success"],
    }
    events: dict[str, Line] = {
        "begin": {"type": "message_start"},
        "open": {"type": "content_block_start", "index": 0},
        "piece": {"type": "content_block_delta", "index": 0},
        "close": {"type": "content_block_stop", "index": 0},
        "end": {"type": "message_stop"},
    }
    return [short[kind] if kind in short else {"type": "stream_event", "event": events[kind]} for kind in kinds]


@pytest.mark.parametrize(
    ("kinds", "problems"),
    [
        (("init", "text", "use", "done", "result", "init", "text", "result"), []),
        (("init", "text"), ["the stream ends inside a turn: `result` is missing"]),
        (("init", "result", "result"), ["a second `result`: no turn runs"]),
        (("text", "init", "result"), ["`assistant` outside a turn"]),
        (("init", "init", "result"), ["`init` before `result` of the turn before"]),
        (("init", "use", "result"), ["`result` before the `tool_result` of 'toolu_a1'"]),
        (("init", "done", "result"), ["`tool_result` of 'toolu_a1', which has no open `tool_use`"]),
        (("init", "use", "done", "done", "result"), ["`tool_result` of 'toolu_a1', which has no open `tool_use`"]),
        (("init", "begin", "open", "piece", "close", "end", "result"), []),
        (
            ("init", "piece", "result"),
            ["`content_block_delta` outside a message", "`content_block_delta` of block 0, which is not open"],
        ),
        (("init", "begin", "open", "open", "close", "end", "result"), ["block 0 starts while block 0 is open"]),
        (("init", "begin", "open", "end", "result"), ["`message_stop` while block 0 is open"]),
        (("init", "begin", "begin", "end", "result"), ["`message_start` before `message_stop` of the message before"]),
        (("init", "begin", "result"), ["`result` before `message_stop` of the message"]),
    ],
)
def test_nested_order(kinds: tuple[str, ...], problems: list[str]) -> None:
    order = NestedOrder()
    told = [problem for line in nested(*kinds) for problem in order.feed(line)]
    assert told + order.end() == problems


@pytest.mark.parametrize(
    ("kinds", "problems"),
    [
        (("init", "started", "text", "result", "stop", "started", "result", "stop"), []),
        (("init", "started", "result", "stop", "result", "stop"), ["a second `result`: no turn runs"]),
        (("init", "started", "result", "stop", "text", "result", "stop"), ["`text` outside a turn"]),
        (
            ("init", "started", "text", "started", "result", "stop"),
            ["a turn starts before `result` of the turn before"],
        ),
        (("init", "text", "result", "stop", "started", "result", "stop", "text", "result", "stop"), []),
        (("init", "started"), ["the stream ends inside a turn: `result` is missing"]),
    ],
)
def test_turns_that_are_announced(kinds: tuple[str, ...], problems: list[str]) -> None:
    """The first turn decides whether all of them must be."""
    started: Line = {"type": "system", "subtype": "turn_started"}
    order = FlatOrder()
    told = [problem for kind in kinds for problem in order.feed(started if kind == "started" else flat(kind)[0])]
    assert told + order.end() == problems
