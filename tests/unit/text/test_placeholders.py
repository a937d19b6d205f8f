"""Arguments in the text of a command, and the shell commands in it."""

from __future__ import annotations

import time

import pytest

from yume_shim.text.placeholders import fill, has_placeholder, run_commands


@pytest.mark.parametrize(
    ("text", "arguments", "names", "expected"),
    [
        ("shout $ARGUMENTS", "hey you", (), "shout hey you"),
        ("shout $ARGUMENTS.", "", (), "shout ."),
        ("$0 and $1", '"one two" three', (), "one two and three"),
        ("$ARGUMENTS[0] $ARGUMENTS[1]", "'f o' four", (), "f o four"),
        ("$1 $2", "only", (), "$1 $2"),
        ("$10 $1", "a b", (), "$10 b"),
        (r"\$1 \$ARGUMENTS $$", "a b", (), "$1 $ARGUMENTS $$"),
        ("Fix $issue on $branch $issues ${issue}", "12 main", ("issue", "branch"), "Fix 12 on main $issues ${issue}"),
        ("$name", "", ("name",), "$name"),
        ("it's $0", "don't stop", (), "it's don't"),
        ("$0", "$1 x", (), "$1"),
        ("$ARGUMENTSX", "a", (), "$ARGUMENTSX"),
    ],
)
def test_arguments_are_filled_in(text: str, arguments: str, names: tuple[str, ...], expected: str) -> None:
    assert fill(text, arguments, names) == expected


def test_a_text_without_placeholders_is_known() -> None:
    assert not has_placeholder(r"costs \$1 and $x")
    assert has_placeholder("costs $1")
    assert has_placeholder("costs $x", ("x",))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("out: !`echo 1` end", "OUT: <echo 1> END"),
        ("!`a`\n!`b`", "<a>\n<b>"),
        ("x!`echo no` `!`echo`", "X!`ECHO NO` `!`ECHO`"),
        ("a\n```!\none\ntwo\n```\nb", "A\n<one\ntwo>\nB"),
        ("a\n```!\nnever closed", "A\n```!\nNEVER CLOSED"),
        ("```sh\necho\n```", "```SH\nECHO\n```"),
        ("a !`two\nlines`", "A !`TWO\nLINES`"),
        ("```!\nx !`y`\n```", "<x !`y`>"),
    ],
)
def test_shell_commands_count_after_white_space_and_in_blocks(text: str, expected: str) -> None:
    assert run_commands(text, lambda command, written: f"<{command}>", str.upper) == expected


def test_output_is_not_looked_at_again() -> None:
    assert run_commands("!`a`", lambda command, written: "$0 !`b`", lambda text: fill(text, "x")) == "$0 !`b`"


@pytest.mark.parametrize(
    "text", ["```!\n" * 50_000, " !`a" * 50_000, "$" * 200_000, "$ARGUMENTS[" * 20_000, "\\$" * 99_999]
)
def test_hostile_texts_cost_little(text: str) -> None:
    begun = time.process_time()
    run_commands(text, lambda command, written: "", lambda part: fill(part, "a b"))
    assert time.process_time() - begun < 3.0
