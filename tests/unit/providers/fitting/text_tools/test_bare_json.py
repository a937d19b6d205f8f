"""What small models really write: taken as calls, or answered with the right form. Prose that quotes JSON is text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.providers.fitting.text_tools.test_calls import blocks, cut, play, read
from yume_shim.providers.fitting.text_tools.protocol import REMINDER, result_text
from yume_shim.types.blocks import ToolResult

CALL = '{"name": "Read", "parameters": {"file_path": "a"}}'
READ_A = ("Read", {"file_path": "a"})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CALL, [READ_A]),
        (f"\n  {CALL}\n\n", [READ_A]),
        ('{"arguments": {"file_path": "a"}, "name": "read"}', [READ_A]),
        ('{"type": "function", "function": {"name": "Read", "arguments": "{\\"file_path\\": \\"a\\"}"}}', [READ_A]),
        (f"[{CALL}, {CALL}]", [READ_A, READ_A]),
        (f"{CALL}; {CALL}\n{CALL}", [READ_A] * 3),
        ('{"name": "Read", "parameters": {"file_path": "two\nlines"}}', [("Read", {"file_path": "two\nlines"})]),
        ('{"name": "search_files", "parameters": {"q": 1}}', [("search_files", {"q": 1})]),
        (f"```json\n{CALL}\n```", [READ_A]),
        (f"```json\n{CALL}", [READ_A]),
        (f"```\n{CALL}\n```\n", [READ_A]),
        (f"I will read it.\n\n```json\n{CALL}\n```\n", ["I will read it.\n\n", READ_A]),
        (f"```json\n{CALL}\n```\n\n```json\n{CALL}\n```", [READ_A, READ_A]),
        (f"Now:\n```tool_call\n{CALL}\n```\nThen I go on.", ["Now:\n", READ_A, "Then I go on."]),
        (f"~~~~tool_code\n{CALL}\n~~~~", [READ_A]),
        (f"[TOOL_CALLS][{CALL}]", [READ_A]),
        (f"[TOOL_CALLS] [{CALL}, {CALL}]", [READ_A, READ_A]),
        (f"Ok. [TOOL_CALLS] {CALL}", ["Ok. ", READ_A]),
        ('[TOOL_CALLS]Read[ARGS]{"file_path": "a"}', [READ_A]),
        (f"<|python_tag|>{CALL}", [READ_A]),
        # not JSON, but only a call can be meant: the model is told the right form
        ('```tool_code\nprint(Read(file_path="a"))\n```', [("unnamed", 'print(Read(file_path="a"))')]),
        ("```tool_call\nRead a\n```", [("unnamed", "Read a")]),
    ],
)
def test_taken_as_calls(text: str, expected: list[Any]) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        f"A call looks like {CALL} in that file.",
        f"{CALL} is what I wrote.",
        f"Like this:\n\n{CALL}\n",
        f"```json\n{CALL}\n```\nis an example.",
        f"See:\n```json\n{CALL}\n```\nand so on",
        f"```python\n{CALL}\n```",
        f"`[TOOL_CALLS][{CALL}]` is Mistral's form",
        '{"name": "Read", "version": "1.0", "dependencies": {}}',
        '{"name": "left-pad", "version": "1.0"}',
        '```json\n{"name": "search_files", "parameters": {}}\n```',
        '{"name": "Bob Smith", "parameters": {}}',
        '{"name": "Read"}',
        '[{"name": "Read"}, 3]',
        "[1, 2, 3]",
        "{}",
        "[TODO] write it",
        "```json\n[]\n```",
    ],
)
def test_a_quotation_stays_text(text: str) -> None:
    assert read(text) == [text]


def test_a_call_that_the_output_limit_cut_is_not_the_final_answer() -> None:
    begun = '{"name": "Read", "parameters": {"file_path": "a'
    assert read(begun, "length") == [("Read", begun)]
    assert read(f"```json\n{begun}", "length") == [("Read", begun)]
    plain = '{"name": "Bob", "parameters": {"file_path": "a'
    assert read(plain, "length") == [plain]


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="`~<[{"), min_size=1).filter(str.strip)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(st.text(max_size=8), JSON, max_size=3)
KEYS = st.sampled_from([("name", "arguments"), ("name", "parameters"), ("tool", "input"), ("tool_name", "args")])


@given(WORDS, KEYS, ARGUMENTS, WORDS, st.sampled_from(["", "\n", "\n\n"]), st.integers(1, 9))
def test_json_between_words_is_never_a_call(
    before: str, keys: tuple[str, str], arguments: Any, after: str, gap: str, size: int
) -> None:
    quoted = json.dumps({keys[0]: "Read", keys[1]: arguments}, ensure_ascii=False)
    for text in (before + gap + quoted + gap + after, f"{before}\n```json\n{quoted}\n```\n{after}"):
        assert blocks(play(cut(text, size))) == [text]


@given(KEYS, ARGUMENTS, st.sampled_from(["{}", "```json\n{}\n```", "```tool_call\n{}\n```", "[TOOL_CALLS][{}]"]))
def test_a_call_alone_is_always_a_call(keys: tuple[str, str], arguments: Any, form: str) -> None:
    written = json.dumps({keys[0]: "Read", keys[1]: arguments})
    assert read(form.replace("{}", written)) == [("Read", arguments)]


@given(JSON, st.integers(1, 9))
def test_json_that_is_no_call_is_shown_as_it_is(value: Any, size: int) -> None:
    text = json.dumps({"result": value}, indent=1)
    assert blocks(play(cut(text, size))) == [text]


def test_a_call_that_could_not_be_run_is_answered_with_the_right_form() -> None:
    wrong = "<tool_use_error>Error: No such tool available: unnamed</tool_use_error>"
    assert REMINDER in result_text(ToolResult("1", wrong, is_error=True), [wrong], 0, "unnamed")
    assert REMINDER not in result_text(ToolResult("1", "File not found", is_error=True), ["File not found"], 0, "Read")
    assert REMINDER not in result_text(ToolResult("1", wrong), [wrong], 0, "Read")
