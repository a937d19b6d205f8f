"""Reads the words of a command against the flags that are known to be harmless.

How a program reads its flags is a fact per command: whether `-ab` is `-a -b`, whether a value may be attached (`-n5`),
whether a long flag takes its value from the next word. What is not known is refused, and so is an abbreviation of a
long flag. Pure.
"""

from __future__ import annotations

import re

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from yume_shim.gate.shell import Word

    Operands = Literal["paths", "text", "none", "pattern", "filter"]


class SafeUse(Value):
    """The harmless use of one command: short flags, short flags with a value, long flags.

    Long flags: `--x` has no value, `--x=` an attached one, `--x:` a value that is attached or the next word, `--x::`
    two next words; `--x --x:` a value that is optional at the end."""

    flags: str = ""
    valued: str = ""
    long: str = ""
    operands: Operands = "paths"
    max_operands: int = 1_000_000
    """The most operands it may have: for some commands a second one is an output file."""
    digits: bool = False
    """`-5` is a number."""
    globs: bool = False
    """`*` may be given, if no file name of the folder looks like a flag."""
    groups: bool = False
    """`-ab` is `-a -b`, and `-n5` is `-n 5`: it reads its flags with getopt."""
    attached: str = ""
    """Short flags whose value may be attached without `groups`, or that take a value only so (`-U5`)."""
    words: str = ""
    """Further words that are harmless as a whole (`-uno`)."""


NUMBER = re.compile(r"-[0-9][0-9,.-]*\Z")
"""A number after a flag (`head -n -5`, `cut -f -3`). If that flag takes no value, it is a count or an error."""


def split_flags(safe: SafeUse, rest: tuple[Word, ...]) -> tuple[frozenset[str], tuple[Word, ...]] | None:
    """(flags used, operands), or None if any flag is not known to be harmless."""
    flags: set[str] = set()
    operands: list[Word] = []
    words = iter(rest)
    for word in words:
        text = word.text
        if text == "--":
            operands += words
        elif text == "-" or not text.startswith("-"):
            operands.append(word)
        elif word.kind != "plain" and not _keeps_its_flag(word):
            return None
        else:
            read = _read_flag(safe, text)
            if read is None:
                return None
            flags |= read[0]
            if word is rest[-1] and text in safe.long.split():
                continue
            if not all(_is_value(safe, words) for _ in range(read[1])):
                return None
    return frozenset(flags), tuple(operands)


def _keeps_its_flag(word: Word) -> bool:
    """Whether a pattern expands to the same flag, whatever files there are: `--include=*.py`."""
    return word.kind == "glob" and re.match(r"--[a-z-]+=", word.text) is not None


def _read_flag(safe: SafeUse, text: str) -> tuple[set[str], int] | None:
    """(the flags of one word, how many of the next words are their values), or None if it is not known."""
    if (safe.digits and text[1:].isascii() and text[1:].isdigit()) or text in safe.words.split():
        return {text}, 0
    if not text.startswith("--"):
        return _read_letters(safe, text[1:])
    name, equals, _ = text.partition("=")
    known = safe.long.split()
    if f"{name}:" in known:
        return {name}, 0 if equals else 1
    if f"{name}::" in known and not equals:
        return {name}, 2
    return ({name}, 0) if name + equals in known else None


def _read_letters(safe: SafeUse, text: str) -> tuple[set[str], int] | None:
    found: set[str] = set()
    for place, letter in enumerate(text):
        last = place == len(text) - 1
        found.add("-" + letter)
        if letter in safe.valued:
            return (found, int(last)) if last or safe.groups or letter in safe.attached else None
        if letter in safe.attached and not last:
            return found, 0
        if letter not in safe.flags + safe.attached or not (safe.groups or last):
            return None
    return found, 0


def _is_value(safe: SafeUse, words: Iterator[Word]) -> bool:
    """Whether the next word can only be a value. Programs differ, by version and by system: a word that begins with `-`
    must be harmless as a flag too, and take no value itself."""
    word = next(words, None)
    if word is None or word.kind != "plain":
        return False
    text = word.text
    if not text.startswith("-") or text == "-" or NUMBER.match(text):
        return True
    read = _read_flag(safe, text) if text != "--" else None
    return read is not None and read[1] == 0
