"""Keeps of a structured tool result what a card shows; the rest repeats the text of the result."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.pages.cleaning import Cleaner
    from yume_shim.types.blocks import Json

_KEYS = (
    *(
        "type",
        "filePath",
        "structuredPatch",
        "exitCode",
        "code",
        "numFiles",
        "numLines",
        "durationMs",
        "durationSeconds",
    ),
    *("totalDurationMs", "totalToolUseCount", "totalTokens", "interrupted", "newTodos", "answers", "bytes", "agentId"),
)
MAX_HUNKS = 400
MAX_HUNK_LINES = 2_000


def facts_of(found: Any, cleaner: Cleaner) -> Json:
    """The facts of a structured result; {} if it has none."""
    if not isinstance(found, dict):
        return {}
    facts = {key: cleaner.json(found[key]) for key in _KEYS if key in found and key != "structuredPatch"}
    hunks = hunks_of(found.get("structuredPatch"), cleaner)
    if hunks:
        facts["hunks"] = hunks
    file = found.get("file")
    if isinstance(file, dict):
        facts["file"] = {
            key: file[key] for key in ("numLines", "startLine", "totalLines") if isinstance(file.get(key), int)
        }
    return facts


def hunks_of(found: Any, cleaner: Cleaner) -> list[Json]:
    """The hunks of a patch, cleaned: start lines and lines with their sign."""
    hunks: list[Json] = []
    for hunk in found[:MAX_HUNKS] if isinstance(found, list) else ():
        if isinstance(hunk, dict) and isinstance(hunk.get("lines"), list):
            lines = [cleaner.text(line, 2_000) for line in hunk["lines"][:MAX_HUNK_LINES] if isinstance(line, str)]
            starts = (hunk.get("oldStart"), hunk.get("newStart"))
            old, new = (start if isinstance(start, int) and start >= 0 else 0 for start in starts)
            hunks.append({"old": old, "new": new, "lines": lines, "more": max(len(hunk["lines"]) - MAX_HUNK_LINES, 0)})
    return hunks
