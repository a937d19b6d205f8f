"""Diffs of edits as HTML."""

from __future__ import annotations

from yume_shim.pages.html.escaping import code

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from yume_shim.types.blocks import Json


def diff(hunks: Sequence[Json]) -> str:
    """The hunks as a table of lines, with the numbers of both sides where they are known."""
    rows: list[str] = []
    for place, hunk in enumerate(hunks):
        if place:
            rows.append('<span class="gap">⋯</span>')
        old, new = hunk["old"], hunk["new"]
        for line in hunk["lines"]:
            sign, text = line[:1], line[1:]
            kind = "add" if sign == "+" else "del" if sign == "-" else "ctx"
            left, right = (str(old) if old and kind != "add" else ""), (str(new) if new and kind != "del" else "")
            numbers = f'<span class="no">{left:>5} {right:>5} </span>' if hunk["old"] or hunk["new"] else ""
            rows.append(f'<span class="{kind}">{numbers}<b>{sign if kind != "ctx" else " "}</b>{code(text)}</span>')
            old += kind != "add" and bool(old)
            new += kind != "del" and bool(new)
        if hunk.get("more"):
            rows.append(f'<span class="gap">{hunk["more"]:,} more lines</span>')
    return '<pre class="diff" dir="ltr">' + "\n".join(rows) + "</pre>"
