"""Calls in text: what is a call, what is passed on, and that nothing a model writes can break it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.fakes import FakeIds
from tests.helpers.timing import cheap
from yume_shim.providers.apis import openai_chat
from yume_shim.providers.fitting.text_tools.calls import TextCalls
from yume_shim.providers.fitting.text_tools.scanner import MAX_CALL_CHARS, MAX_CALLS
from yume_shim.text import codec
from yume_shim.types.blocks import Message, Text, Thinking, ToolCall
from yume_shim.types.events import (
    BlockDelta,
    BlockEnded,
    BlockStarted,
    Notice,
    ResponseEnded,
    ResponseFailed,
    ResponseStarted,
)
from yume_shim.types.models import Endpoint, ModelSpec, Request, ToolSpec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from yume_shim.types.blocks import Json
    from yume_shim.types.events import ModelEvent

READ = ToolSpec(
    "Read",
    "Reads a file.",
    {"type": "object", "properties": {"file_path": {"type": "string"}, "limit": {"type": "integer"}}},
)
REQUEST = Request(
    ModelSpec("m", Endpoint("x", "openai-chat", "http://127.0.0.1:1")), (Message("user", (Text("hi"),)),), (), (READ,)
)
SIMPLE = '<tool_call>\n{"name": "Read", "arguments": {"file_path": "a"}}\n</tool_call>'
SOON = 10.0
"""Seconds for what takes about one."""


def play(deltas: Iterable[Json], finish: str = "stop") -> list[ModelEvent]:
    """The events of a chat answer made of these deltas."""
    calls = TextCalls(openai_chat.Decoder(REQUEST, {}, FakeIds().call_id), REQUEST, FakeIds().call_id)
    events: list[ModelEvent] = []
    for delta in deltas:
        events += calls.feed({"id": "r", "model": "m", "choices": [{"index": 0, "delta": delta}]})
    events += calls.feed({"id": "r", "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    events += calls.feed({"!done": True})
    events += calls.finish()
    check(events)
    return events


def check(events: list[ModelEvent]) -> None:
    """One start, one end, blocks one after the other, each made of its pieces."""
    assert isinstance(events[0], ResponseStarted)
    assert [isinstance(event, (ResponseEnded, ResponseFailed)) for event in events].index(True) == len(events) - 1
    index = -1
    pieces: list[str] | None = None
    for event in events[1:-1]:
        match event:
            case BlockStarted():
                assert (pieces, event.index) == (None, index + 1)
                index, pieces = event.index, []
            case BlockDelta():
                assert pieces is not None
                assert event.index == index
                assert event.text
                pieces.append(event.text)
            case BlockEnded():
                assert pieces is not None
                assert event.index == index
                if isinstance(event.block, Text):
                    assert event.block.text == "".join(pieces)
                pieces = None
            case _:
                assert isinstance(event, Notice)
    assert pieces is None


def cut(text: str, size: int) -> list[Json]:
    return [{"content": text[place : place + size]} for place in range(0, len(text), size)]


def blocks(events: list[ModelEvent]) -> list[Any]:
    """Texts unchanged, calls as (name, input) or (name, broken text)."""
    found: list[Any] = []
    for event in events:
        if isinstance(event, BlockEnded):
            match event.block:
                case Text():
                    found.append(event.block.text)
                case ToolCall():
                    found.append((event.block.name, event.block.broken or event.block.input))
                case other:
                    found.append(other)
    return found


def read(text: str, finish: str = "stop") -> list[Any]:
    """The blocks of an answer, which do not depend on how it is split."""
    whole = blocks(play(cut(text, len(text) or 1), finish))
    for size in (1, 2, 7):
        assert blocks(play(cut(text, size), finish)) == whole
    return whole


# ---------------------------------------------------------------- what counts as a call

A: tuple[str, Json] = ("Read", {"file_path": "a"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SIMPLE, [A]),
        (f"I look.\n{SIMPLE}\n\nWait.", ["I look.\n", A, "Wait."]),
        (f"{SIMPLE}\n{SIMPLE}{SIMPLE}", [A, A, A]),
        (f"\n\n{SIMPLE}\n ", [A]),
        (f"Right: {SIMPLE}", ["Right: ", A]),
        ('<tool_call>{"name":"Read","parameters":{"file_path":"a"}}</tool_call>', [A]),
        ('<tool_call>{"name":"Read","input":{"file_path":"a"}}</tool_call>', [A]),
        ('<tool_call>{"tool":"read","file_path":"a"}</tool_call>', [A]),
        ('<tool_call>{"name":"Read","arguments":"{\\"file_path\\":\\"a\\"}"}</tool_call>', [A]),
        ('<tool_call>{"type":"function","function":{"name":"Read","arguments":{"file_path":"a"}}}</tool_call>', [A]),
        ('<tool_call>[{"name":"Read","arguments":{"file_path":"a"}}, {"name":"LS"}]</tool_call>', [A, ("LS", {})]),
        ('<tool_call>{"name":"LS"}\n{"name":"LS"}</tool_call>!', [("LS", {}), ("LS", {}), "!"]),
        (f"```json\n{SIMPLE}\n```\nOK", [A, "OK"]),
        (f"```\n{SIMPLE}\n{SIMPLE}\n```", [A, A]),
        ('<tool_call>\n```json\n{"name": "LS"}\n```\n</tool_call>', [("LS", {})]),
        ('<tool_call>\n```json\n{"name": "LS"}\n```\n', [("LS", {})]),
        ('<tool_call>{"name":"LS"}', [("LS", {})]),
        ('<tool_call>{"name":"LS"} and so on', [("LS", {}), "and so on"]),
        ('<tool_call>{"name":"LS","arguments":{"path":"x"}</tool_call>.', [("LS", {"path": "x"}), "."]),
        ('<tool_call>{"name":"LS","arguments":{"path":["x"', [("LS", {"path": ["x"]})]),
        ('<tool_call>{"name":"LS"}}}\n</tool_call>.', [("LS", {}), "."]),
        (
            '<tool_call>{"name":"Write","arguments":{"content":"a\n\tb"}}</tool_call>',
            [("Write", {"content": "a\n\tb"})],
        ),
        ("<tool_call><function=Read>\n<parameter=file_path>\na\n</parameter></function></tool_call>", [A]),
        ("<function=Read><parameter=limit>3</parameter></function>x", [("Read", {"limit": 3}), "x"]),
        ('<function=Read>{"file_path": "a"}</function>', [A]),
        ('<tool_call>{"name":"FlyToMoon","arguments":{}}</tool_call>', [("FlyToMoon", {})]),
    ],
)
def test_calls(text: str, expected: list[Any]) -> None:
    assert read(text) == expected
    end = play(cut(text, 3))[-1]
    assert isinstance(end, ResponseEnded)
    assert (end.stop, end.stop_reason) == ("tool_calls", "tool_use")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "Plain.",
        "a < b, a <tool, <tool_call, <tool_calls>{}, </tool_call>",
        "Write <tool_call> and then your JSON.",
        'In code: `<tool_call>{"name": "x"}</tool_call>`.',
        f"```\nthe file:\n{SIMPLE}\n```\nThat was it.",
        f"~~~\nx\n{SIMPLE}\n```\n{SIMPLE}\n~~~",
        f"````\n```\n{SIMPLE}\n```\n````\n",
        f"  ```python\n  x\n{SIMPLE}",
        "<tool_response>nothing was called</tool_response>",
        "<tool_call>",
        "<tool_call>\n```json\n",
        "```json\n<tool_ca",
        "<function=f> is a tag, <function=",
        "``",
    ],
)
def test_no_calls(text: str) -> None:
    assert read(text) == ([text] if text else [])
    end = play(cut(text, 3))[-1]
    assert isinstance(end, ResponseEnded)
    assert end.stop == "end"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('<tool_call>{"name": Read}</tool_call>x', [("unnamed", '{"name": Read}'), "x"]),
        ('<tool_call>{"name": "Read", oops}</tool_call>x', [("Read", '{"name": "Read", oops}'), "x"]),
        ('<tool_call>{"a": 1}</tool_call>', [("unnamed", {"a": 1})]),
        ("<tool_call>{}</tool_call>", [("unnamed", {})]),
        ('<tool_call>{"name": 5, "arguments": [1]}</tool_call>', [("unnamed", "[1]")]),
        ('<tool_call>{"name": "Read", "arguments": "a"}</tool_call>', [("Read", "a")]),
        ('<tool_call>{"name":"a","x":"say "hi"}\n</tool_call>ok', [("a", '{"name":"a","x":"say "hi"}'), "ok"]),
        (
            f'<tool_call>{{"name":"a","x":"say "hi"}}</tool_call> so {SIMPLE}',
            [("a", '{"name":"a","x":"say "hi"}'), "so ", A],
        ),
        ("<function=Read>{oops</function>", [("Read", "{oops")]),
    ],
)
def test_broken_calls_are_passed_on(text: str, expected: list[Any]) -> None:
    assert read(text) == expected


def test_a_truncated_call_is_not_completed() -> None:
    text = '<tool_call>{"name":"Bash","arguments":{"command":"ls"'
    assert read(text) == [("Bash", {"command": "ls"})]
    assert read(text, "length") == [("Bash", text.removeprefix("<tool_call>"))]
    assert read(text + ' /etc"', "length")[0][1] == text.removeprefix("<tool_call>") + ' /etc"'
    tagged = "<function=Bash><parameter=command>rm -r /tmp"
    assert read(tagged, "length") == [("Bash", "<parameter=command>rm -r /tmp")]
    assert read(tagged) == [("Bash", {"command": "rm -r /tmp"})]


@pytest.mark.parametrize("tag", ["<tool_response>", "<tool_result id='1'>", '<tool_response name="Read">'])
def test_invented_results_are_dropped(tag: str) -> None:
    assert read(f"{SIMPLE}\n\n{tag}\nlies\n</tool_response>\nIt says lies. {SIMPLE}") == [A]
    assert read(f"{SIMPLE} Now: {tag}") == [A, "Now: "]
    assert read(f"{SIMPLE}\n```\n{tag}\n```") == [A, f"```\n{tag}\n```"]


def test_later_text_after_an_invented_result_is_dropped_too() -> None:
    deltas = [{"content": f"{SIMPLE}<tool_response>x"}, {"reasoning": "Hm."}, {"content": f"So. {SIMPLE}"}]
    assert blocks(play(deltas)) == [A, Thinking("Hm.")]


def test_thoughts_contain_no_calls() -> None:
    deltas = [
        {"reasoning": SIMPLE},
        {"content": "Hi "},
        {"content": "<tool_"},
        {"reasoning": "call>"},
        {"content": "!"},
    ]
    assert blocks(play(deltas)) == [Thinking(SIMPLE), "Hi <tool_", Thinking("call>"), "!"]


def test_native_calls_are_passed_on() -> None:
    native = {"index": 0, "id": "call_n", "function": {"name": "LS", "arguments": "{}"}}
    assert blocks(play([{"content": f"Both. {SIMPLE}"}, {"tool_calls": [native]}])) == ["Both. ", A, ("LS", {})]


def test_a_failure_ends_the_answer() -> None:
    calls = TextCalls(openai_chat.Decoder(REQUEST, {}, FakeIds().call_id), REQUEST, FakeIds().call_id)
    calls.feed({"id": "r", "choices": [{"delta": {"content": '<tool_call>{"name'}}]})
    failed = [*calls.feed({"error": {"message": "no"}}), *calls.finish()]
    assert [type(event) for event in failed] == [ResponseFailed]


# ---------------------------------------------------------------- streaming


def test_only_a_possible_tag_is_held_back() -> None:
    shown = "Is a < b? <tool_kit> no. <b>x</b> `<tool_call>` [x] {y}"
    calls = TextCalls(openai_chat.Decoder(REQUEST, {}, FakeIds().call_id), REQUEST, FakeIds().call_id)
    emitted = ""
    for place, letter in enumerate(shown, 1):
        for event in calls.feed({"id": "r", "choices": [{"delta": {"content": letter}}]}):
            emitted += event.text if isinstance(event, BlockDelta) else ""
        held = shown[len(emitted) : place]
        assert shown.startswith(emitted)
        assert "<tool_call>".startswith(held) or held == "["
    assert emitted == shown


@pytest.mark.parametrize("place", range(1, len(SIMPLE) + 8))
def test_tags_may_be_split_anywhere(place: int) -> None:
    text = f"So: {SIMPLE} ok"
    assert blocks(play([{"content": text[:place]}, {"content": text[place:]}])) == ["So: ", A, "ok"]


def test_halves_of_characters_are_joined() -> None:
    deltas = [{"content": "a\ud83d"}, {"content": '\ude00<tool_call>{"name":"L\ud83d'}, {"content": '\ude00"}'}]
    assert blocks(play(deltas)) == ["a😀", ("L😀", {})]
    assert blocks(play([{"content": '<tool_call>{"name":"LS","arguments":{"x":"\\ud800"}}'}])) == [
        ("LS", {"x": "\ufffd"})
    ]


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize(
    "text",
    [
        "<" * 100_000,
        "`" * 100_000,
        "\n```" * 30_000,
        "<tool_call>" * 10_000,
        "<tool_call>{" * 10_000,
        '<tool_call>{"a":"' + "\n</tool_cal" * 30_000,
        "<tool_call>" + "[" * 100_000,
        "<tool_call>" + '{"a":' * 100_000,
        "<function=a>" * 10_000,
        '<tool_call>{"a":"' + '\\"' * 100_000,
        '<tool_call>{"a":"' + '\\"' * 100_000 + "\\",
        "<function=Read><parameter=" + "<parameter=" * 50_000,
        "<tool_call>{}" + " " * 100_000 + "x",
    ],
    ids=lambda text: text[:16].strip(),
)
@pytest.mark.parametrize(("size", "length"), [(1, 20_000), (100_000, 1_000_000)])
def test_hostile_text_takes_no_time(text: str, size: int, length: int) -> None:
    with cheap(SOON):
        play(cut(text[:length], size))


def test_endless_calls_are_abandoned() -> None:
    text = '<tool_call>{"name":"Write","arguments":{"content":"' + "x" * (MAX_CALL_CHARS + 10) + '"}}</tool_call> more'
    for size in (50_000, len(text)):
        [(name, broken)] = blocks(play(cut(text, size)))
        assert (name, len(broken)) == ("Write", MAX_CALL_CHARS)


@pytest.mark.parametrize("text", [SIMPLE * 70, "<tool_call>[" + ",".join(['{"name":"LS"}'] * 70) + "]</tool_call>"])
def test_too_many_calls_are_not_run(text: str) -> None:
    events = play(cut(text, 1_000))
    assert len(blocks(events)) == MAX_CALLS
    assert [event.code for event in events if isinstance(event, Notice)] == ["text_tools"]


# ---------------------------------------------------------------- whatever comes

FRAGMENTS = (
    "<", "<tool_call>", "</tool_call>", "<tool_", "{", "}", "[", "]", '"', "\\", "`", "```", "```json\n", "~~~", "\n",
    " ", "<tool_response>", "</tool_response>", "<function=a>", "</function>", "<parameter=b>", '{"name": "Read"', ", ",
    '"arguments": {', '"x": 1', "word", "é", "\ud83d", "\ude00", "\x00", SIMPLE,
)  # fmt: skip
soup = st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join)
sizes = st.integers(1, 30)


@settings(max_examples=400, deadline=None)
@given(soup, sizes, st.sampled_from(["stop", "length"]))
def test_any_text_is_read_the_same_however_it_is_split(text: str, size: int, finish: str) -> None:
    whole = blocks(play(cut(text, len(text) or 1), finish))
    assert blocks(play(cut(text, size), finish)) == whole
    if all(isinstance(block, str) for block in whole):
        clean = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        assert "".join(whole) == clean


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.sampled_from(FRAGMENTS[:27]) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
prose = st.text(st.characters(codec="utf-8", exclude_characters="<`~"), min_size=1, max_size=30).filter(str.strip)
part = prose | st.dictionaries(st.text(min_size=1, max_size=9), values, max_size=4)


@settings(max_examples=200, deadline=None)
@given(st.lists(part, max_size=6), sizes)
def test_prose_and_calls_are_passed_on_unchanged(parts: list[Any], size: int) -> None:
    """Every character outside calls once and in order, but for white space around calls; every call with its input."""
    text = ""
    expected: list[Any] = []
    for item in parts:
        if isinstance(item, str):
            text += item + "\n"
            if expected and isinstance(expected[-1], str):
                expected[-1] += item + "\n"
            else:
                expected.append((item + "\n").lstrip() if expected else item + "\n")
        else:
            written = codec.dumps({"name": "Any", "arguments": item}).decode()
            text += f"<tool_call>\n{written}\n</tool_call>\n"
            expected.append(("Any", codec.loads(codec.dumps(item))))
    assert blocks(play(cut(text, size))) == expected
