"""Any history becomes legal; a legal one stays the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.counting import calls_of
from yume_shim.context.repair import LegalPrefix, Repaired, repair
from yume_shim.context.thorough_repair import MISSING_RESULT, OPENING_NOTE, thoroughly
from yume_shim.types.blocks import Document, Image, Message, Other, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.models import ANTHROPIC_MESSAGES, Endpoint, ModelSpec

CLAUDE = ModelSpec("claude-x", Endpoint("anthropic", ANTHROPIC_MESSAGES, "http://127.0.0.1:1"))
GEMINI = ModelSpec("gemini-x", Endpoint("google", "google-genai", "http://127.0.0.1:1"))
SIGNED = {ANTHROPIC_MESSAGES: {"signature": "s"}, "google-genai": {"signature": "s"}}


def user(*blocks: Any) -> Message:
    return Message("user", tuple(Text(block) if isinstance(block, str) else block for block in blocks))


def said(*blocks: Any, origin: str = CLAUDE.origin) -> Message:
    return Message("assistant", tuple(Text(block) if isinstance(block, str) else block for block in blocks), origin)


def call(id: str) -> ToolCall:
    return ToolCall(id, "LS", {})


def missing(id: str) -> ToolResult:
    return ToolResult(id, MISSING_RESULT, is_error=True)


def test_a_legal_history_is_the_same_history() -> None:
    history = (
        user("Hi", Image("image/png", "AA==")),
        said(Thinking("hm", opaque=SIGNED), "Let me look.", call("a"), call("b")),
        user(ToolResult("a", "1"), ToolResult("b", (Text("2"), Image("image/png", "AA=="))), "And?"),
        said(Thinking("", True, {ANTHROPIC_MESSAGES: {"data": "d"}}), "Done."),
        user("Thanks"),
    )
    repaired = repair(history, CLAUDE)
    assert repaired == Repaired(history)
    assert all(one is other for one, other in zip(repaired.messages, history, strict=True))


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ((), ()),
        ((user("a"), user("  \n"), user("b")), (user("a", "b"),)),
        ((user("a"), said(""), user("b")), (user("a", "b"),)),
        ((user("a"), said("x"), said("y"), user("b")), (user("a"), said("x", "y"), user("b"))),
        ((said("x"), user("b")), (user(OPENING_NOTE), said("x"), user("b"))),
        (
            (user("a"), said("x", ToolResult("q", "?"), Image("image/png", "")), user("b")),
            (user("a"), said("x"), user("b")),
        ),
        ((user("a", call("q"), Thinking("t")),), (user("a"),)),
    ],
    ids=["nothing", "blank", "empty answer", "two answers", "opening", "wrong side", "wrong side of the user"],
)
def test_messages(history: tuple[Message, ...], expected: tuple[Message, ...]) -> None:
    assert repair(history, CLAUDE).messages == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((said(call("a")), user("b")), (said(call("a")), user(missing("a"), "b"))),
        ((said(call("a")),), (said(call("a")), user(missing("a")))),
        (
            (said(call("a"), call("b")), user("text", ToolResult("b", "2"), ToolResult("a", "1"))),
            (said(call("a"), call("b")), user(ToolResult("a", "1"), ToolResult("b", "2"), "text")),
        ),
        (
            (said(call("a")), user(ToolResult("a", "1")), user(ToolResult("a", "again"), "b")),
            (said(call("a")), user(ToolResult("a", "1"), "b")),
        ),
        ((said("x"), user(ToolResult("gone", "1"), "b")), (said("x"), user("b"))),
        (
            (said("x"), user(ToolResult("gone", "1")), said(call("a")), user(ToolResult("a", "1"))),
            (said("x", call("a")), user(ToolResult("a", "1"))),
        ),
        (
            (said(call("a")), user("  "), said(call("b")), user(ToolResult("b", "2"), ToolResult("a", "1"))),
            (said(call("a"), call("b")), user(ToolResult("a", "1"), ToolResult("b", "2"))),
        ),
        (
            (said(call("a")), user("late"), said("x"), user(ToolResult("a", "1"), "b")),
            (said(call("a")), user(missing("a"), "late"), said("x"), user("b")),
        ),
        (
            (said(call("a"), call("a")), user(ToolResult("a", "1"), ToolResult("a", "2"))),
            (said(call("a"), call("a_2")), user(ToolResult("a", "1"), ToolResult("a_2", "2"))),
        ),
        (
            (said(call("a")), user(ToolResult("a", "1")), said(call("a")), user(ToolResult("a", "2"))),
            (said(call("a")), user(ToolResult("a", "1")), said(call("a_2")), user(ToolResult("a_2", "2"))),
        ),
        (
            (
                said(call("a")),
                user(ToolResult("a", (Text(" "), Text("x")))),
                said(call("b")),
                user(ToolResult("b", (Text(""),))),
            ),
            (said(call("a")), user(ToolResult("a", (Text("x"),))), said(call("b")), user(ToolResult("b", ""))),
        ),
    ],
    ids=[
        "no result",
        "no result at the end",
        "order",
        "twice answered",
        "orphan",
        "orphan alone",
        "split by a blank",
        "too late",
        "same id at once",
        "same id again",
        "blank results",
    ],
)
def test_calls(before: tuple[Message, ...], after: tuple[Message, ...]) -> None:
    assert repair((user("go"), *before), CLAUDE).messages == (user("go"), *after)


@pytest.mark.parametrize(
    ("target", "thought", "origin", "kept"),
    [
        (CLAUDE, Thinking("t", opaque=SIGNED), CLAUDE.origin, True),
        (CLAUDE, Thinking("", opaque=SIGNED), CLAUDE.origin, True),
        (CLAUDE, Thinking("t"), CLAUDE.origin, False),
        (CLAUDE, Thinking("t", opaque={ANTHROPIC_MESSAGES: {"signature": ""}}), CLAUDE.origin, False),
        (CLAUDE, Thinking("t", opaque=SIGNED), f"{ANTHROPIC_MESSAGES}/claude-y", False),
        (CLAUDE, Thinking("t", opaque=SIGNED), GEMINI.origin, False),
        (GEMINI, Thinking("t"), GEMINI.origin, True),
        (GEMINI, Thinking(" "), GEMINI.origin, False),
        (GEMINI, Thinking("", opaque=SIGNED), GEMINI.origin, True),
        (GEMINI, Thinking("t", opaque=SIGNED), "", False),
    ],
)
def test_thinking(target: ModelSpec, thought: Thinking, origin: str, kept: bool) -> None:
    history = (user("a"), said(thought, "x", origin=origin), user("b"))
    repaired = repair(history, target)
    expected = history if kept else (user("a"), said("x", origin=origin), user("b"))
    assert repaired.messages == expected
    assert bool(repaired.notes) != kept


def test_an_answer_does_not_end_on_thinking_where_that_is_refused() -> None:
    thought = Thinking("t", opaque=SIGNED)
    history = (user("a"), said("x", thought), user("b"), said(thought), user("c"))
    assert repair(history, CLAUDE).messages == (user("a"), said("x"), user("b", "c"))
    own = tuple(Message(one.role, one.blocks, GEMINI.origin if one.origin else "") for one in history)
    assert repair(own, GEMINI).messages == own


def test_foreign_blocks_are_left_out() -> None:
    mine, theirs = Other(ANTHROPIC_MESSAGES, {"type": "server_tool_use"}), Other("google-genai", {"executableCode": {}})
    assert repair((user("a"), said(mine, theirs, "x"), user("b")), CLAUDE) == Repaired(
        (user("a"), said(mine, "x"), user("b")), ("blocks that only another API understands left out: 1",)
    )


def test_two_authors_in_one_message_keep_only_the_targets_opaque_data() -> None:
    signed = Text("x", SIGNED)
    both = (user("a"), said(signed, origin=GEMINI.origin), said(signed), user("b"))
    assert repair(both, CLAUDE).messages == (user("a"), said("x", signed), user("b"))
    assert repair(both, GEMINI).messages == (user("a"), said(signed, "x", origin=GEMINI.origin), user("b"))


def test_every_loss_is_reported() -> None:
    history = (said(Thinking("t"), call("a"), Other("else", {})), user(ToolResult("z", "?"), call("y")))
    assert repair(history, CLAUDE).notes == (
        "reasoning blocks left out: another model's, unsigned, or without an answer after them: 1",
        "blocks that only another API understands left out: 1",
        "blocks on the wrong side of the conversation left out: 1",
        "tool results without a call left out: 1",
        "tool calls without a result answered with an error: 1",
        "the history began with the assistant; a note for the user was put before it: 1",
    )


# ---------------------------------------------------------------- for any history

TEXTS = st.sampled_from(["", " ", "\n", "x", "y"])
IDS = st.sampled_from(["a", "b", "c", "a_2", ""])
OPAQUE = st.sampled_from([{}, SIGNED, {ANTHROPIC_MESSAGES: {"data": "d"}}])
BLOCKS = st.one_of(
    st.builds(Text, TEXTS, OPAQUE),
    st.builds(Thinking, TEXTS, st.booleans(), OPAQUE),
    st.builds(ToolCall, IDS, st.just("LS"), st.just({}), st.none(), OPAQUE),
    st.builds(ToolResult, IDS, TEXTS | st.lists(st.builds(Text, TEXTS), max_size=2).map(tuple)),
    st.just(Image("image/png", "AA==")),
    st.just(Document("application/pdf", "AA==")),
    st.builds(Other, st.sampled_from([ANTHROPIC_MESSAGES, "else"]), st.just({"k": 1})),
)
MESSAGES = st.builds(
    Message,
    st.sampled_from(["user", "assistant"]),
    st.lists(BLOCKS, max_size=4).map(tuple),
    st.sampled_from(["", CLAUDE.origin, GEMINI.origin]),
)
HISTORIES = st.lists(MESSAGES, max_size=8).map(tuple)
TARGETS = st.sampled_from([CLAUDE, GEMINI])


@given(HISTORIES, TARGETS)
def test_any_history_becomes_legal(history: tuple[Message, ...], target: ModelSpec) -> None:
    assert_legal(repair(history, target).messages, target)


PLAIN = st.one_of(
    st.builds(Text, TEXTS),
    st.builds(ToolCall, IDS, st.just("LS"), st.just({})),
    st.builds(ToolResult, IDS, TEXTS),
)
PLAIN_HISTORIES = st.lists(
    st.builds(Message, st.sampled_from(["user", "assistant"]), st.lists(PLAIN, max_size=3).map(tuple)), max_size=6
).map(tuple)


@settings(max_examples=1_000)
@given(HISTORIES | PLAIN_HISTORIES, HISTORIES | PLAIN_HISTORIES, TARGETS)
def test_the_quick_check_never_accepts_what_the_thorough_one_would_change(
    history: tuple[Message, ...], more: tuple[Message, ...], target: ModelSpec
) -> None:
    legal = LegalPrefix()
    repaired = thoroughly(history, target).messages
    for messages in (history, repaired, repaired + more, thoroughly(repaired + more, target).messages, history):
        accepted = legal.covers(messages, target)
        assert accepted == LegalPrefix().covers(messages, target)  # whatever it has seen before
        if accepted:
            assert thoroughly(messages, target) == Repaired(messages)


def test_the_quick_check_accepts_an_ordinary_history() -> None:
    thought = Thinking("t", opaque=SIGNED)
    ordinary = (
        user(Text("a")),
        said(thought, Text("b"), call("1")),
        user(ToolResult("1", "r"), Text("c")),
        said(Text("d")),
    )
    assert LegalPrefix().covers(ordinary, CLAUDE)
    assert not LegalPrefix().covers(ordinary, GEMINI)
    assert not LegalPrefix().covers(ordinary[1:], CLAUDE)
    assert not LegalPrefix().covers((*ordinary[:-1], said(Text("d"), thought)), CLAUDE)


def test_the_quick_check_looks_only_at_what_was_added() -> None:
    history = tuple(message for number in range(500) for message in (user("a"), said(f"b{number}")))
    legal = LegalPrefix()
    whole, more = (calls_of(lambda end=end: legal.covers(history[:end], CLAUDE)) for end in (996, 1_000))  # type: ignore[misc]
    assert more < whole / 50


@given(HISTORIES, TARGETS)
def test_repairing_twice_changes_nothing(history: tuple[Message, ...], target: ModelSpec) -> None:
    once = repair(history, target).messages
    assert repair(once, target) == Repaired(once)


@given(HISTORIES, HISTORIES, TARGETS)
def test_a_longer_history_extends_the_shorter_one(
    earlier: tuple[Message, ...], more: tuple[Message, ...], target: ModelSpec
) -> None:
    """A legal history followed by an answer and anything else: what was sent once is sent again, unchanged."""
    sent = repair((*earlier, user("go")), target).messages
    longer = repair((*sent, said("ok", origin=target.origin), *more), target).messages
    assert longer[: len(sent)] == sent


@given(HISTORIES, TARGETS)
def test_no_user_text_is_lost(history: tuple[Message, ...], target: ModelSpec) -> None:
    def words(messages: tuple[Message, ...]) -> list[str]:
        texts = [
            block.text for one in messages if one.role == "user" for block in one.blocks if isinstance(block, Text)
        ]
        return [text for text in texts if text.strip() and text != OPENING_NOTE]

    assert words(repair(history, target).messages) == words(history)


def assert_legal(messages: tuple[Message, ...], target: ModelSpec) -> None:
    assert [one.role for one in messages] == ["user", "assistant"] * (len(messages) // 2) + ["user"] * (
        len(messages) % 2
    )
    seen: set[str] = set()
    waiting: list[str] = []
    for message in messages:
        assert message.blocks
        assert not any(isinstance(block, Text) and not block.text.strip() for block in message.blocks)
        if message.role == "assistant":
            assert all(isinstance(block, (Text, Thinking, ToolCall, Other)) for block in message.blocks)
            waiting = [block.id for block in message.blocks if isinstance(block, ToolCall)]
            assert all(waiting)
            assert not seen & set(waiting)
            assert len(set(waiting)) == len(waiting)
            seen |= set(waiting)
            assert_readable(message, target)
        else:
            assert not any(isinstance(block, (Thinking, ToolCall)) for block in message.blocks)
            answered = [block.call_id if isinstance(block, ToolResult) else "" for block in message.blocks]
            assert answered[: len(waiting)] == waiting
            assert not any(answered[len(waiting) :])
            waiting = []
    assert not waiting


def assert_readable(message: Message, target: ModelSpec) -> None:
    assert not any(isinstance(block, Other) and block.api != target.endpoint.api for block in message.blocks)
    thoughts = [block for block in message.blocks if isinstance(block, Thinking)]
    if thoughts:
        assert message.origin == target.origin
    if target is CLAUDE:
        assert not isinstance(message.blocks[-1], Thinking)
        assert all(thought.opaque[ANTHROPIC_MESSAGES] for thought in thoughts)
