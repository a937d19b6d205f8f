"""The flag grammar, and which command lines select the flat dialect."""

from __future__ import annotations

import pytest

from yume_shim.cli.argv import Parsed, parse
from yume_shim.cli.flags import BY_NAME, FLAGS
from yume_shim.cli.help import help_text


def ok(*argv: str) -> Parsed:
    parsed = parse(argv)
    assert parsed.errors == ()
    return parsed


def test_values_in_both_forms() -> None:
    assert ok("--model", "m", "--effort=high").values == {"model": "m", "effort": "high"}


def test_empty_values_and_values_with_a_dash() -> None:
    assert ok("--system-prompt", "", "--tools", "", "--setting-sources=").values == {
        "system-prompt": "",
        "tools": ("",),
        "setting-sources": "",
    }
    assert ok("--append-system-prompt=-x", "--system-prompt", "-y").values == {
        "append-system-prompt": "-x",
        "system-prompt": "-y",
    }


def test_a_variadic_flag_takes_words_up_to_the_next_flag() -> None:
    parsed = ok("-p", "--allowedTools", "Read", "Bash(git *)", "--verbose", "hi")
    assert parsed.values == {"print": True, "allowedTools": ("Read", "Bash(git *)"), "verbose": True}
    assert parsed.words == ("hi",)


def test_variadic_flags_add_up_in_both_spellings() -> None:
    assert ok("--allowedTools", "a", "--allowed-tools=b,c").values == {"allowedTools": ("a", "b,c")}


def test_optional_value() -> None:
    assert ok("--resume").values == {"resume": True}
    assert ok("-r", "abc").values == {"resume": "abc"}
    assert ok("--debug", "-p").values == {"debug": True, "print": True}


def test_repeated_values() -> None:
    assert ok("--plugin-dir", "a", "--plugin-dir=b").values == {"plugin-dir": ("a", "b")}


def test_double_dash_ends_options() -> None:
    parsed = ok("-p", "--", "--model", "x")
    assert parsed.words == ("--model", "x")


def test_short_flags() -> None:
    assert ok("-pc").values == {"print": True, "continue": True}
    assert ok("-rabc").values == {"resume": "abc"}
    assert ok("-n", "title", "-h").values == {"name": "title", "help": True}


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--nope"], "error: unknown option '--nope'"),
        (["--modle", "x"], "error: unknown option '--modle' (did you mean --model?)"),
        (["--model"], "error: option '--model <model>' argument missing"),
        (["--allowedTools"], "error: option '--allowedTools, --allowed-tools <rules...>' argument missing"),
        (
            ["--output-format", "xml"],
            (
                "error: option '--output-format <format>' argument 'xml' is invalid. "
                "Allowed choices are flat, text, json, stream-json."
            ),
        ),
        (["--verbose=1"], "error: option '--verbose' takes no value"),
    ],
)
def test_errors(argv: list[str], message: str) -> None:
    assert parse(argv).errors[0] == message


def test_refused_flags_say_why() -> None:
    [error] = parse(["--teleport"]).errors
    assert "headless" in error


def test_a_value_is_never_searched_for_flags() -> None:
    assert ok("-p", "do --settings={} now").values == {"print": True}


@pytest.mark.parametrize(
    ("argv", "flat"),
    [
        ([], True),
        (["--model", "m"], True),
        (["--output-format", "flat", "-p", "hi"], True),
        (["--output-format", "flat", "hi"], True),
        (["-p"], False),
        (["hi"], False),
        (["--input-format", "stream-json"], False),
        (["--output-format", "json"], False),
        (["--output-format=text"], False),
        (["--", "hi"], False),
    ],
)
def test_which_starts_are_flat(argv: list[str], flat: bool) -> None:
    assert parse(argv).is_flat() is flat


def test_the_table_is_sound() -> None:
    assert len(BY_NAME) == sum(len(flag.names) for flag in FLAGS)
    assert all(flag.names[0].startswith("--") and flag.help for flag in FLAGS)


@pytest.mark.parametrize("width", [0, 40, 80, 132])
def test_help_names_every_flag_and_fits_a_terminal(width: int) -> None:
    text = help_text(width)
    assert all(flag.names[0] in text for flag in FLAGS)
    if width:
        assert max(map(len, text.splitlines())) <= max(width, 64)
        assert " ".join(text.split()) == " ".join(help_text().split()), "wrapped, but the same words"
