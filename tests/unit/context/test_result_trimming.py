"""Old tool results are trimmed in steps, older ones more; nothing else in a history changes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.histories import conversations, said, tool_round, user
from yume_shim.context.estimate import size_of
from yume_shim.context.result_trimming import (
    MEDIA_CHARS,
    MIN_CAP,
    TRIM_NOTE,
    Step,
    plan_step,
    untouched_from,
)
from yume_shim.context.trim_plan import TrimPlan, apply_trim
from yume_shim.types.blocks import Image, Message, Text, ToolResult

CAPS = st.lists(st.integers(MIN_CAP, 30_000), max_size=60).map(lambda caps: TrimPlan(tuple(caps)))


def chain(rounds: int, length: int, prompt: str = "go") -> list[Message]:
    messages = [user(prompt)]
    for number in range(rounds):
        messages += tool_round(f"{prompt}{number}", "x " * (length // 2))
    return messages


def lengths(messages: tuple[Message, ...]) -> list[int]:
    return [len(b.content) for m in messages for b in m.blocks if isinstance(b, ToolResult)]


def test_a_result_keeps_head_and_tail() -> None:
    whole = "a" * 500 + "b" * 500
    [_, cut] = apply_trim(tool_round("c", whole), TrimPlan((300, 300)))
    [block] = cut.blocks
    assert isinstance(block, ToolResult)
    assert isinstance(block.content, str)
    assert len(block.content) <= 300
    assert block.content.startswith("aaa")
    assert block.content.endswith("bbb")
    assert "characters of this old result cut" in block.content


def test_an_image_of_an_old_result_becomes_text() -> None:
    [_, cut] = apply_trim(tool_round("c", (Text("seen"), Image("image/png", "AA=="))), TrimPlan((300, 300)))
    assert cut == user(ToolResult("c", "seen\n[image/png of an old result left out]"))


def test_older_results_are_trimmed_more() -> None:
    messages = [*chain(40, 10_000), said("done"), user("next")]
    step = plan_step(messages, size_of(messages), 60_000)
    assert step is not None
    left = lengths(apply_trim(messages, step.plan))
    assert left == sorted(left)
    assert len(set(left)) == 4
    assert size_of(apply_trim(messages, step.plan)) <= 60_000


def test_caps_follow_the_budget() -> None:
    messages = [*chain(40, 10_000), said("done"), user("next")]
    sizes = []
    for budget in (100_000, 60_000, 20_000):
        step = plan_step(messages, size_of(messages), budget)
        assert step is not None
        sizes.append(size_of(apply_trim(messages, step.plan)))
    assert sizes == sorted(sizes, reverse=True)
    assert all(size <= budget for size, budget in zip(sizes, (100_000, 60_000, 20_000), strict=True))


def test_caps_follow_the_density() -> None:
    messages = [*chain(40, 10_000), said("done"), user("next")]
    thin = plan_step(messages, 100_000, 90_000)
    dense = plan_step(messages, 300_000, 90_000)  # the provider counted three times as many tokens for the same text
    assert thin is not None
    assert dense is not None
    assert sum(lengths(apply_trim(messages, dense.plan))) < sum(lengths(apply_trim(messages, thin.plan)))


def test_given_caps_replace_the_computed_ones() -> None:
    messages = [*chain(6, 10_000), said("done"), user("next")]
    step = plan_step(messages, size_of(messages), 1_000_000, caps=(5_000, 700))
    assert step is not None
    assert step.plan.caps[2::2] == (700, 700, 5_000, 5_000, 5_000, 5_000)
    assert lengths(apply_trim(messages, step.plan)) == [699, 699, 4_999, 4_999, 4_999, 4_999]


def test_a_running_chain_keeps_its_turns_whole() -> None:
    messages = [*chain(10, 9_000, "old"), said("done"), *chain(10, 9_000, "new")]
    start = messages.index(user("new"))
    assert untouched_from(messages, 1) == start
    assert untouched_from(messages, 2) == 0
    assert untouched_from(messages, 0) == len(messages) - 2
    step = plan_step(messages, size_of(messages), 1_000)
    assert step is not None
    sent = apply_trim(messages, step.plan)
    assert sent[start:] == tuple(messages[start:])
    assert len(sent) == len(messages)
    assert plan_step(messages, size_of(messages), 1_000, keep_turns=2) is None


def test_a_small_gain_is_no_step() -> None:
    messages = [user("word " * 10_000), *tool_round("c", "x" * 300), said("done"), user("next")]
    assert plan_step(messages, size_of(messages), 100) is None
    assert plan_step([], 10, 1) is None


def test_the_prefix_stays_the_same_while_the_history_grows() -> None:
    messages = [*chain(30, 10_000), said("done"), user("next")]
    step = plan_step(messages, size_of(messages), 60_000)
    assert step is not None
    before = apply_trim(messages, step.plan)
    grown = [*messages, *tool_round("n", "y" * 50_000), said("well")]
    assert apply_trim(grown, step.plan)[: len(before)] == before


@given(conversations(), CAPS)
def test_only_results_change_and_trimming_twice_changes_nothing(messages: tuple[Message, ...], plan: TrimPlan) -> None:
    sent = apply_trim(messages, plan)
    assert apply_trim(sent, plan) == sent
    assert len(sent) == len(messages)
    for before, after in zip(messages, sent, strict=True):
        assert [type(block) for block in after.blocks] == [type(block) for block in before.blocks]
        for old, new in zip(before.blocks, after.blocks, strict=True):
            if isinstance(old, ToolResult):
                assert isinstance(new, ToolResult)
                assert (new.call_id, new.is_error) == (old.call_id, old.is_error)
            else:
                assert new == old


@given(conversations(), st.integers(1, 100_000), st.integers(0, 3))
def test_a_step_makes_the_history_smaller_and_leaves_the_rest_alone(
    messages: tuple[Message, ...], budget: int, keep: int
) -> None:
    size = size_of(messages)
    step = plan_step(messages, size, budget, keep_turns=keep)
    if step is None:
        return
    sent = apply_trim(messages, step.plan)
    assert size_of(sent) < size
    start = untouched_from(messages, keep)
    assert sent[start:] == messages[start:]


@given(conversations(), CAPS, CAPS)
def test_joined_plans_never_let_a_result_grow(messages: tuple[Message, ...], one: TrimPlan, two: TrimPlan) -> None:
    assert one.joined(two) == two.joined(one)
    both = lengths_of(apply_trim(messages, one.joined(two)))
    for alone in (one, two):
        assert all(a <= b for a, b in zip(both, lengths_of(apply_trim(messages, alone)), strict=True))


def lengths_of(messages: tuple[Message, ...]) -> list[int]:
    """Characters of the results of each message."""
    return [sum(length_of(block) for block in message.blocks if isinstance(block, ToolResult)) for message in messages]


def length_of(result: ToolResult) -> int:
    if isinstance(result.content, str):
        return len(result.content)
    return sum(len(part.text) if isinstance(part, Text) else MEDIA_CHARS for part in result.content)


def test_the_note_fits_into_the_least_cap() -> None:
    assert len(TRIM_NOTE.replace("{cut}", "1" * 12)) < MIN_CAP // 2
    assert Step(TrimPlan(), 0).plan == TrimPlan(()).joined(TrimPlan(()))
