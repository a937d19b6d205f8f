"""Diffs of edits as HTML."""

from __future__ import annotations

import re

from yume_shim.pages.html.escaping import code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from yume_shim.types.blocks import Json


_REPLACED = re.compile(r"(-+)(\++)")
LEAST_KEPT = 0.3
"""A changed part is marked inside a line if so much of the longer line stays as it was."""


def diff(hunks: Sequence[Json]) -> str:
    """The hunks as a table of lines, with the numbers of both sides where they are known."""
    rows: list[str] = []
    for place, hunk in enumerate(hunks):
        if place:
            rows.append('<span class="gap">⋯</span>')
        old, new = hunk["old"], hunk["new"]
        changed = _changed_parts(hunk["lines"])
        for number, line in enumerate(hunk["lines"]):
            sign, text = line[:1], line[1:]
            kind = "add" if sign == "+" else "del" if sign == "-" else "ctx"
            left, right = (str(old) if old and kind != "add" else ""), (str(new) if new and kind != "del" else "")
            numbers = f'<span class="no">{left:>5} {right:>5} </span>' if hunk["old"] or hunk["new"] else ""
            rows.append(
                f'<span class="{kind}">{numbers}<b>{sign if kind != "ctx" else " "}</b>{_marked(text, changed.get(number))}</span>'
            )
            old += kind != "add" and bool(old)
            new += kind != "del" and bool(new)
        if hunk.get("more"):
            rows.append(f'<span class="gap">{hunk["more"]:,} more lines</span>')
    return '<pre class="diff" dir="ltr">' + "\n".join(rows) + "</pre>"


def _marked(text: str, part: tuple[int, int] | None) -> str:
    if part is None:
        return code(text)
    start, end = part
    return f"{code(text[:start])}<em>{code(text[start:end])}</em>{code(text[end:])}"


def _changed_parts(lines: Sequence[str]) -> dict[int, tuple[int, int]]:
    """Which part of a line differs, for runs of removed lines that as many added ones follow: the first of them became
    the first of those, and so on."""
    found: dict[int, tuple[int, int]] = {}
    signs = "".join(line[:1] if line[:1] in ("-", "+") else " " for line in lines)
    for run in _REPLACED.finditer(signs):
        removed, added = len(run[1]), len(run[2])
        for old in range(run.start(), run.start() + removed) if removed == added else ():
            found.update(_compared(old, lines[old][1:], old + removed, lines[old + removed][1:]))
    return found


def _compared(old: int, before: str, new: int, after: str) -> dict[int, tuple[int, int]]:
    shorter = min(len(before), len(after))
    start = next((at for at in range(shorter) if before[at] != after[at]), shorter)
    rest = shorter - start
    same = next((at for at in range(rest) if before[-1 - at] != after[-1 - at]), rest)
    if not start + same or start + same < LEAST_KEPT * max(len(before), len(after)):
        return {}
    parts = {old: (start, len(before) - same), new: (start, len(after) - same)}
    return {line: part for line, part in parts.items() if part[0] < part[1]}
