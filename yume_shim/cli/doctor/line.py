"""The lines of `doctor`: what each says, and how all of them are printed."""

from __future__ import annotations

from yume_shim.cli.mcp_words import one_line
from yume_shim.text.codec import dumps
from yume_shim.text.redact import redact
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    State = Literal["ok", "wrong", "off"]

MARKS = {"ok": "✓", "wrong": "✗", "off": "–"}
LEGEND = "✓ fine   ✗ must be repaired   – absent, not needed or not used"
_WIDTH = 14
_WIDEST = 20
"""Characters of names that are lined up."""


class Line(Value):
    """One fact. `todo`: what repairs it, as a command or a sentence."""

    group: str
    name: str
    state: State
    text: str
    todo: str = ""


def as_text(lines: Sequence[Line], done: str) -> str:
    """All lines by group, and the one thing to do next (`done` if nothing is wrong)."""
    shown, group, width = [LEGEND + "\n"], "", _WIDTH
    for line in lines:
        if line.group != group:
            group = line.group
            names = [len(each.name) for each in lines if each.group == group]
            width = max((_WIDTH, *(length for length in names if length <= _WIDEST)))
            shown.append(f"\n{group}\n")
        todo = f" → {line.todo}" if line.todo else ""
        shown.append(f"  {MARKS[line.state]} {line.name:<{width}} {one_line(line.text + todo)}\n")
    shown.append(f"\nDo this next: {one_line(next_step(lines) or done)}\n")
    return redact("".join(shown))


def as_json(lines: Sequence[Line], done: str) -> str:
    """The same for programs."""
    checks = [
        {"group": line.group, "name": line.name, "state": line.state, "text": line.text}
        | ({"todo": line.todo} if line.todo else {})
        for line in lines
    ]
    return redact(dumps({"ok": is_fine(lines), "next": next_step(lines) or done, "checks": checks}).decode()) + "\n"


def is_fine(lines: Sequence[Line]) -> bool:
    """Nothing has to be repaired."""
    return all(line.state != "wrong" for line in lines)


def next_step(lines: Sequence[Line]) -> str:
    """What repairs the first thing that is wrong; "" if nothing is."""
    for line in lines:
        if line.state == "wrong":
            return line.todo or f"repair {line.name}: {line.text}"
    return ""
