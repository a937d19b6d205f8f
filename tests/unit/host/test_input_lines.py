"""Every line a host may send, in both dialects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yume_shim.host.input_lines import MAX_NESTING, MAX_QUOTE, parse_line
from yume_shim.text import codec
from yume_shim.types.blocks import Image, Text
from yume_shim.types.commands import (
    Approve,
    Clear,
    Command,
    Compact,
    ControlAsk,
    ControlCancel,
    ControlReply,
    HistoryInput,
    Interrupt,
    Nothing,
    Ping,
    SetMode,
    SetModel,
    UserInput,
)
from yume_shim.types.errors import BadLine

if TYPE_CHECKING:
    from yume_shim.host.input_lines import InputDialect

DIALECTS: tuple[Literal["flat"], Literal["claude"]] = ("flat", "claude")
BOTH = pytest.mark.parametrize("dialect", DIALECTS)

GOOD: list[tuple[str, Command]] = [
    ('{"type":"user","content":"hi"}', UserInput((Text("hi"),), "hi")),
    ('{"content":"hi","type":"user"}', UserInput((Text("hi"),), "hi")),
    ('{"type":"user","message":{"role":"user","content":"hi"}}', UserInput((Text("hi"),), "hi")),
    ('{"type":"user","message":{"content":"hi"}}', UserInput((Text("hi"),), "hi")),
    (
        '{"type":"user","session_id":"default","message":{"role":"user","content":"x"},"parent_tool_use_id":null}',
        UserInput((Text("x"),), "x"),
    ),
    (
        '{"type":"user","uuid":"any","priority":"now","shouldQuery":false,"content":[{"type":"text","text":"a"}]}',
        UserInput((Text("a"),), ({"type": "text", "text": "a"},), "any", "now", False),
    ),
    ('{"type":"user","uuid":7,"priority":"soon","content":"a"}', UserInput((Text("a"),), "a")),
    ('{"type":"user","priority":"later","shouldQuery":true,"content":"a"}', UserInput((Text("a"),), "a", "", "later")),
    ('{"type":"user","content":""}', UserInput((Text("(no content)"),), "")),
    ('{"type":"user","content":null}', UserInput((Text("(no content)"),), "")),
    ('{"type":"user","message":{"role":"user"}}', UserInput((Text("(no content)"),), "")),
    ('{"type":"user","content":[]}', UserInput((Text("(no content)"),), ())),
    ('{"type":"user","content":"a\\ud83d\\ude00\\ud800"}', UserInput((Text("a😀\ufffd"),), "a😀\ud800")),
    (
        '{"type":"user","content":[{"type":"image","source":{"type":"url","url":"https://x.example/a.png"}}]}',
        UserInput(
            (Image("", "", "https://x.example/a.png"),),
            ({"type": "image", "source": {"type": "url", "url": "https://x.example/a.png"}},),
        ),
    ),
    (
        '{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"said"}]}}',
        HistoryInput((Text("said"),)),
    ),
    ('{"type":"assistant","message":{"content":[]}}', Nothing()),
    ('{"type":"interrupt"}', Interrupt()),
    ('{"type":"tool_approval","id":"c1","approved":true}', Approve("c1", True)),
    (
        '{"type":"tool_approval","id":"c1","approved":false,"input":{"a":1},"reason":"no","remember":"session"}',
        Approve("c1", False, {"a": 1}, "no", "session"),
    ),
    ('{"type":"tool_approval","id":"c1","approved":true,"input":null,"reason":null}', Approve("c1", True)),
    ('{"type":"set_permission_mode","mode":"plan"}', SetMode("plan")),
    ('{"type":"set_model","model":"openai/gpt"}', SetModel("openai/gpt")),
    ('{"type":"compact"}', Compact()),
    ('{"type":"clear"}', Clear()),
    ('{"type":"ping","n":123456789012345678901234567890}', Ping()),
    (
        '{"type":"control_request","request_id":"r1","request":{"subtype":"initialize","hooks":null}}',
        ControlAsk("r1", "initialize", {"subtype": "initialize", "hooks": None}),
    ),
    (
        '{"type":"control_request","request":{"subtype":"interrupt"}}',
        ControlAsk(None, "interrupt", {"subtype": "interrupt"}),
    ),
    ('{"type":"control_request","request_id":5}', ControlAsk("5", "", {})),
    ('{"type":"control_request","request_id":"r","request":"x"}', ControlAsk("r", "", {})),
    ('{"type":"control_request","request_id":"r","request":{"subtype":3}}', ControlAsk("r", "", {"subtype": 3})),
    ('{"type":"control_cancel_request","request_id":"r1"}', ControlCancel("r1")),
    ('{"type":"control_cancel_request"}', ControlCancel("")),
    ('{"type":"keep_alive"}', Nothing()),
    ('{"type":"update_environment_variables","variables":{"A":"b"}}', Nothing()),
    ("", Nothing()),
    ("  \t\r", Nothing()),
    ("\ufeff", Nothing()),
    ('\ufeff{"type":"ping"}\r\n', Ping()),
]


@BOTH
@pytest.mark.parametrize(("line", "command"), GOOD)
def test_valid_lines(line: str, command: Command, dialect: InputDialect) -> None:
    assert parse_line(line.encode("utf-8", "surrogatepass"), dialect) == command


@BOTH
@pytest.mark.parametrize(
    ("response", "body", "error"),
    [
        ({"subtype": "success", "request_id": "r", "response": {"behavior": "allow"}}, {"behavior": "allow"}, ""),
        ({"subtype": "success", "request_id": "r"}, None, ""),
        ({"subtype": "success", "request_id": "r", "response": [1]}, None, ""),
        ({"subtype": "error", "request_id": "r", "error": "broke", "response": {}}, None, "broke"),
        ({"subtype": "error", "request_id": "r"}, None, "the host gave no reason"),
    ],
)
def test_control_replies(response: Any, body: Any, error: str, dialect: InputDialect) -> None:
    line = {"type": "control_response", "response": response}
    assert parse_line(codec.dumps(line), dialect) == ControlReply("r", body, error, line)


def message_of(line: bytes, dialect: InputDialect) -> str:
    with pytest.raises(BadLine) as caught:
        parse_line(line, dialect)
    quoted = line.decode("utf-8", "replace").strip()
    assert len(caught.value.quote) <= MAX_QUOTE
    assert quoted.startswith(caught.value.quote.removesuffix("…"))
    return caught.value.message


@BOTH
@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("hello", "not JSON"),
        ('{"type":"user"', "not JSON"),
        ("{'type':'ping'}", "not JSON"),
        ("{", "one object per line"),
        ("null", "null"),
        ('{"type":"ping"}{"type":"ping"}', "more than one"),
        ('{"type":"ping"} {"type":"ping"}', "a line of its own"),
        ('{"type":"ping","n":NaN}', "NaN"),
        ('{"type":"user"}', "content"),
        ('{"type":"user","message":"hi"}', "must be an object"),
        (
            '{"type":"user","message":{"role":"assistant","content":"x"}}',
            "Expected message role 'user', got \"assistant\"",
        ),
        ('{"type":"user","role":"system","content":"x"}', "role"),
        ('{"type":"user","content":7}', "put other values into a string"),
        ('{"type":"user","content":true}', "string or a list"),
        ('{"type":"user","content":{"type":"text","text":"x"}}', "string or a list"),
        ('{"type":"user","content":["x"]}', "content[0]"),
        ('{"type":"assistant"}', "message object"),
        ('{"type":"tool_approval","id":"c","approved":"yes"}', "true or false"),
        ('{"type":"tool_approval","approved":true}', "needs id"),
        ('{"type":"tool_approval","id":"c","approved":true,"input":[]}', "input"),
        ('{"type":"set_permission_mode"}', "needs mode"),
        ('{"type":"set_permission_mode","mode":3}', "needs mode"),
        ('{"type":"set_model","model":""}', "needs model"),
        ('{"type":"control_response"}', "response object"),
    ],
)
def test_bad_lines(line: str, says: str, dialect: InputDialect) -> None:
    assert says in message_of(line.encode(), dialect)


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        "5",
        '"words"',
        "true",
        "{}",
        '{"content":"x"}',
        '{"type":null}',
        '{"type":7}',
        '{"type":"system"}',
        '{"type":"result"}',
    ],
)
def test_unknown_lines_are_bad_in_flat_and_nothing_in_the_claude_forms(line: str) -> None:
    assert parse_line(line.encode(), "claude") == Nothing()
    message_of(line.encode(), "flat")


def test_an_unknown_type_is_named_with_the_known_ones() -> None:
    message = message_of(b'{"type":"usr","content":"x"}', "flat")
    assert message.startswith('The type "usr" is unknown; known are: user, interrupt, tool_approval,')


def test_the_dollar_line_is_ignored_in_flat_only() -> None:
    assert parse_line(b"$\r", "flat") == Nothing()
    message_of(b"$", "claude")


def test_the_quote_is_short() -> None:
    for text in ("x" * 5_000, "漢" * 5_000, "😀" * 5_000, "é" * MAX_QUOTE):
        with pytest.raises(BadLine) as caught:
            parse_line(text.encode(), "flat")
        assert len(caught.value.quote) == MAX_QUOTE
        assert "\ufffd" not in caught.value.quote
        assert caught.value.quote.endswith("…") == (len(text) > MAX_QUOTE)


@BOTH
@pytest.mark.parametrize("opener", ["[", '{"a":', '[{"type":', '{"type":"user","content":['])
@pytest.mark.parametrize("closed", [True, False])
def test_nesting_bombs(opener: str, closed: bool, dialect: InputDialect) -> None:
    for times in (MAX_NESTING + 1, 2_000, 200_000):
        closer = "".join({"[": "]", "{": "}"}[char] for char in reversed(opener) if char in "[{")
        line = opener * times + ("1" + closer * times if closed else "")
        message_of(line.encode(), dialect)


def test_as_deep_as_allowed() -> None:
    inner = "[" * (MAX_NESTING - 1) + "]" * (MAX_NESTING - 1)
    assert parse_line(f'{{"type":"ping","x":{inner}}}'.encode(), "flat") == Ping()
    many = "[" + ",".join(["[]"] * 1_000) + "]"
    assert parse_line(f'{{"type":"ping","x":{many}}}'.encode(), "flat") == Ping()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
FIELDS = (
    "type message content role request request_id response subtype id approved input mode model text source data url "
    "media_type tool_use_id uuid priority title thinking signature name"
)
KINDS = (
    "user assistant interrupt tool_approval set_permission_mode set_model control_request control_response "
    "control_cancel_request text image document tool_result tool_use thinking redacted_thinking base64 url"
)
fields = st.sampled_from(FIELDS.split())
kinds = st.sampled_from(KINDS.split())
near_misses = st.recursive(
    json_values | kinds,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(fields, inner, max_size=5),
    max_leaves=15,
)


@settings(deadline=None, max_examples=400)
@given(
    st.binary(max_size=80)
    | near_misses.map(codec.dumps)
    | st.builds(
        lambda kind, rest: codec.dumps({**rest, "type": kind}), kinds, st.dictionaries(fields, near_misses, max_size=5)
    )
)
def test_only_bad_line_is_raised(line: bytes) -> None:
    for dialect in DIALECTS:
        quote = ""
        command: Command = Nothing()
        try:
            command = parse_line(line, dialect)
        except BadLine as bad:
            quote = bad.quote
        assert len(quote) <= MAX_QUOTE
        assert isinstance(command, Command)
        assert not isinstance(command, UserInput) or command.blocks
