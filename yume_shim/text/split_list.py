"""Splits a list that was written on one line: `a,b=[c, d],e={"f": 1}`."""

from __future__ import annotations

_CLOSES = {"[": "]", "{": "}", "(": ")"}


def split_list(text: str) -> tuple[str, ...]:
    """The parts between commas and spaces. What is inside of double quotes, brackets or braces stays together; one that
    is never closed reaches to the end."""
    parts: list[str] = []
    part = ""
    open_marks: list[str] = []
    quoted = escaped = False
    for char in text:
        if quoted:
            quoted = escaped or char != '"'
            escaped = char == "\\" and not escaped
        elif char == '"':
            quoted = True
        elif char in _CLOSES:
            open_marks.append(_CLOSES[char])
        elif open_marks and char == open_marks[-1]:
            open_marks.pop()
        elif not open_marks and (char == "," or char.isspace()):
            parts.append(part)
            part = ""
            continue
        part += char
    return tuple(filter(None, (*parts, part)))
