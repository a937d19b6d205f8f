"""The frontmatter of Markdown files: what people write, what is not valid YAML, what is hostile."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yume_shim.text.frontmatter import MAX_HEADER, as_flag, as_names, as_text, read_frontmatter, split_frontmatter


def fields(header: str) -> object:
    found, body, problem = read_frontmatter(f"---\n{header}\n---\nBody\n")
    assert body == "Body\n"
    assert problem == ""
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain\n", ("", "plain\n")),
        ("---\na: 1\n---\nB\n", ("a: 1\n", "B\n")),
        ("\ufeff---\r\na: 1\r\n---\r\nB\r\n", ("a: 1\n", "B\n")),
        ("---  \na: 1\n---  \n", ("a: 1\n", "")),
        ("---\na: 1\n---", ("a: 1\n", "")),
        ("---\n---\nB", ("", "B")),
        ("---\nnever closed\n", ("", "---\nnever closed\n")),
        ("\n---\na: 1\n---\n", ("", "\n---\na: 1\n---\n")),
        ("", ("", "")),
    ],
)
def test_the_header_is_what_lies_between_the_two_marks(text: str, expected: tuple[str, str]) -> None:
    assert split_frontmatter(text) == expected


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("name: review\ndescription: Reviews code", {"name": "review", "description": "Reviews code"}),
        ("description: Use when: the user asks", {"description": "Use when: the user asks"}),
        ("allowed-tools: Bash(git add:*), Read", {"allowed-tools": "Bash(git add:*), Read"}),
        ("allowed-tools: [Bash(git add:*), Read]", {"allowed-tools": ["Bash(git add:*)", "Read"]}),
        ("tools:\n  - Read\n  - 'Bash(ls *)'", {"tools": ["Read", "Bash(ls *)"]}),
        ("tools:\n- Read\n- Grep\nmodel: opus", {"tools": ["Read", "Grep"], "model": "opus"}),
        ("argument-hint: [pr] [level]", {"argument-hint": "[pr] [level]"}),
        ("argument-hint: <file> [more]", {"argument-hint": "<file> [more]"}),
        (
            "n: 3\nf: 1.5\nv: 1.2.3\nyes: true\nno: False\nnone: ~\nempty:",
            {"n": 3, "f": 1.5, "v": "1.2.3", "yes": True, "no": False, "none": None, "empty": None},
        ),
        ("a: \"x: \\\"y\\\"\\n\"\nb: 'it''s # here' # note", {"a": 'x: "y"\n', "b": "it's # here"}),
        ("# note\na: b # note\nc: d#e", {"a": "b", "c": "d#e"}),
        ("a: |\n  one\n    two\n\n  three\nb: 1", {"a": "one\n  two\n\nthree\n", "b": 1}),
        ("a: >-\n  one\n  two\n\n  three\nb: 1", {"a": "one two\nthree", "b": 1}),
        ("a: first\n  second\n  third\nb: 1", {"a": "first second third", "b": 1}),
        ("a:\n  first\n  second", {"a": "first second"}),
        ("paths: {a: [1, 2], 'b': \"c, d\"}", {"paths": {"a": [1, 2], "b": "c, d"}}),
        ("a: [one,\n  two,\n  three]\nb: 1", {"a": ["one", "two", "three"], "b": 1}),
        ('a: "one\n  two"\nb: 1', {"a": "one two", "b": 1}),
        ("tools: *", {"tools": "*"}),
        ("path: src/**/*.{ts,tsx}", {"path": "src/**/*.{ts,tsx}"}),
        (
            (
                "hooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n"
                "        - type: command\n          command: ./check.sh"
            ),
            {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./check.sh"}]}]}},
        ),
        (
            "mcpServers:\n  - kit:\n      command: python3\n      args: [server.py]\n  - other",
            {"mcpServers": [{"kit": {"command": "python3", "args": ["server.py"]}}, "other"]},
        ),
        ("", {}),
    ],
)
def test_fields_that_files_have(header: str, expected: object) -> None:
    assert fields(header) == expected


def test_a_line_that_means_nothing_is_reported_and_the_others_count() -> None:
    text = "---\nname: a\nnonsense\ndescription: b\n---\nBody"
    problem = "the line 'nonsense' of the frontmatter cannot be read"
    assert read_frontmatter(text) == ({"name": "a", "description": "b"}, "Body", problem)


def test_a_header_that_is_too_long_is_not_read() -> None:
    text = "---\na: " + "x" * MAX_HEADER + "\n---\nBody"
    assert read_frontmatter(text) == ({}, "Body", "the frontmatter is longer than 65,536 characters")


def test_texts_names_and_flags_of_fields() -> None:
    values: list[Any] = [None, "a ", 3, True, {}, ["a", "b"]]
    assert [as_text(field) for field in values] == ["", "a", "3", "true", "", "[a, b]"]
    assert as_names(None) is None
    assert as_names("Bash(git add:*), Read Grep") == ("Bash(git add:*)", "Read", "Grep")
    assert as_names(["Read, Grep", "Bash(ls *)", {"a": 1}, 3]) == ("Read", "Grep", "Bash(ls *)", "3")
    assert as_names("") == ()
    assert [as_flag(field, True) for field in (None, False, "no", "maybe", 1)] == [True, False, False, True, True]


@pytest.mark.parametrize(
    "header",
    [
        "[" * 60_000,
        "a: " + "[" * 60_000,
        "a: " + "{a: " * 15_000,
        "- " * 30_000,
        "a:\n" + "".join(" " * n + "b:\n" for n in range(1, 340)),
        "a: '" + "'" * 60_000,
        'a: "' + "\\" * 60_000,
        ": " * 30_000,
        " \n" * 30_000,
        "- - a: [\n" * 6_000,
        "a: [\n  b\n" * 6_000,
        "a: [" + "'" * 60_000 + "]",
    ],
    ids=range(12),
)
def test_hostile_headers_cost_little(header: str) -> None:
    begun = time.process_time()
    read_frontmatter(f"---\n{header}\n---\n")
    assert time.process_time() - begun < 2.0


@given(st.text(alphabet="ab:-[]{}'\"|># \n\t,\\", max_size=80))
def test_whatever_a_header_holds_is_read_without_an_exception(header: str) -> None:
    found, _, problem = read_frontmatter(f"---\n{header}\n---\nBody")
    assert isinstance(found, dict)
    assert isinstance(problem, str)
