"""Trimming and compaction: before a request, after an overflow and on demand. Failures leave the history unchanged."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.helpers.engine_fakes import (
    HOLD,
    SPEC,
    Bench,
    FunctionTools,
    ScriptedProvider,
    answer,
    calls,
    fails,
    info,
    says,
)
from yume_shim.context.compact import OPENING
from yume_shim.context.estimate import size_of
from yume_shim.dialects.order import OrderCheck
from yume_shim.engine.compaction import NO_GAIN
from yume_shim.engine.session import Session
from yume_shim.types.blocks import Message, Text, ToolResult
from yume_shim.types.commands import Compact, EndOfInput, UserInput
from yume_shim.types.events import (
    BlockDelta,
    CommandRefused,
    Compacted,
    CompactEnded,
    Compacting,
    Interrupted,
    LocalCommandDone,
    Notice,
    PromptTaken,
    ResponseStarted,
    Retrying,
    SessionChanged,
    SessionReady,
    Tagged,
    TurnEnded,
    TurnFailed,
    TurnStarted,
)
from yume_shim.types.models import ModelSpec, Request, Usage
from yume_shim.types.value import replace

SMALL = replace(SPEC, window=10_000, max_output=1_000)
SUMMARY = answer(says("<summary>\nSHORT\n</summary>"), usage=Usage(100, 7))


def prompt(text: str, **more: Any) -> UserInput:
    return UserInput((Text(text),), text, **more)


def session(bench: Bench, spec: ModelSpec = SMALL) -> Session:
    return Session(bench.services, spec, "s-1", lambda text: replace(spec, id=text), info)


def run(bench: Bench, *inputs: Any, spec: ModelSpec = SMALL) -> Session:
    s = session(bench, spec)
    for given in inputs:
        s.submit(prompt(given) if isinstance(given, str) else given)
    s.submit(EndOfInput())
    s.run()
    in_order(bench)
    return s


def in_order(bench: Bench) -> None:
    check = OrderCheck()
    for event in (SessionReady(info()), *bench.events):
        check.feed(Tagged(event, "u", 0.0))


def texts(request: Request) -> list[str]:
    return [b.text for m in request.messages for b in m.blocks if isinstance(b, Text)]


def results(request: Request) -> list[str]:
    found = [b.content for m in request.messages for b in m.blocks if isinstance(b, ToolResult)]
    return [content for content in found if isinstance(content, str)]


def kinds_of(bench: Bench, *kinds: type) -> list[str]:
    return [type(event).__name__ for event in bench.events if isinstance(event, kinds)]


# ---------------------------------------------------------------- on demand


def test_compact_as_a_prompt() -> None:
    bench = Bench(ScriptedProvider(answer(says("one")), SUMMARY, answer(says("two"))))
    run(bench, "first", "/compact keep names", "second")
    first, compacting, second = bench.of(TurnEnded)
    assert (compacting.text, compacting.num_turns, compacting.usage) == ("", 0, Usage())
    assert (compacting.local_command, compacting.stop_reason) == ("compact", None)
    assert compacting.total_cost_usd == pytest.approx(first.total_cost_usd + (100 + 70) / 1_000_000)
    assert second.text == "two"
    asked = bench.provider.requests
    assert (asked[1].tool_choice, texts(asked[1])[:2]) == ("none", ["first", "one"])
    assert "keep names" in texts(asked[1])[2]
    [summary, last] = texts(asked[2])
    assert summary.startswith(OPENING)
    assert "SHORT" in summary
    assert "<first-request>\nfirst\n" in summary
    assert last == "second"
    assert kinds_of(bench, Compacting, CompactEnded, TurnStarted, Compacted, LocalCommandDone, TurnEnded) == [
        *("TurnStarted", "TurnEnded"),
        *("Compacting", "CompactEnded", "TurnStarted", "Compacted", "LocalCommandDone", "TurnEnded"),
        *("TurnStarted", "TurnEnded"),
    ]
    [done] = bench.of(Compacted)
    assert (done.trigger, done.before, done.kept, done.instructions) == ("manual", 15, (), "keep names")
    assert [event.text for event in bench.of(BlockDelta)] == ["o", "ne", "t", "wo"]  # the summary is not shown


def test_the_flat_command_compacts_without_a_turn() -> None:
    bench = Bench(ScriptedProvider(answer(says("one")), SUMMARY))
    run(bench, "first", Compact())
    assert kinds_of(bench, TurnEnded, Compacting, CompactEnded, Compacted, CommandRefused) == [
        "TurnEnded",
        "Compacting",
        "CompactEnded",
        "Compacted",
    ]


def test_nothing_to_compact() -> None:
    bench = Bench(ScriptedProvider())
    run(bench, "/compact", Compact())
    assert bench.of(LocalCommandDone) == [LocalCommandDone("compact", "Error: No messages to compact", "bad_input")]
    assert bench.of(CommandRefused) == [CommandRefused("No messages to compact")]
    [ended] = bench.of(TurnEnded)
    assert (ended.outcome, ended.num_turns) == ("success", 0)
    assert bench.provider.requests == []


@pytest.mark.parametrize(
    ("script", "error"),
    [
        (fails(kind="bad_request", retryable=False), "bad_request!"),
        (answer(says("<summary> </summary>")), "the model gave no summary"),
        (answer(calls("c", "Up")), "the model gave no summary"),
    ],
)
def test_without_a_summary_the_history_is_unchanged(script: list[Any], error: str) -> None:
    bench = Bench(ScriptedProvider(answer(says("one")), script, answer(says("two"))))
    run(bench, "first", "/compact", "second")
    [end] = bench.of(CompactEnded)
    assert (end.error, end.failure is not None) == (error, True)
    assert bench.of(Compacted) == []
    assert [done.text for done in bench.of(LocalCommandDone)] == [f"Error: {error}"]
    assert [end.outcome for end in bench.of(TurnEnded)] == ["success", "provider_error", "success"]
    assert [end.failed_command for end in bench.of(TurnEnded)] == [False, True, False]
    assert texts(bench.provider.requests[2]) == ["first", "one", "second"]


def test_a_summary_that_is_too_long_is_cut() -> None:
    bench = Bench(ScriptedProvider(answer(says("one")), answer(says("s" * 100_000)), answer(says("two"))))
    run(bench, "first", "/compact", "second")
    assert len(texts(bench.provider.requests[2])[0]) < 5_000
    assert "characters cut" in texts(bench.provider.requests[2])[0]


def test_a_summary_request_is_retried_and_the_retry_reported() -> None:
    bench = Bench(ScriptedProvider(answer(says("one")), fails(), SUMMARY))
    run(bench, "first", "/compact")
    assert len(bench.of(Retrying)) == 1
    assert len(bench.of(Compacted)) == 1


def test_a_summary_request_that_is_too_long_is_halved() -> None:
    overflow = fails(kind="context_length", retryable=False)
    tools = FunctionTools(Read=lambda given, _: "r" * 12_000)
    script = ScriptedProvider(answer(calls("c", "Read")), answer(says("one")), overflow, overflow, SUMMARY)
    bench = Bench(script, tools)
    run(bench, "first", "/compact")
    sizes = [sum(map(len, results(request))) for request in bench.provider.requests[2:]]
    assert sizes[0] > sizes[1] > sizes[2]
    assert len(bench.of(Compacted)) == 1


def test_compacting_can_be_interrupted() -> None:
    for given, ends in (("/compact", ["success", "cancelled"]), (Compact(), ["success"])):
        waiting = threading.Event()
        bench = Bench(ScriptedProvider(answer(says("one")), [ResponseStarted("m", "m"), waiting.set, HOLD]))
        s = session(bench)
        for command in (prompt("first"), given if isinstance(given, Compact) else prompt(given), EndOfInput()):
            s.submit(command)
        thread = threading.Thread(target=s.run)
        thread.start()
        assert waiting.wait(10)
        assert s.interrupt("user")
        thread.join(10)
        assert not thread.is_alive()
        in_order(bench)
        assert bench.of(CompactEnded) == [CompactEnded("stopped")]
        assert [end.outcome for end in bench.of(TurnEnded)] == ends
        assert len(bench.of(Interrupted)) == len(ends) - 1
        assert [refused.code for refused in bench.of(CommandRefused)] == ["cancelled"] * (2 - len(ends))


def test_slash_commands_are_echoed_and_not_joined_to_prompts() -> None:
    bench = Bench(
        ScriptedProvider(answer(says("one")), answer(says("two")), SUMMARY, answer(says("three"))),
        merge_waiting=True,
        replay_user_messages=True,
    )
    run(bench, "a", "b", prompt("/compact", uuid="u-1"), "c", "d")
    assert [end.text for end in bench.of(TurnEnded)] == ["one", "two", "", "three"]
    assert [(taken.content, taken.repeated) for taken in bench.of(PromptTaken)] == [
        ("a", False),
        ("b", False),
        ("/compact", True),
        ("c", False),
        ("d", False),
    ]
    assert texts(bench.provider.requests[3])[1:] == ["c\nd"]


def test_other_slashes_go_to_the_model() -> None:
    bench = Bench(ScriptedProvider(*(answer(says("x")) for _ in range(3))))
    run(bench, "/nosuch thing", "/compacted", "/usr/bin/env")
    sent = [text for text in texts(bench.provider.requests[2]) if text != "x"]
    assert [text for text in sent if text.startswith("/")] == ["/nosuch thing", "/compacted", "/usr/bin/env"]
    nosuch, compacted = (text for text in sent if not text.startswith("/"))
    assert "this session has no command /nosuch, so nothing was run.\n" in nosuch
    assert "no command /compacted, so nothing was run. The most similar one is /compact.\n" in compacted


def test_slash_commands_can_be_switched_off() -> None:
    bench = Bench(ScriptedProvider(answer(says("x"))), slash_commands=False)
    run(bench, "/clear")
    assert texts(bench.provider.requests[0]) == ["/clear"]


def test_clear_as_a_prompt() -> None:
    bench = Bench(ScriptedProvider(answer(says("one")), answer(says("two"))))
    s = run(bench, "first", "/clear", "second")
    [changed] = bench.of(SessionChanged)
    assert changed.previous_session_id == "s-1"
    assert s.info().session_id == changed.session_id
    _, cleared, second = bench.of(TurnEnded)
    assert (cleared.local_command, cleared.text, cleared.num_turns) == ("clear", "", 0)
    assert (cleared.total_cost_usd, cleared.model_usage) == (0, ())
    assert cleared.info is not None
    assert cleared.info.session_id == changed.session_id
    assert texts(bench.provider.requests[1]) == ["second"]
    assert second.total_cost_usd == pytest.approx(60 / 1_000_000)


# ---------------------------------------------------------------- automatic


def test_a_request_that_would_not_fit_is_preceded_by_a_summary() -> None:
    script = ScriptedProvider(answer(says("one"), usage=Usage(9_000, 100)), SUMMARY, answer(says("two")))
    bench = Bench(script)
    run(bench, "long " * 6_000, "second")
    [done] = bench.of(Compacted)
    assert (done.trigger, done.kept) == ("auto", (Message("user", (Text("second"),)),))
    assert done.before > 9_000 > done.after
    assert [end.num_turns for end in bench.of(TurnEnded)] == [1, 2]
    assert texts(bench.provider.requests[2])[1] == "second"
    assert bench.of(TurnEnded)[1].usage == Usage(10, 5)  # the summary is in the cost, not in the turn's tokens


def test_the_size_is_estimated_where_the_provider_gives_none() -> None:
    script = ScriptedProvider(answer(says("one"), given=False), SUMMARY, answer(says("two")))
    bench = Bench(script)
    run(bench, "long " * 9_000, "second")
    assert len(bench.of(Compacted)) == 1


def test_the_threshold_can_be_set_and_switched_off() -> None:
    def script() -> ScriptedProvider:
        return ScriptedProvider(answer(says("one"), usage=Usage(500, 1)), SUMMARY, answer(says("two")))

    at_400, off = Bench(script(), autocompact_tokens=400), Bench(script(), auto_compact=False, autocompact_tokens=400)
    run(at_400, "first", "second")
    run(off, "first", "second")
    assert [len(bench.of(Compacted)) for bench in (at_400, off)] == [1, 0]


def test_a_window_that_is_wrong_is_no_reason_to_compact() -> None:
    bench = Bench(ScriptedProvider(answer(says("one"), usage=Usage(50_000, 100)), answer(says("two"))))
    run(bench, "first", "second")
    assert bench.of(Compacted) == []
    assert bench.provider.requests[1].max_tokens == 1_000


def test_a_failed_summary_is_reported_once_and_the_request_is_sent() -> None:
    broken = fails(kind="bad_request", retryable=False)
    tools = FunctionTools(Up=lambda given, _: "ok")
    script = ScriptedProvider(
        answer(says("one"), usage=Usage(9_000, 100)),
        broken,
        answer(calls("c", "Up"), usage=Usage(9_000, 100)),
        answer(says("two")),
    )
    bench = Bench(script, tools)
    run(bench, "first", "second")
    notices = [notice for notice in bench.of(Notice) if notice.code != "small_model"]
    assert notices == [Notice("compact", "The history could not be summarised: bad_request!")]
    assert bench.of(TurnEnded)[1].text == "two"


def test_a_long_tool_chain_is_compacted_in_its_middle() -> None:
    tools = FunctionTools(Read=lambda given, _: "r " * 1_800)
    rounds = [answer(calls(f"c{n}", "Read", file_path=f"f{n}"), usage=Usage(1_000 * n + 500, 9)) for n in range(8)]
    bench = Bench(ScriptedProvider(*rounds, SUMMARY, answer(says("done"))), tools)
    run(bench, "first")
    [done] = bench.of(Compacted)
    last = bench.provider.requests[-1]
    assert [message.role for message in last.messages[:3]] == ["user", "assistant", "user"]
    assert done.kept[0].role == "assistant"
    assert len(done.kept) % 2 == 0
    assert bench.of(TurnEnded)[0].text == "done"


def chain(bench: Bench) -> list[list[str]]:
    """The calls whose results each request carries."""
    asked = bench.provider.requests
    return [[b.call_id for m in request.messages for b in m.blocks if isinstance(b, ToolResult)] for request in asked]


def test_a_chain_of_one_round_goes_on_from_a_summary_of_everything() -> None:
    """As in the Claude CLI: the pending result is part of the summary, and the model goes on with the next call."""
    tools = FunctionTools(Read=lambda given, _: "r " * 1_800)
    big = answer(
        calls("c1", "Read", file_path="f1"), calls("c2", "Read", index=1, file_path="f2"), usage=Usage(9_000, 9)
    )
    more = answer(calls("c3", "Read", file_path="f3"), usage=Usage(3_000, 9))
    bench = Bench(ScriptedProvider(big, SUMMARY, more, answer(says("done"))), tools)
    run(bench, "first", "second")
    assert chain(bench) == [[], ["c1", "c2"], [], ["c3"], ["c3"]]
    assert ["SHORT" in texts(request)[0] for request in bench.provider.requests] == [False, False, True, True, True]
    [done] = bench.of(Compacted)
    assert (done.trigger, done.kept) == ("auto", ())
    first = bench.of(TurnEnded)[0]
    assert (first.outcome, first.num_turns) == ("success", 5)


def test_results_that_are_too_large_for_the_window_are_summarised() -> None:
    tools = FunctionTools(Read=lambda given, _: "r " * (15_000 if given["file_path"] == "huge" else 10))
    rounds = [answer(calls(f"c{n}", "Read", file_path=name)) for n, name in enumerate(("a", "b", "huge"))]
    bench = Bench(ScriptedProvider(*rounds, SUMMARY, answer(says("done"))), tools)
    run(bench, "first")
    assert chain(bench) == [[], ["c0"], ["c0", "c1"], ["c0", "c1", "c2"], []]
    assert size_of(bench.provider.requests[3].messages) < SMALL.window
    assert [(end.outcome, end.num_turns) for end in bench.of(TurnEnded)] == [("success", 5)]


def test_after_the_limit_of_turns_num_turns_counts_requests() -> None:
    """As in the Claude CLI: neither calls side by side nor a compaction count then."""
    tools = FunctionTools(Read=lambda given, _: "ok")
    first = answer(
        calls("c1", "Read", file_path="f"), calls("c2", "Read", index=1, file_path="g"), usage=Usage(9_000, 9)
    )
    more = answer(calls("c3", "Read", file_path="f"), calls("c4", "Read", index=1, file_path="g"))
    bench = Bench(ScriptedProvider(first, SUMMARY, more), tools, max_turns=2)
    run(bench, "first")
    assert [(end.outcome, end.num_turns) for end in bench.of(TurnEnded)] == [("max_turns", 3)]
    assert len(bench.of(Compacted)) == 1


# ---------------------------------------------------------------- overflow


def test_an_overflow_after_the_first_round_is_answered_with_a_summary() -> None:
    tools = FunctionTools(Read=lambda given, _: "r " * 1_800)
    overflow = fails(kind="context_length", retryable=False)
    script = ScriptedProvider(
        answer(calls("c1", "Read", file_path="f")),
        overflow,
        SUMMARY,
        answer(calls("c2", "Read", file_path="g")),
        answer(says("done")),
    )
    bench = Bench(script, tools)
    run(bench, "first")
    assert chain(bench) == [[], ["c1"], ["c1"], [], ["c2"]]
    assert [(end.outcome, end.text, end.num_turns) for end in bench.of(TurnEnded)] == [("success", "done", 4)]


def test_an_overflow_is_answered_with_a_summary_and_one_more_try() -> None:
    overflow = fails(kind="context_length", retryable=False)
    bench = Bench(ScriptedProvider(answer(says("one")), overflow, SUMMARY, answer(says("two"))))
    run(bench, "first", "second")
    [done] = bench.of(Compacted)
    assert done.trigger == "auto"
    assert [(end.outcome, end.text, end.num_turns) for end in bench.of(TurnEnded)] == [
        ("success", "one", 1),
        ("success", "two", 2),
    ]
    assert "SHORT" in texts(bench.provider.requests[3])[0]


def test_a_second_overflow_fails_the_turn() -> None:
    overflow = fails(kind="context_length", retryable=False)
    bench = Bench(ScriptedProvider(answer(says("one")), overflow, SUMMARY, overflow))
    run(bench, "first", "second")
    assert [end.outcome for end in bench.of(TurnEnded)] == ["success", "provider_error"]
    assert [failed.failure.kind for failed in bench.of(TurnFailed)] == ["context_length"]


def test_an_overflow_with_too_little_history_fails_the_turn() -> None:
    bench = Bench(ScriptedProvider(fails(kind="context_length", retryable=False)))
    run(bench, "first")
    assert len(bench.provider.requests) == 1
    assert bench.of(Compacting) == []
    assert [failed.failure.kind for failed in bench.of(TurnFailed)] == ["context_length"]


def test_after_an_overflow_old_results_are_trimmed_first() -> None:
    tools = FunctionTools(Read=lambda given, _: "r" * 20_000)
    overflow = fails(kind="context_length", retryable=False)
    script = ScriptedProvider(
        answer(calls("c", "Read")), answer(says("one")), overflow, answer(says("two")), overflow, answer(says("x"))
    )
    bench = Bench(script, tools)
    run(bench, "first", "second", spec=SPEC)
    assert bench.of(Compacting) == []
    assert len(results(bench.provider.requests[2])[0]) == 20_000
    assert len(results(bench.provider.requests[3])[0]) < 12_000
    assert bench.of(TurnEnded)[1].text == "two"


# ---------------------------------------------------------------- trimming and room


def trimming_bench(**settings: Any) -> Bench:
    tools = FunctionTools(Read=lambda given, _: "r" * 4_000)
    rounds = [answer(calls(f"c{n}", "Read"), usage=Usage(1_200 * n + 10, 5)) for n in range(5)]
    more = [answer(says(f"answer {n}"), usage=Usage(6_500 if n == 0 else 3_000, 5)) for n in range(3)]
    return Bench(ScriptedProvider(*rounds, *more), tools, auto_compact=False, **settings)


def test_old_results_are_trimmed_in_one_step_and_then_the_prefix_stays() -> None:
    bench = trimming_bench()
    run(bench, "first", "second", "third")
    asked = bench.provider.requests
    assert [len(text) for text in results(asked[5])] == [4_000] * 5  # in the chain nothing is touched
    trimmed = results(asked[6])
    assert sum(map(len, trimmed)) < 16_000
    assert asked[7].messages[: len(asked[6].messages)] == asked[6].messages
    assert bench.of(Compacted) == []


def test_trimming_can_be_switched_off_or_begin_earlier() -> None:
    off, early = trimming_bench(history_trimming=False), trimming_bench(max_history_tokens=100, trim_caps=(300,))
    run(off, "first", "second", "third")
    run(early, "first", "second", "third")
    assert [len(text) for text in results(off.provider.requests[7])] == [4_000] * 5
    assert all(len(text) <= 300 for text in results(early.provider.requests[7]))


def test_the_answer_gets_what_the_window_leaves() -> None:
    script = ScriptedProvider(answer(says("one"), usage=Usage(98_000, 900)), answer(says("two")))
    bench = Bench(script, auto_compact=False)
    run(bench, "first", "second", spec=replace(SPEC, window=100_000, max_output=8_000))
    assert [request.max_tokens for request in bench.provider.requests] == [8_000, 1_024]


def test_a_stored_conversation_continues() -> None:
    bench = Bench(ScriptedProvider(answer(says("more"))))
    s = session(bench)
    s.restore([Message("user", (Text("old"),)), Message("assistant", (Text("said"),), SMALL.origin)])
    s.submit(prompt("new"))
    s.submit(EndOfInput())
    s.run()
    assert texts(bench.provider.requests[0]) == ["old", "said", "new"]


# ---------------------------------------------------------------- never larger

LINES = "\n".join(f"Line {number} of the notes says that bed {number} needs water." for number in range(40))


def summary_of_length(words: int) -> list[Any]:
    return answer(says(f"<summary>\n{' '.join(['word'] * words)}\n</summary>"), usage=Usage(100, 7))


@pytest.mark.parametrize("words", [1, 200, 600, 5_000])
@pytest.mark.parametrize("asked", ["Hi.", "\n".join([LINES] * 2)])
def test_a_summary_on_demand_never_makes_the_history_larger(words: int, asked: str) -> None:
    """As in the flat dialect. A long summary is clipped; one that cannot become shorter than a short history is not
    used."""
    before = size_of((Message("user", (Text(asked),)), Message("assistant", (Text("Hello."),))))
    hello = answer(says("Hello."), usage=Usage(before, 3))
    provider = ScriptedProvider(hello, summary_of_length(words), answer(says("Yes.")))
    bench = Bench(provider, compact_small=False)
    run(bench, asked, Compact(), "Still there?")
    if asked == "Hi.":
        assert bench.of(CommandRefused) == [CommandRefused(NO_GAIN)]
        assert texts(provider.requests[-1]) == ["Hi.", "Hello.", "Still there?"]
    else:
        (done,) = bench.of(Compacted)
        assert done.after < done.before
        assert size_of((done.summary,)) < before
        assert texts(provider.requests[-1])[0].startswith(OPENING)


def test_an_automatic_summary_that_saves_nothing_is_not_used() -> None:
    """The newest message is what is large: there is little to summarise."""
    provider = ScriptedProvider(answer(says("Hello.")), summary_of_length(2_000), answer(says("Yes.")))
    bench = Bench(provider, autocompact_tokens=1_000)
    run(bench, "Hi.", "\n".join([LINES] * 3))
    assert bench.of(Compacted) == []
    assert bench.of(CompactEnded) == [CompactEnded(NO_GAIN)]
    assert texts(provider.requests[-1])[:2] == ["Hi.", "Hello."]
