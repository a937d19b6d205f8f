"""Computes the hunks between two texts that hosts show: `{oldStart, oldLines, newStart, newLines, lines}`."""

from __future__ import annotations

from yume_shim.types.file_patch import FilePatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json

    Span = tuple[int, int, int, int]

CONTEXT = 3
MAX_COMPARED = 3_000
"""Lines in the differing middle beyond which it is shown as one replacement: exact matching takes quadratic time."""
NO_NEWLINE = "\\ No newline at end of file"


def patch_of(path: str, made: list[Json]) -> FilePatch:
    """The hunks of one file as a value."""
    return FilePatch(path, tuple(made))


def hunks(old: str, new: str) -> list[Json]:
    """A unified diff with three lines of context, as objects. CRLF counts as LF: hosts draw lines, not their ends."""
    before, after = _lines(old.replace("\r\n", "\n")), _lines(new.replace("\r\n", "\n"))
    spans = _changes(before, after)
    groups: list[list[Span]] = []
    for span in spans:
        if groups and span[0] - groups[-1][-1][1] <= 2 * CONTEXT:
            groups[-1].append(span)
        else:
            groups.append([span])
    return [_hunk(before, after, group) for group in groups]


def _lines(text: str) -> list[str]:
    """Lines with their ends, so that a missing last newline is a difference."""
    parts = text.split("\n")
    lines = [part + "\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def _changes(before: list[str], after: list[str]) -> list[Span]:
    """The spans that differ: (old from, old to, new from, new to)."""
    head, most = 0, min(len(before), len(after))
    while head < most and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < most - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    old_end, new_end = len(before) - tail, len(after) - tail
    if head == old_end and head == new_end:
        return []
    if old_end - head + new_end - head > MAX_COMPARED or head in (old_end, new_end):
        return [(head, old_end, head, new_end)]
    from difflib import SequenceMatcher

    codes = SequenceMatcher(None, before[head:old_end], after[head:new_end], autojunk=False).get_opcodes()
    return [(head + a, head + b, head + c, head + d) for tag, a, b, c, d in codes if tag != "equal"]


def _hunk(before: list[str], after: list[str], group: list[Span]) -> Json:
    old_from = max(0, group[0][0] - CONTEXT)
    old_to = min(len(before), group[-1][1] + CONTEXT)
    new_from = group[0][2] - (group[0][0] - old_from)
    new_to = group[-1][3] + (old_to - group[-1][1])
    lines: list[str] = []
    place = old_from
    for old_start, old_end, new_start, new_end in group:
        _add(lines, " ", before[place:old_start])
        _add(lines, "-", before[old_start:old_end])
        _add(lines, "+", after[new_start:new_end])
        place = old_end
    _add(lines, " ", before[place:old_to])
    return {
        "oldStart": old_from + 1 if old_to > old_from else old_from,
        "oldLines": old_to - old_from,
        "newStart": new_from + 1 if new_to > new_from else new_from,
        "newLines": new_to - new_from,
        "lines": lines,
    }


def _add(lines: list[str], mark: str, part: list[str]) -> None:
    if not part:
        return
    lines += [mark + line[:-1] for line in part[:-1]]  # only the last line of a text can be without its end
    last = part[-1]
    lines += [mark + last[:-1]] if last.endswith("\n") else [mark + last, NO_NEWLINE]
