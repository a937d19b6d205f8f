"""Transcripts of subagents: one file each, and readable with the Agent SDK."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from claude_agent_sdk import get_session_messages, get_subagent_messages, list_sessions, list_subagents

from tests.helpers.event_stories import AT, INFO, SESSION, USAGE, ended, prompt, streamed, uuid_of
from yume_shim.store.children import child_path, open_child_transcript
from yume_shim.store.entries import Entries
from yume_shim.store.index import find, listing, look, newest
from yume_shim.store.jsonl import JsonlStore
from yume_shim.store.layout import projects_dir, session_path
from yume_shim.store.load import load
from yume_shim.text.codec import loads
from yume_shim.types.blocks import Message, Text, ToolCall, ToolResult
from yume_shim.types.child import Child
from yume_shim.types.events import (
    Compacted,
    NoteAdded,
    RequestStarted,
    ResponseEnded,
    ResponseStarted,
    SessionChanged,
    SessionReady,
    Tagged,
    ToolFinished,
    TurnFailed,
    TurnStarted,
)
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from yume_shim.types.blocks import Json
    from yume_shim.types.events import Event
    from yume_shim.types.ports import Store

FIRST = Child("a1", "call_1", "helper", "Look around")
SECOND = Child("b2", "call_2", "helper")
READ = ToolCall("call_9", "Read", {"file_path": "x"})


class Session:
    """A session with its store and the stores of its subagents, all of which get every event."""

    def __init__(self, path: str, cwd: Path) -> None:
        self.path = path
        info = replace(INFO, cwd=str(cwd))
        self.logged: list[str] = []
        self.mirrored: list[tuple[str, Json]] = []
        fresh = (f"fresh-{number}" for number in range(100))
        entries = Entries(
            "2.1.325", lambda failure: ("unknown", failure.message), lambda: next(fresh), price=lambda *_: 0.5
        )
        self.store = JsonlStore(
            path,
            lambda _, message: self.logged.append(message),
            entries,
            mirror=lambda where, lines: self.mirrored.extend((where, line) for line in lines),
        )
        self.stores: list[Store] = [self.store]
        self._events = 0
        self.feed([SessionReady(info), TurnStarted(info), prompt("go")])

    def open(self, child: Child, **more: Any) -> Path:
        opened = open_child_transcript(self.store, child, **more)
        self.stores.append(opened)
        return Path(opened.path)

    def feed(self, events: Iterable[Event], child: Child | None = None) -> None:
        for event in events:
            self._events += 1
            tagged = Tagged(event, uuid_of(self._events), AT, child.call_id if child else None)
            for store in self.stores:
                store.feed(tagged)

    def close(self) -> None:
        for store in reversed(self.stores):
            store.close()


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    cwd = tmp_path / "work"
    cwd.mkdir()
    return Session(session_path(projects_dir(os.environ), str(cwd), SESSION), cwd)


def answer(number: int, *blocks: Text | ToolCall) -> list[Event]:
    events: list[Event] = [RequestStarted("m", "api/m"), ResponseStarted(f"msg_{number}", "m")]
    for index, block in enumerate(blocks):
        events += streamed(index, block, [])
    return [*events, ResponseEnded("end", "end_turn", USAGE)]


def lines(path: Path | str) -> list[Json]:
    return [loads(line) for line in Path(path).read_bytes().splitlines()]


def run_two(session: Session) -> tuple[Path, Path]:
    """Two subagents whose events alternate, between the session's own."""
    session.feed(answer(1, ToolCall("call_1", "Agent", {}), ToolCall("call_2", "Agent", {})))
    first, second = session.open(FIRST), session.open(SECOND)
    ones: list[Event] = [
        prompt("look at x"),
        *answer(2, READ),
        ToolFinished(READ, ToolResult("call_9", "content of x"), {"file": "x"}),
        NoteAdded("go on"),
        *answer(3, Text("x is fine")),
    ]
    twos: list[Event] = [prompt("look at y"), *answer(4, Text("y is fine"))]
    for place in range(max(len(ones), len(twos))):
        session.feed(ones[place : place + 1], FIRST)
        session.feed(twos[place : place + 1], SECOND)
    for child, text in ((FIRST, "x is fine"), (SECOND, "y is fine")):
        session.feed([ToolFinished(ToolCall(child.call_id, "Agent", {}), ToolResult(child.call_id, text))])
    session.feed([*answer(5, Text("All fine.")), ended("All fine.")])
    session.close()
    return first, second


def test_each_subagent_has_its_own_chain(session: Session) -> None:
    first, second = run_two(session)
    folder = Path(session.path.removesuffix(".jsonl")) / "subagents"
    assert (first, second) == (folder / "agent-a1.jsonl", folder / "agent-b2.jsonl")
    ones, twos = lines(first), lines(second)
    assert [line["type"] for line in ones] == ["user", "assistant", "user", "user", "assistant"]
    assert [line["type"] for line in twos] == ["user", "assistant"]
    for child, chain in ((FIRST, ones), (SECOND, twos)):
        assert [line["parentUuid"] for line in chain] == [None, *(line["uuid"] for line in chain[:-1])]
        assert {
            (line["isSidechain"], line["agentId"], line["attributionAgent"], line["sessionId"]) for line in chain
        } == {(True, child.agent_id, "helper", SESSION)}
    assert [line["message"]["content"] for line in twos] == ["look at y", [{"type": "text", "text": "y is fine"}]]
    assert (ones[2]["toolUseResult"], ones[2]["sourceToolAssistantUUID"]) == ({"file": "x"}, ones[1]["uuid"])
    assert ones[3]["isMeta"] is True
    assert ones[4]["message"]["usage"]["output_tokens"] == USAGE.output
    assert ones[4]["costUSD"] == 0.5
    assert session.logged == []


def test_the_session_does_not_contain_its_subagents(session: Session) -> None:
    run_two(session)
    own = lines(session.path)
    assert [line["type"] for line in own] == [
        "user",
        "assistant",
        "assistant",
        "user",
        "user",
        "assistant",
        "last-prompt",
    ]
    assert not any(line.get("isSidechain") or "agentId" in line for line in own)
    assert b"look at" not in Path(session.path).read_bytes()
    assert own[-1]["lastPrompt"] == "go"


def test_the_agent_sdk_reads_subagents(session: Session, tmp_path: Path) -> None:
    run_two(session)
    cwd = str(tmp_path / "work")
    assert [listed.session_id for listed in list_sessions(directory=cwd)] == [SESSION]
    assert [each.message["content"] for each in get_session_messages(SESSION, directory=cwd)][-1] == [
        {"type": "text", "text": "All fine."}
    ]
    assert list_subagents(SESSION, directory=cwd) == ["a1", "b2"]
    read = get_subagent_messages(SESSION, "a1", directory=cwd)
    assert [(each.type, each.message["content"]) for each in read] == [
        ("user", "look at x"),
        ("assistant", [{"type": "tool_use", "id": "call_9", "name": "Read", "input": {"file_path": "x"}}]),
        ("user", [{"type": "tool_result", "tool_use_id": "call_9", "content": "content of x"}]),
        ("user", [{"type": "text", "text": "go on"}]),
        ("assistant", [{"type": "text", "text": "x is fine"}]),
    ]
    assert {each.parent_tool_use_id for each in read} == {"call_1"}


def test_subagents_are_not_sessions(session: Session, tmp_path: Path) -> None:
    first, _ = run_two(session)
    projects, cwd = projects_dir(os.environ), str(tmp_path / "work")
    assert [listed.session_id for listed in listing(projects)] == [SESSION]
    assert newest(projects, cwd) == session.path
    assert find(projects, "agent-a1", cwd) == ""
    assert look(str(first)) is None
    assert load(str(first)) is None
    stored = load(session.path)
    assert stored is not None
    assert [message.role for message in stored.history] == ["user", "assistant", "user", "assistant"]


def test_metadata_private_files_and_one_lock(session: Session) -> None:
    path = session.open(replace(FIRST, parent_agent_id="b2"))
    assert not path.parent.exists()  # nothing is written before the first event
    session.feed([prompt("look")], FIRST)
    meta = path.with_name("agent-a1.meta.json")
    assert loads(meta.read_bytes()) == {
        "agentType": "helper",
        "description": "Look around",
        "toolUseId": "call_1",
        "parentAgentId": "b2",
    }
    assert os.name == "nt" or [
        stat.S_IMODE(each.stat().st_mode) for each in (path, meta, path.parent, path.parent.parent)
    ] == [
        0o600,
        0o600,
        0o700,
        0o700,
    ]
    assert sorted(each.name for each in path.parent.iterdir()) == ["agent-a1.jsonl", "agent-a1.meta.json"]
    session.close()


def test_the_mirror_gets_metadata_and_entries(session: Session) -> None:
    first, _ = run_two(session)
    mirrored = [line for path, line in session.mirrored if path == str(first)]
    assert mirrored == [
        {"agentType": "helper", "description": "Look around", "toolUseId": "call_1", "type": "agent_metadata"},
        *lines(first),
    ]
    assert [line for path, line in session.mirrored if path == session.path] == lines(session.path)


def test_a_subagent_that_is_stopped_in_an_answer_is_mirrored_when_it_closes(session: Session) -> None:
    path = session.open(FIRST)
    session.feed([prompt("look"), ResponseStarted("msg_1", "m"), *streamed(0, Text("So"), [])], FIRST)
    session.close()
    mirrored = [line for where, line in session.mirrored if where == str(path)]
    assert [line["type"] for line in mirrored] == ["agent_metadata", "user", "assistant"]


def test_a_subagents_compaction_turn_end_and_failure(session: Session) -> None:
    from yume_shim.types.errors import Failure

    path = session.open(FIRST, info=replace(INFO, provider="openai", permission_mode="plan"))
    summary = Message("user", (Text("So far."),))
    kept = (Message("assistant", (Text("kept"),), "api/m"),)
    session.feed(
        [
            prompt("look"),
            *answer(1, Text("x")),
            Compacted("auto", 9, 1, 8, 0, summary, kept, "boundary"),
            TurnFailed(Failure("server", "no")),
            ended("", outcome="provider_error"),
        ],
        FIRST,
    )
    session.close()
    written = lines(path)
    assert [line["type"] for line in written] == ["user", "assistant", "system", "user", "assistant", "assistant"]
    assert (written[0]["permissionMode"], written[1]["yume"]["provider"]) == ("plan", "openai")
    assert (written[2]["subtype"], written[2]["parentUuid"]) == ("compact_boundary", None)
    assert written[5]["error"] == "unknown"
    assert all(line["agentId"] == "a1" for line in written)


def test_a_subagent_stays_with_the_session_that_started_it(session: Session) -> None:
    path = session.open(FIRST)
    session.feed([prompt("look")], FIRST)
    session.feed([SessionChanged("new", SESSION), TurnStarted(replace(INFO, session_id="new")), prompt("again")])
    session.feed(answer(1, Text("x")), FIRST)
    session.close()
    assert [line["sessionId"] for line in lines(path)] == [SESSION, SESSION]
    assert SESSION in path.parts


@pytest.mark.parametrize("agent_id", ["", "..", "a/b", "a.b"])
def test_an_agent_id_is_not_a_path(agent_id: str) -> None:
    with pytest.raises(ValueError, match="not an agent id"):
        child_path("/p/s.jsonl", agent_id)
