"""Fills the placeholders of a command's text with its arguments, and finds the shell commands in it. Pure."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_WORDS = 1_000
"""Arguments with a placeholder of their own; further ones are only a part of `$ARGUMENTS`."""
_INLINE = re.compile(r"(?:^|(?<=\s))!`([^`\n]+)`", re.MULTILINE)
_FENCE = "```"


def words_of(arguments: str) -> list[str]:
    """The arguments; quotes hold words together."""
    import shlex

    try:
        return shlex.split(arguments)[:MAX_WORDS]
    except ValueError:  # a quotation mark without its partner is a part of the text
        return arguments.split()[:MAX_WORDS]


def fill(text: str, arguments: str, names: tuple[str, ...] = ()) -> str:
    """Replace `$ARGUMENTS`, `$ARGUMENTS[n]`, `$n` (counted from 0) and `$name`. A place without an argument stays as it
    is; `\\$1` means the text `$1`."""
    words = words_of(arguments)
    by_name = {name: place for place, name in enumerate(names)}

    def given(found: re.Match[str]) -> str:
        escape, place, number, name = found.group(1), found.group(2), found.group(3), found.group(4)
        whole = found.group(0)
        if escape:
            return whole[1:]
        if name == "ARGUMENTS" and place is None:
            return arguments
        index = int(place or number) if place or number else by_name.get(name, MAX_WORDS)
        return words[index] if index < len(words) else whole

    return _pattern(names).sub(given, text)


def has_placeholder(text: str, names: tuple[str, ...] = ()) -> bool:
    """Whether the text takes arguments anywhere."""
    return any(not found.group(1) for found in _pattern(names).finditer(text))


def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    words = "|".join(re.escape(name) for name in sorted({"ARGUMENTS", *names}, key=len, reverse=True))
    return re.compile(rf"(\\)?\$(?:ARGUMENTS\[(\d{{1,4}})\]|(\d{{1,4}})(?!\d)|({words})(?![A-Za-z0-9_]))")


def split_commands(text: str) -> Iterator[tuple[str, str, str]]:
    """(text before, shell command, how it was written) for each `` !`command` `` after white space and each block that
    begins with ```` ```! ````; the last one has no command."""
    found = [(match.start(), match.end(), match.group(1)) for match in _INLINE.finditer(text)]
    at = 0
    for start, end, command in sorted([*found, *_blocks(text)]):
        if start >= at:
            yield text[at:start], command.strip(), text[start:end]
            at = end
    yield text[at:], "", ""


def _blocks(text: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, commands) of the blocks that begin with ```` ```! ```` and are closed."""
    start, inside, at = -1, 0, 0
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        if start < 0 and bare == f"{_FENCE}!":
            start, inside = at, at + len(line)
        elif start >= 0 and bare == _FENCE:
            yield start, at + len(line.rstrip("\r\n")), text[inside:at]
            start = -1
        at += len(line)


def run_commands(text: str, run: Callable[[str, str], str], plain: Callable[[str], str]) -> str:
    """The text with the output of its shell commands in their places; `plain` changes the text between them. Output is
    never looked at again."""
    parts: list[str] = []
    for before, command, written in split_commands(text):
        parts.append(plain(before))
        if written:
            parts.append(run(command, written) if command else "")
    return "".join(parts)
