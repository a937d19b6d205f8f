"""Where a history may be cut, how a summary is requested, and what replaces the history."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.histories import ORIGIN, anything, conversations, said, tool_round, user
from yume_shim.context.compact import (
    CLOSING,
    MAX_FILES,
    MAX_TASK,
    MIN_HEAD,
    OPENING,
    ask_for_summary,
    choose_cut,
    fit_head,
    legal_cuts,
    rejoin,
    summary_of,
    touched_files,
)
from yume_shim.context.estimate import size_of
from yume_shim.context.repair import repair
from yume_shim.types.blocks import Message, Text, ToolCall, ToolResult
from yume_shim.types.models import Endpoint, ModelSpec, ToolSpec

SPEC = ModelSpec("test-model", Endpoint("test", "test-api", "http://127.0.0.1:1"))
TOOLS = (
    ToolSpec("Read", "", {}, kind="read", path_field="file_path"),
    ToolSpec("Edit", "", {}, kind="edit", path_field="file_path"),
    ToolSpec("Grep", "", {}, kind="search", path_field="path"),
)
assert SPEC.origin == ORIGIN


def orphans(messages: tuple[Message, ...]) -> list[str]:
    """Results without an earlier call."""
    called: set[str] = set()
    found = []
    for message in messages:
        for block in message.blocks:
            if isinstance(block, ToolCall):
                called.add(block.id)
            elif isinstance(block, ToolResult) and block.call_id not in called:
                found.append(block.call_id)
    return found


def test_cuts_are_between_rounds() -> None:
    history = (user("a"), *tool_round("1", "x"), *tool_round("2", "x"), said("done"), user("b"))
    assert legal_cuts(history) == [1, 3, 5, 6, 7]


def test_recent_messages_stay_up_to_the_budget() -> None:
    history = (user("a" * 100), said("b" * 100), user("c" * 100), said("d" * 100), user("e" * 100))
    assert choose_cut(history, 0, 1_000_000) == 4
    assert choose_cut(history, 60, 1_000_000) == 3
    assert choose_cut(history, 1_000_000, 1_000_000) == 3  # never more than half


def test_a_call_stays_with_the_last_result() -> None:
    history = (user("a"), said("b"), user("c"), *tool_round("1", "x" * 90_000))
    assert choose_cut(history, 10, 1_000_000) == 3


def test_too_little_to_summarise() -> None:
    assert choose_cut((), 10, 100) is None
    assert choose_cut((user("a"),), 10, 100) is None
    assert choose_cut((user("a"), *tool_round("1", "x")[:1]), 10, 100) is None


def test_results_are_summarised_too_if_nothing_else_can_be() -> None:
    short = (user("a"), *tool_round("1", "x"))
    assert choose_cut(short, 10, 100) == 3
    assert choose_cut(short, 10, 0) is None  # the system prompt alone fills the window: no summary helps
    long = (user("a"), *tool_round("1", "x"), *tool_round("2", "y " * 5_000))
    assert choose_cut(long, 10, 100_000) == 3
    assert choose_cut(long, 10, 1_000) == 5  # the newest results alone would not fit
    assert (
        choose_cut((*short, *tool_round("2", "y"), user("b " * 5_000)), 10, 1_000) == 5
    )  # a prompt is never summarised


@given(conversations())
def test_a_cut_never_separates_a_call_from_its_result(history: tuple[Message, ...]) -> None:
    for cut in legal_cuts(history):
        assert orphans(history[cut:]) == []
        whole = (user("summary"), *history[cut:])
        assert repair(whole, SPEC).notes == ()


@given(anything)
def test_a_cut_makes_no_new_orphans_in_any_history(history: tuple[Message, ...]) -> None:
    for cut in legal_cuts(history):
        assert set(orphans(history[cut:])) <= set(orphans(history))


@given(conversations(), st.integers(0, 5_000))
def test_the_chosen_cut_makes_the_history_smaller_and_keeps_the_last_message(
    history: tuple[Message, ...], keep: int
) -> None:
    cut = choose_cut(history, keep, 1_000_000)
    if cut == len(history):  # one round of calls and nothing before it: its results are summarised too
        assert not [legal for legal in legal_cuts(history) if MIN_HEAD <= legal < len(history)]
        assert any(isinstance(block, ToolResult) for block in history[-1].blocks)
    elif cut is not None:
        assert cut in legal_cuts(history)
        assert MIN_HEAD <= cut < len(history)
        assert history[cut:][-1] == history[-1]
        assert size_of(history[cut:]) < size_of(history)


@given(conversations(), st.integers(2_000, 20_000))
def test_the_messages_to_summarise_fit_and_are_legal(history: tuple[Message, ...], tokens: int) -> None:
    fitted = fit_head(history, tokens)
    assert size_of(fitted) <= max(tokens, 2_000)
    assert fit_head(fitted, tokens) == fitted
    assert orphans(fitted) == []
    assert repair(ask_for_summary(fitted), SPEC).messages[-1].role == "user"


def test_a_single_long_prompt_is_clipped() -> None:
    assert size_of(fit_head((user("p" * 900_000), said("ok")), 20_000)) <= 21_000


def test_the_request_contains_the_users_instructions() -> None:
    [*head, ask] = ask_for_summary((user("a"), said("b")), "keep names")
    assert head == [user("a"), said("b")]
    [text] = ask.blocks
    assert isinstance(text, Text)
    assert "keep names" in text.text
    assert ask_for_summary(()) != ask_for_summary((), "x")


def test_the_summary_has_no_tags_and_a_limit() -> None:
    assert summary_of("<analysis>hm</analysis>\n<summary>\nall of it\n</summary> bye") == "all of it"
    assert summary_of("<summary>cut off in the mid") == "cut off in the mid"
    assert summary_of("plain") == "plain"
    assert summary_of("<summary> </summary>") == ""
    long = summary_of("s" * 50_000, 1_000)
    assert len(long) <= 1_000
    assert "characters cut" in long


def test_task_and_files_are_copied_from_summary_to_summary() -> None:
    history = (user("build it"), *tool_round("1", "x", "a.py"), said(ToolCall("2", "Edit", {"file_path": "b.py"})))
    first = rejoin("half done", history, TOOLS)
    [text] = first.blocks
    assert isinstance(text, Text)
    assert text.text == (
        f"{OPENING}\n\nThe first request was:\n<first-request>\nbuild it\n</first-request>\n\nhalf done\n\n"
        f"Files touched so far:\n<files-touched>\na.py\nb.py (changed)\n</files-touched>\n\n{CLOSING}"
    )
    more = (first, user("and now?"), *tool_round("3", "x", "b.py"), *tool_round("4", "x", "c.py"))
    [again] = rejoin("all done", more, TOOLS).blocks
    assert isinstance(again, Text)
    assert "<first-request>\nbuild it\n</first-request>" in again.text
    assert "<files-touched>\na.py\nb.py (changed)\nc.py\n</files-touched>" in again.text
    assert "half done" not in again.text


def test_long_tasks_and_many_files_are_capped() -> None:
    history = [user("t" * 10_000)]
    for number in range(100):
        history += tool_round(f"c{number}", "x", f"f{number}.py")
    files = touched_files(history, TOOLS)
    assert files == tuple(f"f{number}.py" for number in range(100 - MAX_FILES, 100))
    [text] = rejoin("s", history).blocks
    assert isinstance(text, Text)
    assert len(text.text) < MAX_TASK + 500
    assert "files-touched" not in text.text
