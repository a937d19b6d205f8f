"""What must be true of every session golden."""

from __future__ import annotations

import re
import sys
from base64 import b64decode
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from claude_agent_sdk import get_session_messages
from claude_agent_sdk._internal.message_parser import parse_message

from tests.helpers import session_cases
from tests.helpers.api_facts import FACTS
from tests.helpers.record_check import check_lines
from yume_shim.dialects.records.index import RECORDS
from yume_shim.store.layout import session_path
from yume_shim.store.load import load
from yume_shim.text import codec

if TYPE_CHECKING:
    from collections.abc import Iterable

    Line = dict[str, Any]

CAPS = {"flat": 98_304, "nested": 1_000_000}
SPLITTERS = ("\u2028", "\u2029", "\u0085")
"""Line readers of several languages treat these as line ends, so they are always written escaped."""
CONTROL = {"control_request", "control_response", "control_cancel_request"}
SKIPPED = {"tool_progress"}
"""Lines of the Claude CLI that the Python SDK drops."""
OUTSIDE_TURNS = {"system", "pong", "error", "command_lifecycle", "conversation_reset"} | CONTROL
USAGE = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
CASES = [case for case in session_cases.cases() if case.expected.exists()]
RUNS = [(case, dialect) for case in CASES for dialect in case.dialects]
BOTH = [case for case in CASES if {"flat", "nested"} <= set(case.dialects)]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="session goldens hold POSIX paths")
each_run = pytest.mark.parametrize(("case", "dialect"), RUNS, ids=[f"{case.name}-{dialect}" for case, dialect in RUNS])
each_pair = pytest.mark.parametrize("case", BOTH, ids=[case.name for case in BOTH])
each_nested = pytest.mark.parametrize(
    "case", [case for case, dialect in RUNS if dialect == "nested"], ids=[c.name for c, d in RUNS if d == "nested"]
)


def raw_lines(case: session_cases.Case, dialect: str) -> list[bytes]:
    data = (case.expected / f"{dialect}.jsonl").read_bytes()
    assert data == b"" or data.endswith(b"\n")
    return data.split(b"\n")[:-1]


def lines(case: session_cases.Case, dialect: str) -> list[Line]:
    return [codec.loads(line) for line in raw_lines(case, dialect)]


def blocks(line: Line) -> list[Line]:
    """The content blocks of a nested assistant or user line."""
    content = line.get("message", {}).get("content", [])
    return content if isinstance(content, list) else []


def calls(printed: Iterable[Line]) -> list[tuple[str, str, Any]]:
    """(id, name, input) of every tool call shown, of either dialect."""
    found = []
    for line in printed:
        parts = [line] if line["type"] == "tool_use" else blocks(line) if line["type"] == "assistant" else []
        found += [(part["id"], part["name"], _readable(part["input"])) for part in parts if part["type"] == "tool_use"]
    return found


def _readable(given: Line) -> Line:
    """The Claude CLI shows arguments that are not JSON under a special key; the flat dialect does not show them."""
    return {} if "__unparsedToolInput" in given else given


def _asked_by_the_model(content: Any) -> Any:
    if isinstance(content, list) and all(part["type"] == "text" for part in content):
        content = "\n".join(part["text"] for part in content)  # as flat does
    return re.sub("^Claude requested", "The model requested", content) if isinstance(content, str) else content


def results(printed: Iterable[Line]) -> list[tuple[str, str, bool]]:
    """(call id, text, is error) of every tool result shown, of either dialect. Flat never says that Claude asks."""
    found = []
    for line in printed:
        parts = [line] if line["type"] == "tool_result" else blocks(line) if line["type"] == "user" else []
        found += [
            (part["tool_use_id"], _asked_by_the_model(_as_text(part["content"])), bool(part.get("is_error")))
            for part in parts
            if part["type"] == "tool_result"
        ]
    return found


def _as_text(content: Any) -> str:
    """The content of a result; the Claude forms may have blocks, of which flat prints texts, and types and sizes."""
    if isinstance(content, str):
        return content
    return "\n".join(
        part["text"]
        if part["type"] == "text"
        else f"[image: {part['source']['media_type']}, {len(b64decode(part['source']['data']))} bytes]"
        for part in content
    )


def turn_ends(printed: Iterable[Line]) -> list[Line]:
    """The `result` lines."""
    return [line for line in printed if line["type"] == "result"]


def text(printed: Iterable[Line]) -> str:
    """All text of the model, of either dialect, without the messages that the program wrote. In flat their ids have no
    block number."""
    said = ""
    for line in printed:
        if line["type"] == "text" and ":" in line["id"]:
            said += line["content"]
        if line["type"] == "assistant" and line["message"]["model"] != "<synthetic>":
            said += "".join(part["text"] for part in blocks(line) if part["type"] == "text")
    return said


@each_run
def test_every_line_is_one_small_object_with_its_type_first(case: session_cases.Case, dialect: str) -> None:
    for raw in raw_lines(case, dialect):
        decoded = raw.decode("utf-8", "strict")
        assert len(raw) + 1 <= CAPS[dialect]
        assert not any(mark in decoded for mark in SPLITTERS)
        assert next(iter(codec.loads(raw))) == "type"


@each_run
def test_every_line_is_built_from_a_record(case: session_cases.Case, dialect: str) -> None:
    check_lines(lines(case, dialect), RECORDS[dialect])


@each_run
def test_init_comes_before_everything_but_answers_to_the_host(case: session_cases.Case, dialect: str) -> None:
    answers = CONTROL | {"command_lifecycle"}
    # a rejected line, a mode or a title that the host set
    for_the_host = ("informational", "status", "session_title_changed")
    printed = [
        line
        for line in lines(case, dialect)
        if line["type"] not in answers
        and line.get("subtype") not in for_the_host
        and line.get("hook_event") not in ("SessionStart", "UserPromptSubmit")  # both run before the turn begins
    ]
    if printed and printed[0].get("subtype") != "error":
        assert (printed[0]["type"], printed[0]["subtype"]) == ("system", "init")


@each_run
def test_every_call_has_exactly_one_result_and_it_comes_later(case: session_cases.Case, dialect: str) -> None:
    open_calls: list[str] = []
    for line in lines(case, dialect):
        open_calls += [call for call, _, _ in calls([line])]
        for call, _, _ in results([line]):
            open_calls.remove(call)  # raises for a result without a call, and for a second result
    assert open_calls == []


@each_run
def test_every_prompt_ends_with_one_result_and_nothing_follows_it(case: session_cases.Case, dialect: str) -> None:
    printed = lines(case, dialect)
    ends = [place for place, line in enumerate(printed) if line["type"] == "result"]
    assert len(ends) == case.results(dialect)
    last = 1 if dialect == "flat" else 0
    for place in ends:
        if dialect == "flat":
            assert printed[place + 1] == {"type": "message_stop"}
        after = printed[place + last + 1] if place + last + 1 < len(printed) else None
        if after is not None:  # between turns: a new turn's first line, or what belongs to no turn
            assert after["type"] in OUTSIDE_TURNS | {"text", "thinking", "tool_use", "usage", "interrupt"}


AGENT_ID = re.compile(rb"\ba[0-9a-f]{16}\b")


@each_run
def test_the_session_has_one_id(case: session_cases.Case, dialect: str) -> None:
    printed = lines(case, dialect)
    changes = sum(line["type"] == "conversation_reset" or line.get("subtype") == "session_id" for line in printed)
    assert len({line["session_id"] for line in printed if "session_id" in line}) <= 1 + changes
    uuids = [line["uuid"] for line in printed if "uuid" in line]
    assert len(uuids) == len(set(uuids))


def without_agents(printed: list[Line]) -> list[Line]:
    """The lines of the conversation: the Claude forms show less of agents. Their ids are counted with the lines."""
    own = [line for line in printed if "agent_id" not in line]
    found: list[Line] = codec.loads(AGENT_ID.sub(b"{AGENT}", codec.dumps(own)))
    return found


@each_pair
def test_both_dialects_report_the_same_events(case: session_cases.Case) -> None:
    flat, nested = (without_agents(lines(case, dialect)) for dialect in ("flat", "nested"))
    if case.results("nested") == 0:
        pytest.skip("a Claude form that was killed prints nothing more")
    assert text(flat) == text(nested)
    assert calls(flat) == calls(nested)
    assert results(flat) == results(nested)
    for one, other in zip(*(turn_ends(printed) for printed in (flat, nested)), strict=True):
        if "local_command" not in other:  # a failed /compact is a failure in flat only
            assert one["is_error"] == other["is_error"]
        assert one["permission_denials"] == other["permission_denials"]
        if not one["is_error"]:
            if case.continued:  # the Claude forms report the last part of such an answer, flat all of it
                parts = other.get("result_parts") or [other["result"]]
                assert (one["result"].replace("\n", ""), other["result"]) == ("".join(parts), parts[-1])
            else:
                assert one["result"] == other["result"]
        if case.wire("flat") == case.wire("nested"):  # after a cut the dialects may send different requests
            assert one["num_turns"] == other["num_turns"]
            if not one["usage"].get("estimated"):  # an estimate counts the prompt and tools of its own dialect
                assert one["total_cost_usd"] == other["total_cost_usd"]


@pytest.mark.parametrize(
    "case", [case for case, dialect in RUNS if dialect == "flat"], ids=[c.name for c, d in RUNS if d == "flat"]
)
def test_the_usage_lines_of_a_turn_add_up_to_its_result(case: session_cases.Case) -> None:
    counted = dict.fromkeys(USAGE, 0)
    for line in lines(case, "flat"):
        if line["type"] == "usage" and "agent_id" not in line:
            counted = {name: counted[name] + line[name] for name in USAGE}
        if line["type"] == "result":
            if line["subtype"] != "cancelled":  # a stopped response is charged although it printed no usage
                assert counted == {name: line["usage"][name] for name in USAGE}
            counted = dict.fromkeys(USAGE, 0)


@each_nested
def test_the_agent_sdk_understands_every_line(case: session_cases.Case) -> None:
    for line in lines(case, "nested"):
        if line["type"] not in CONTROL | SKIPPED:
            assert parse_message(line) is not None, line


def is_of_a_local_command(line: Line) -> bool:
    """The output of a local command is for the host: it is not part of the conversation."""
    if line["type"] == "user":
        return str(line["message"]["content"]).startswith("<local-command-stdout>")
    return line["message"]["model"] == "<synthetic>" and "error" not in line


@each_nested
def test_the_uuid_that_is_printed_is_the_uuid_that_is_stored(case: session_cases.Case) -> None:
    stored = [
        codec.loads(line) for path in case.expected.glob("session*.jsonl") for line in path.read_bytes().splitlines()
    ]
    kept = {entry["uuid"] for entry in stored if entry.get("type") in ("user", "assistant")}
    messages = [line for line in lines(case, "nested") if line["type"] in ("user", "assistant")]
    printed = {line["uuid"] for line in messages if not is_of_a_local_command(line)}
    assert printed <= kept
    parents = {entry["parentUuid"] for entry in stored if entry.get("parentUuid")}
    assert parents <= {entry["uuid"] for entry in stored if "uuid" in entry}


@each_nested
def test_the_agent_sdk_reads_the_transcript(
    case: session_cases.Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = (case.expected / "session.jsonl").read_bytes()
    entries = [codec.loads(line) for line in data.splitlines()]
    boundaries = [place for place, entry in enumerate(entries) if entry.get("subtype") == "compact_boundary"]
    since = boundaries[-1] if boundaries else 0  # earlier messages were compacted
    stored = [entry for entry in entries[since:] if entry["type"] in ("user", "assistant")]
    if not stored:
        pytest.skip("there are no messages")
    session_id = stored[0]["sessionId"]
    path = Path(session_path(str(tmp_path / "projects"), str(tmp_path), session_id))
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    read = get_session_messages(session_id, directory=str(tmp_path))
    past = load(str(path))
    assert past is not None
    expected = [entry for entry in stored if entry["uuid"] in past.chain]  # without what was shown and dropped
    expected = [entry for entry in expected if not entry.get("isMeta")]  # without notes to the model
    assert [(message.type, message.uuid) for message in read] == [(entry["type"], entry["uuid"]) for entry in expected]


GROWING = [
    case for case in CASES if case.name.endswith(("-multiple-tools", "-single-tool", "-parallel-tools", "-two-turns"))
]


@pytest.mark.parametrize("case", GROWING, ids=[case.name for case in GROWING])
def test_each_request_extends_the_one_before(case: session_cases.Case, tmp_path: Path) -> None:
    """What was sent once is sent again unchanged: the prompt cache of every provider depends on it."""
    session_cases.play(case, "flat", "--record", str(tmp_path / "tape"))
    requests = [
        without_cache_marks(codec.loads(path.read_bytes())) for path in sorted(tmp_path.glob("tape/requests/*"))
    ]
    histories = [request.pop(FACTS[case.facts["api"]].history) for request in requests]
    assert len(requests) == len(list(case.wire("flat").iterdir()))
    for place in range(1, len(requests)):
        assert requests[place] == requests[0]
        assert len(histories[place]) > len(histories[place - 1])
        assert histories[place][: len(histories[place - 1])] == histories[place - 1]


def without_cache_marks(part: Any) -> Any:
    """Cache marks move with the end of the history, by design."""
    if isinstance(part, dict):
        return {name: without_cache_marks(item) for name, item in part.items() if name != "cache_control"}
    return [without_cache_marks(item) for item in part] if isinstance(part, list) else part
