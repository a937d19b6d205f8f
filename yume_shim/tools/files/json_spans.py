"""Finds the positions of the parts of a JSON text, so that one can be replaced and every other byte stays unchanged."""

from __future__ import annotations

import json

from yume_shim.text.codec import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Span = tuple[int, int]

SPACES = " \t\r\n"
_reader = json.JSONDecoder()  # the codec returns values, but not their positions


def value_at(text: str, start: int) -> tuple[Any, int]:
    """(the value that begins there, where it ends). Raises ValueError."""
    try:
        return _reader.raw_decode(text, start)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def skip(text: str, place: int) -> int:
    """The next place that is not blank."""
    while place < len(text) and text[place] in SPACES:
        place += 1
    return place


def members(text: str, start: int) -> dict[str, Span]:
    """Name -> span of its value, for the object that begins at `start`. Raises ValueError."""
    found: dict[str, Span] = {}
    place = _opened(text, start, "{")
    while text[place : place + 1] != "}":
        name, place = value_at(text, place)
        place = skip(text, place)
        if not isinstance(name, str) or text[place : place + 1] != ":":
            raise ValueError("not an object")
        begin = skip(text, place + 1)
        _, end = value_at(text, begin)
        found[name] = (begin, end)
        place = _next(text, end, "}")
    return found


def items(text: str, start: int) -> list[Span]:
    """The spans of the items of the array that begins at `start`. Raises ValueError."""
    found: list[Span] = []
    place = _opened(text, start, "[")
    while text[place : place + 1] != "]":
        _, end = value_at(text, place)
        found.append((place, end))
        place = _next(text, end, "]")
    return found


def _opened(text: str, start: int, mark: str) -> int:
    if text[start : start + 1] != mark:
        raise ValueError(f"no {mark} there")
    return skip(text, start + 1)


def _next(text: str, end: int, closing: str) -> int:
    place = skip(text, end)
    if text[place : place + 1] == ",":
        return skip(text, place + 1)
    if text[place : place + 1] != closing:
        raise ValueError(f"no {closing} there")
    return place


def rendered(item: Any, indent: str, margin: str) -> str:
    """JSON text, laid out with `indent` per level below a line that begins with `margin`; in one line if it is ""."""
    if not indent or not isinstance(item, (dict, list)) or not item:
        return dumps(item).decode("utf-8")
    inner = margin + indent
    if isinstance(item, dict):
        rows = [f"{dumps(name).decode('utf-8')}: {rendered(part, indent, inner)}" for name, part in item.items()]
        opening, closing = "{", "}"
    else:
        rows = [rendered(part, indent, inner) for part in item]
        opening, closing = "[", "]"
    return f"{opening}\n{inner}" + f",\n{inner}".join(rows) + f"\n{margin}{closing}"


def margin_at(text: str, place: int) -> str:
    """The blanks at the beginning of the line that holds this position."""
    line = text.rfind("\n", 0, place) + 1
    return text[line : skip_blanks(text, line)]


def skip_blanks(text: str, place: int) -> int:
    """The next place that is neither space nor tab."""
    while place < len(text) and text[place] in " \t":
        place += 1
    return place


def indent_of(text: str) -> str:
    """What one level is indented by: the blanks before the first member; "" if all is in one line."""
    place = skip_blanks(text, 0)
    line = text.find("\n", place)
    if line < 0 or text[place + 1 : line].strip():
        return ""
    return text[line + 1 : skip_blanks(text, line + 1)]
