"""The changes of an edit: from the patch that a tool reported, or from the texts that it was given."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from yume_shim.types.blocks import Json

MAX_COMPARED = 400
"""Lines on each side that are compared; longer texts are shown as removed and added."""
CONTEXT = 3


def hunks_of_call(given: Json, facts: Json) -> list[Json]:
    """The hunks of an Edit, MultiEdit or similar call."""
    known = facts.get("hunks")
    if isinstance(known, list) and known:
        return known
    edits = given.get("edits")
    if not isinstance(edits, list):
        edits = [given]
    return [hunk for edit in edits if isinstance(edit, dict) for hunk in _compared(edit)]


def _compared(edit: Json) -> Iterator[Json]:
    old, new = edit.get("old_string"), edit.get("new_string")
    if not isinstance(old, str) or not isinstance(new, str):
        return
    before, after = old.splitlines(), new.splitlines()
    if len(before) > MAX_COMPARED or len(after) > MAX_COMPARED:
        yield {"old": 0, "new": 0, "lines": [f"-{line}" for line in before] + [f"+{line}" for line in after]}
        return
    import difflib

    lines = list(difflib.unified_diff(before, after, n=CONTEXT, lineterm=""))[2:]
    yield {"old": 0, "new": 0, "lines": [line for line in lines if not line.startswith("@@")]}


def counts(hunks: Sequence[Json]) -> tuple[int, int]:
    """(lines added, lines removed)."""
    lines = [line for hunk in hunks for line in hunk["lines"]]
    return sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)
