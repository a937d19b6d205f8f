"""Matches path patterns: `*` and `?` inside a name, `[…]`, `{a,b}`, and `**` across folders.

A pattern is a small automaton that is stepped along a path name by name: a folder below which nothing can match is not
entered, and no pattern takes exponential time.
"""

from __future__ import annotations

import re
from itertools import pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern

    States = frozenset[tuple[int, int]]

MAX_ALTERNATIVES = 256
"""Patterns that braces may expand to."""
MAX_QUOTE = 60
"""Characters of a wrong name pattern that are shown."""


class PathPattern:
    """One pattern, matched against the names of a path from the top."""

    def __init__(self, pattern: str, *, fold: bool = False) -> None:
        """`fold`: for file systems that ignore case, and whether letters are composed."""
        self._fold = fold
        self._ways = tuple(_names(_form(way, fold), re.IGNORECASE if fold else 0) for way in expand_braces(pattern))
        self.start: States = self._closed({(way, 0) for way in range(len(self._ways))})

    def step(self, states: States, name: str) -> States:
        """The possible states after one more name."""
        after: set[tuple[int, int]] = set()
        name = _form(name, self._fold)
        for way, place in states:
            names = self._ways[way]
            if place == len(names):
                continue
            test = names[place]
            if test is None:
                after.add((way, place))
            elif test.match(name):
                after.add((way, place + 1))
        return self._closed(after)

    def ends(self, states: States) -> bool:
        """Is a path that led here a match?"""
        return any(place == len(self._ways[way]) for way, place in states)

    def matches(self, path: str) -> bool:
        """Does the whole relative path match?"""
        states = self.start
        for name in path.split("/"):
            states = self.step(states, name)
            if not states:
                return False
        return self.ends(states)

    def _closed(self, states: set[tuple[int, int]]) -> States:
        """Add the states in which `**` matches no folder at all."""
        todo = list(states)
        while todo:
            way, place = todo.pop()
            names = self._ways[way]
            if place < len(names) and names[place] is None and (way, place + 1) not in states:
                states.add((way, place + 1))
                todo.append((way, place + 1))
        return frozenset(states)


def anywhere(pattern: str, *, fold: bool = False) -> PathPattern:
    """A pattern that may match at any depth, as ignore lists and file filters mean it."""
    bare = pattern.lstrip("/")
    return PathPattern(bare if bare.startswith("**/") else f"**/{bare}", fold=fold)


def below(pattern: str, folders: tuple[str, ...], *, windows: bool = False, fold: bool = False) -> str | None:
    """A pattern relative to a folder that has these absolute paths; None if it is an absolute pattern for elsewhere.
    `windows`: `\\` separates names, too, and a path may begin with the root of the folder's drive."""
    pattern = pattern.replace("\\", "/") if windows else pattern
    drive = re.match(r"[A-Za-z]:/|//", pattern) if windows else None
    if not (pattern.startswith("/") or drive):
        return pattern
    given = [name for name in pattern.split("/") if name not in ("", ".")]
    for folder in folders:
        folder = folder.replace("\\", "/") if windows else folder
        names = [name for name in folder.split("/") if name]
        whole = names[1:] if windows and not drive and folder[1:2] == ":" else names
        same = len(given) >= len(whole) and all(_same(a, b, fold) for a, b in zip(given, whole, strict=False))
        if same and pattern.startswith("//") == (windows and folder.startswith("//")):
            return "/".join(given[len(whole) :])
    return None


def _same(first: str, second: str, fold: bool) -> bool:
    return first == second or (fold and _form(first, fold).casefold() == _form(second, fold).casefold())


def _form(text: str, fold: bool) -> str:
    if not fold or text.isascii():
        return text
    from unicodedata import normalize

    return normalize("NFC", text)


def expand_braces(pattern: str) -> list[str]:
    """`a{b,c}` is `ab` and `ac`; an unpaired brace is itself. Raises ValueError when there are too many."""
    opened = _outer_brace(pattern)
    if opened is None:
        return [pattern]
    start, end, commas = opened
    cuts = [start, *commas, end]
    parts = [pattern[a + 1 : b] for a, b in pairwise(cuts)]
    made: list[str] = []
    tails = expand_braces(pattern[end + 1 :])
    for part in parts:
        for middle in expand_braces(part):
            made += [pattern[:start] + middle + tail for tail in tails]
            if len(made) > MAX_ALTERNATIVES:
                raise ValueError("the pattern has too many alternatives")
    return made


def _outer_brace(pattern: str) -> tuple[int, int, list[int]] | None:
    """The first brace pair with a comma in it: where it starts and ends, and its own commas."""
    depth, start = 0, -1
    commas: list[int] = []
    for place, char in enumerate(pattern):
        if char == "{":
            depth += 1
            if depth == 1:
                start, commas = place, []
        elif char == "}" and depth:
            depth -= 1
            if depth == 0 and commas:
                return start, place, commas
        elif char == "," and depth == 1:
            commas.append(place)
    return None


def _names(pattern: str, flags: int = 0) -> tuple[Pattern[str] | None, ...]:
    """The pattern's names; None means `**`. A final `**` means everything below."""
    made: list[Pattern[str] | None] = []
    for name in pattern.split("/"):
        if name in ("", "."):
            continue
        if name != "**":
            try:
                made.append(re.compile(_name_regex(name), flags))
            except re.error as error:
                raise ValueError(f"{name[:MAX_QUOTE]!r}: {str(error).partition(' at position')[0]}") from None
        elif not made or made[-1] is not None:
            made.append(None)
    if made and made[-1] is None:
        made.append(re.compile(r".*\Z", re.DOTALL))
    return tuple(made)


def _name_regex(name: str) -> str:
    """A name pattern as a regular expression that never backtracks over a star: between two stars the first place
    that fits is as good as any (Python 3.11 has atomic groups)."""
    pieces = [""]
    place = 0
    while place < len(name):
        char = name[place]
        place += 1
        if char == "*":
            if len(pieces) == 1 or pieces[-1]:
                pieces.append("")
        elif char == "?":
            pieces[-1] += "."
        elif char == "[" and (end := _class_end(name, place)):
            inside = name[place : end - 1]
            negated = inside[0] in "!^"
            body = re.sub(r"([\\\[\]&~|])", r"\\\1", inside[1:] if negated else inside)
            pieces[-1] += f"[{'^' if negated else ''}{body}]"
            place = end
        elif char == "\\" and place < len(name):
            pieces[-1] += re.escape(name[place])
            place += 1
        else:
            pieces[-1] += re.escape(char)
    if len(pieces) == 1:
        return rf"(?s:{pieces[0]})\Z"
    middle = "".join(f"(?>.*?{piece})" for piece in pieces[1:-1])
    return rf"(?s:{pieces[0]}{middle}.*{pieces[-1]})\Z"


def _class_end(name: str, place: int) -> int:
    """The place after the `]` that closes a class opened before `place`; 0 if none does."""
    first = place + 1 if name[place : place + 1] in ("!", "^") else place
    end = name.find("]", first + 1)
    return end + 1 if end > 0 else 0


class PathList:
    """A list of patterns as an ignore file means them: one with a slash starts at the top, one without matches at any
    depth, a folder includes what is below it, `!` excludes again, and the last pattern that matches counts."""

    def __init__(self, patterns: tuple[str, ...]) -> None:
        """A pattern that cannot be used (too many alternatives) matches nothing."""
        self._tests: list[tuple[bool, PathPattern, PathPattern]] = []
        for pattern in patterns:
            chosen = not pattern.startswith("!")
            bare = (pattern if chosen else pattern[1:]).removesuffix("/**").rstrip("/").removeprefix("./")
            if not bare.strip("/"):
                continue
            from_top = bare.lstrip("/") if "/" in bare else f"**/{bare}"
            try:
                self._tests.append((chosen, PathPattern(from_top), PathPattern(f"{from_top}/**")))
            except ValueError:
                continue

    def matches(self, path: str) -> bool:
        """Is this relative path, with `/` between its names, in the list?"""
        found = False
        for chosen, itself, below in self._tests:
            if found is not chosen and (itself.matches(path) or below.matches(path)):
                found = chosen
        return found
