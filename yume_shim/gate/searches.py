"""Which folders a search command reads: whether it goes into folders, and which of its words name them. Pure.

A word may be the pattern, or a flag's value, also if a file has its name: then the working folder is searched.
"""

from __future__ import annotations

import re

from yume_shim.gate.word_set import word_set

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

GREPS = ("grep", "egrep", "fgrep")
SEARCHERS = (*GREPS, "rg", "rgrep", "ugrep", "ug", "ag", "ack")
"""Commands whose first operand is a pattern, unless a flag gives it."""
_GREP_VALUES = "ABCDdefm"
_OTHER_VALUES = "ABCDEGMTdefgjmrt"
"""Flags whose value is attached, or the next word; those of other searchers that may have one."""
_GREP_LONG = word_set(
    "--after-context --before-context --binary-files --context --devices --directories --exclude --exclude-dir "
    "--exclude-from --file --group-separator --include --label --max-count --regexp"
)
_PLAIN_LONG = word_set(
    "--case-sensitive --column --count --files --files-with-matches --fixed-strings --hidden --ignore-case --json "
    "--line-number --multiline --no-heading --no-ignore --no-line-number --pcre2 --smart-case --stats --trim --vimgrep "
    "--word-regexp"
)
"""Flags of other searchers that have no value; any other one may have."""


def recurses(name: str, text: str) -> bool:
    """Whether a word makes a command read folders: `-r`, `-rm5`, `-5R`, `-d recurse`, `--recursive` and what is short
    for it."""
    if text.startswith("--"):
        return text.startswith(("--r", "--de", "--di")) if name in GREPS else text.startswith("--rec")
    found = re.match(r"-([A-Za-z0-9]+)", text)
    if found is None:
        return False
    flags = re.split("[ABCDefm]", found.group(1))[0] if name in GREPS else found.group(1)
    return "r" in flags or "R" in flags or (name in GREPS and "d" in flags)


def searched(name: str, texts: Sequence[str]) -> list[str]:
    """The words of a search that are files and folders to search; [] stands for the working folder."""
    operands: list[str] = []
    ended = is_value = has_pattern = False
    for text in texts:
        if is_value:
            is_value = False
        elif ended or text == "-" or not text.startswith("-"):
            operands.append(text)
        elif text == "--":
            ended = True
        else:
            gives_pattern, is_value = _flag(name, text)
            has_pattern = has_pattern or gives_pattern
    return operands if has_pattern else operands[1:]


def _flag(name: str, text: str) -> tuple[bool, bool]:
    """(whether a flag gives the pattern, whether the next word may be its value)."""
    if text.startswith("--"):
        long, equals, _ = text.partition("=")
        gives = long == "--files" or "--regexp".startswith(long) or "--file".startswith(long)
        may_take = any(known.startswith(long) for known in _GREP_LONG) if name in GREPS else long not in _PLAIN_LONG
        return gives and len(long) > 3, may_take and not equals
    values = _GREP_VALUES if name in GREPS else _OTHER_VALUES
    place = next((place for place, letter in enumerate(text) if place and letter in values), 0)
    return place > 0 and text[place] in "ef", 0 < place == len(text) - 1
