"""Reading transcripts: ours, the Claude CLI's, and damaged ones."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.event_stories import INFO, USAGE, ended, prompt, streamed, tag_events
from tests.helpers.timing import cheap
from tests.helpers.transcripts import answer, chain, question, save
from yume_shim.store.entries import Entries
from yume_shim.store.jsonl import JsonlStore
from yume_shim.store.load import NoSuchMessage, load
from yume_shim.types.blocks import Document, Image, Message, Other, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.errors import StoreFailed
from yume_shim.types.events import (
    BlockEnded,
    Compacted,
    Interrupted,
    ModelUsage,
    NoteAdded,
    PartialKept,
    PromptTaken,
    RequestStarted,
    ResponseDropped,
    ResponseEnded,
    ResponseStarted,
    ToolFinished,
    TurnFailed,
    TurnStarted,
)
from yume_shim.types.models import Usage
from yume_shim.types.stored_session import StoredSession
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.types.blocks import Json
    from yume_shim.types.events import Event

ORIGIN = "anthropic-messages/claude-sonnet-4-5"
ASKED = RequestStarted("claude-sonnet-4-5", ORIGIN)


def stored(path: Path, events: list[Event]) -> Path:
    """A transcript as the store writes it."""
    fresh = (f"fresh-{number}" for number in range(1000))
    entries = Entries("2.1.325", lambda _: ("unknown", "no"), lambda: next(fresh), price=lambda *_: 0.5)
    store = JsonlStore(str(path), lambda *_: None, entries)
    for tagged in tag_events(events):
        store.feed(tagged)
    store.close()
    return path


def read(path: Path, at: str = "") -> StoredSession:
    session = load(str(path), at)
    assert session is not None
    return session


def user(*blocks: Any) -> Message:
    return Message("user", blocks)


# ---------------------------------------------------------------- our transcripts


def test_everything_that_a_turn_writes_is_read_back(tmp_path: Path) -> None:
    call = ToolCall("call_1", "Bash", {"command": "ls"}, opaque={"google-genai": {"thoughtSignature": "s"}})
    broken = ToolCall("call_2", "Read", {}, '{"fi')
    foreign = Other("openai-responses", {"type": "web_search_call"})
    thought = Thinking("hm", opaque={"anthropic-messages": {"signature": "sig"}})
    hidden = Thinking("", redacted=True, opaque={"anthropic-messages": {"data": "xyz"}})
    picture = ToolResult("call_1", (Text("seen"), Image("image/png", "aGk="), Document("application/pdf", "cGRm", "P")))
    shown = ({"type": "text", "text": "look"}, {"type": "image", "source": {"type": "url", "url": "http://x/y.png"}})
    events: list[Event] = [
        TurnStarted(INFO),
        PromptTaken(user(), shown, "u-1"),
        ASKED,
        ResponseStarted("msg_1", "up"),
        BlockEnded(0, thought),
        BlockEnded(1, hidden),
        BlockEnded(2, Text("Let me see.", {"openai-responses": {"phase": "x"}})),
        BlockEnded(3, foreign),
        BlockEnded(4, call),
        BlockEnded(5, broken),
        ResponseEnded("tool_calls", "tool_use", USAGE),
        ToolFinished(call, picture),
        ToolFinished(broken, ToolResult("call_2", "bad", is_error=True)),
        prompt("and this"),
        ResponseStarted("msg_2", "up"),
        BlockEnded(0, Text("Done.")),
        ResponseEnded("end", "end_turn", USAGE),
        ended("Done."),
    ]
    session = read(stored(tmp_path / "s.jsonl", events))
    assert session.history == (
        user(Text("look"), Image("", "", "http://x/y.png")),
        Message(
            "assistant",
            (thought, hidden, Text("Let me see.", {"openai-responses": {"phase": "x"}}), foreign, call, broken),
            ORIGIN,
        ),
        user(picture, ToolResult("call_2", "bad", is_error=True)),
        user(Text("and this")),
        Message("assistant", (Text("Done."),), ORIGIN),
    )
    assert (session.model, session.foreign_model) == ("anthropic/claude-sonnet-4-5", "")
    assert (session.cwd, session.last_prompt, session.skipped) == (INFO.cwd, "and this", 0)


def test_interrupts_notes_and_failures(tmp_path: Path) -> None:
    from yume_shim.types.errors import Failure

    events: list[Event] = [
        TurnStarted(INFO),
        prompt("a"),
        prompt("b"),
        ASKED,
        ResponseStarted("msg_1", "up"),
        *streamed(0, Text("void"), []),
        ResponseDropped(0, None, interrupted=False),
        ResponseStarted("msg_2", "up"),
        PartialKept(Text("So"), 0, interrupted=True),
        Interrupted("user", "streaming"),
        ResponseDropped(1, 0, interrupted=True),
        ended("", outcome="cancelled"),
        TurnStarted(INFO),
        prompt("c"),
        NoteAdded("go on"),
        TurnFailed(Failure("server", "no")),
        ended("", outcome="provider_error"),
        TurnStarted(INFO),
        prompt("   "),
    ]
    session = read(stored(tmp_path / "s.jsonl", events))
    assert session.history == (
        user(Text("a\nb")),
        Message("assistant", (Text("So"),), ORIGIN),
        user(Text("[Request interrupted by user]")),
        user(Text("c")),  # the note "go on" was not answered
        user(Text("(no content)")),
    )


def test_history_begins_at_the_last_compaction(tmp_path: Path) -> None:
    kept = (user(Text("kept")), Message("assistant", (Text("yes"),), ORIGIN))
    events: list[Event] = [
        TurnStarted(INFO),
        prompt("old"),
        Compacted("manual", 9, 1, 8, 0, user(Text("Summary.")), kept, "boundary"),
        prompt("new"),
    ]
    path = stored(tmp_path / "s.jsonl", events)
    assert read(path).history == (user(Text("Summary.")), *kept, user(Text("new")))
    first = read(path, at=tag_events(events)[1].uuid)
    assert first.history == (user(Text("old")),)
    # a branch from before the compaction is found, although its start was forgotten
    with path.open("ab") as file:
        file.write(save(question("branch", "again", parent=tag_events(events)[1].uuid)))
    assert read(path).history == (user(Text("old")), user(Text("again")))


def test_costs_continue_from_the_last_state(tmp_path: Path) -> None:
    before = ModelUsage("m", Usage(10, 5, 4, 3, 2, cache_write_1h=1), 0.25, 1000, 100, "openai", cost_known=False)
    events: list[Event] = [
        TurnStarted(INFO),
        prompt("a"),
        ended("", model_usage=(before,)),
        TurnStarted(INFO),
        prompt("b"),
        RequestStarted("m", "openai-chat/m"),
        ResponseStarted("msg_1", "up"),
        BlockEnded(0, Text("x")),
        BlockEnded(1, Text("y")),
        ResponseEnded("end", "end_turn", Usage(1, 2)),
        ResponseStarted("msg_2", "up"),
        BlockEnded(0, Text("never settled")),
    ]
    [spent] = read(stored(tmp_path / "s.jsonl", events)).used
    after = Usage(11, 7, 4, 3, 2, cache_write_1h=1)
    assert spent == ModelUsage("m", after, 0.75, 1000, 100, "openai", cost_known=False)


# ---------------------------------------------------------------- the Claude CLI's transcripts


def test_lines_of_the_claude_cli(tmp_path: Path) -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "sig"}
    server = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    path = tmp_path / "s.jsonl"
    lines = chain(
        question("1", "hi"),
        {"type": "attachment", "uuid": "2", "attachment": {"type": "environment"}},
        answer("3", [thinking], message_id="m1"),
        answer("4", [server, {"type": "text", "text": "ok"}], message_id="m1"),
        {"type": "attachment", "uuid": "5", "attachment": {"type": "queued_command", "prompt": "also this"}},
        answer("6", [{"type": "text", "text": "API Error"}], isApiErrorMessage=True),
        question("7", "only shown", isVisibleInTranscriptOnly=True),
        {"type": "system", "subtype": "informational", "uuid": "8"},
    )
    aside = answer("side", [{"type": "text", "text": "subagent"}], isSidechain=True)
    notes: list[Json] = [
        {"type": "api-request-blob", "uuid": 5},
        {"type": "custom-title", "customTitle": "A title"},
        {"type": "cost-state", "totalCostUSD": 1.5, "modelUsage": {"claude-x": {"costUSD": 1.5, "inputTokens": 3}}},
    ]
    path.write_bytes(save(*lines, aside, *notes))
    session = read(path)
    signed = Thinking("hm", opaque={"anthropic-messages": {"signature": "sig"}})
    assert replace(session, reader=None) == StoredSession(
        session_id="s",
        history=(
            user(Text("hi")),
            Message(
                "assistant", (signed, Other("anthropic-messages", server), Text("ok")), "anthropic-messages/claude-x"
            ),
            user(Text("also this")),
        ),
        leaf="7",
        model="",
        foreign_model="claude-x",
        used=(ModelUsage("claude-x", Usage(3), 1.5, 0, 0),),
        title="A title",
        cwd="/w",
        chain=("1", "2", "3", "4", "5", "6", "7"),
    )


@pytest.mark.parametrize("through", ["first", "second"])
def test_parallel_calls_get_their_results_back(tmp_path: Path, through: str) -> None:
    def called(name: str) -> list[Json]:
        return [{"type": "tool_use", "id": name, "name": "Read", "input": {}}]

    def result(name: str) -> list[Json]:
        return [{"type": "tool_result", "tool_use_id": name, "content": f"of {name}"}]

    path = tmp_path / "s.jsonl"
    path.write_bytes(
        save(
            question("1", "hi"),
            answer("2", called("a"), parent="1", message_id="m1"),
            answer("3", called("b"), parent="2", message_id="m1"),
            question("4", result("a"), parent="2"),
            question("5", result("b"), parent="3"),
            answer("6", [{"type": "text", "text": "both"}], parent="4" if through == "first" else "5", message_id="m2"),
        )
    )
    history = read(path).history
    origin = "anthropic-messages/claude-x"
    assert history[:2] == (
        user(Text("hi")),
        Message("assistant", (ToolCall("a", "Read", {}), ToolCall("b", "Read", {})), origin),
    )
    assert set(history[2].blocks) == {ToolResult("a", "of a"), ToolResult("b", "of b")}
    assert history[3:] == (Message("assistant", (Text("both"),), origin),)


@pytest.mark.parametrize("with_note", [False, True])
def test_answers_of_a_server_that_reuses_its_response_ids_keep_their_order(tmp_path: Path, with_note: bool) -> None:
    lines = [question("0", "hi")]
    for step in range(3):
        call = {"type": "tool_use", "id": f"c{step}", "name": "Read", "input": {}}
        result = {"type": "tool_result", "tool_use_id": f"c{step}", "content": f"of {step}"}
        lines += [
            answer(f"{step}t", [{"type": "text", "text": f"step {step}"}], message_id="chatcmpl-0", costUSD=0.25),
            answer(f"{step}c", [call], message_id="chatcmpl-0", costUSD=0.25),
            question(f"{step}r", [result]),
        ]
        if with_note:  # a line without a message in between
            lines.append({"type": "system", "subtype": "informational", "uuid": f"{step}n", "isSidechain": False})
    lines.append(answer("end", [{"type": "text", "text": "done"}], message_id="chatcmpl-0", costUSD=0.25))
    path = tmp_path / "s.jsonl"
    path.write_bytes(save(*chain(*lines)))
    session, origin = read(path), "anthropic-messages/claude-x"
    expected: list[Message] = [user(Text("hi"))]
    for step in range(3):
        blocks = (Text(f"step {step}"), ToolCall(f"c{step}", "Read", {}))
        expected += [Message("assistant", blocks, origin), user(ToolResult(f"c{step}", f"of {step}"))]
    assert session.history == (*expected, Message("assistant", (Text("done"),), origin))
    assert [entry.cost_usd for entry in session.used] == [1.0]


def test_one_branch_is_followed_and_the_other_left_out(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    text = [{"type": "text", "text": "x"}]
    path.write_bytes(
        save(
            question("1", "hi"),
            answer("2", text, parent="1", message_id="m"),
            question("3", "left", parent="2"),
            answer("4", text, parent="3", message_id="m"),
            question("5", "taken", parent="2"),
        )
    )
    said = Message("assistant", (Text("x"),), "anthropic-messages/claude-x")
    assert read(path).history == (user(Text("hi")), said, user(Text("taken")))
    assert read(path, at="4").history == (user(Text("hi")), said, user(Text("left")), said)
    with pytest.raises(NoSuchMessage):
        load(str(path), "nowhere")


# ---------------------------------------------------------------- damage


def test_torn_and_foreign_lines_lose_only_themselves(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    one, two, three, four = (
        save(line)
        for line in chain(
            question("1", "a"), answer("2", [{"type": "text", "text": "b"}]), question("3", "c"), question("4", "d")
        )
    )
    path.write_bytes(one + two + b"\n\n[1]\nnot json\n" + three[: len(three) // 2] + b"\n" + b"\xff\xfe\n" + four[:-1])
    session = read(path)
    assert [message.blocks[0] for message in session.history] == [Text("a"), Text("b"), Text("d")]
    assert session.skipped == 4


@pytest.mark.parametrize("data", [b"", b"\n\n", b'{"type":"last-prompt","lastPrompt":"x"}\n', b"garbage\n"])
def test_a_file_without_messages_is_not_a_conversation(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(data)
    assert load(str(path)) is None


def test_a_cycle_of_parents_ends(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(save(question("1", "a", parent="2"), question("2", "b", parent="1")))
    assert [message.blocks for message in read(path).history] == [(Text("a"),), (Text("b"),)]


def test_strange_shapes_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    odd: list[Any] = [
        1,
        None,
        {"no": "type"},
        {"type": "image", "source": 3},
        {"type": "tool_result", "content": [{"type": "x"}]},
    ]
    path.write_bytes(
        save(
            question("1", odd),
            question("2", 5, parent="1"),
            {"type": "user", "uuid": "3", "parentUuid": "2", "message": "text"},
            answer("4", "plain", parent="3", requestedModel=[], yume={"origin": {}, "provider": []}),
            answer("5", [{"type": "tool_use", "id": 3, "input": "x"}], parent="4", message_id="m9"),
        )
    )
    assert read(path).history == (
        user(Other("", {"type": "image", "source": 3}), ToolResult("", (Text('{"type":"x"}'),))),
        Message("assistant", (Text("plain"),), "anthropic-messages/claude-x"),
        Message("assistant", (ToolCall("", "", {}),), "anthropic-messages/claude-x"),
    )


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreFailed, match="cannot be read"):
        load(str(tmp_path / "missing.jsonl"))


# ---------------------------------------------------------------- size


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="memory is measured the POSIX way")
def test_loading_needs_the_memory_of_the_current_conversation_only(tmp_path: Path) -> None:
    import resource

    path = tmp_path / "s.jsonl"
    blob = "x" * 100_000
    with path.open("wb") as file:
        parent = None
        for number in range(200):  # 20 MB before a compaction
            file.write(save(question(f"old-{number}", blob, parent=parent)))
            parent = f"old-{number}"
        file.write(save({"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None}))
        file.write(save(question("s", "Summary.", parent="b", isCompactSummary=True)))
    load(str(path))  # the fast parser is loaded once and must not count
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with cheap(5):
        session = read(path)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert session.history == (user(Text("Summary.")),)
    assert grown < 4_000_000
