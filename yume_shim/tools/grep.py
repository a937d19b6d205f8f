"""Grep: searches file contents and renders the matches in one of three output modes."""

from __future__ import annotations

import os
import re

from yume_shim.disk.resolve import resolve
from yume_shim.tools.glob import newest_first, renamed
from yume_shim.tools.search.search_process import read_event, run_search
from yume_shim.types.errors import ToolFailed
from yume_shim.types.outputs import ToolOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from yume_shim.tools.dispatch.session_state import ToolState
    from yume_shim.types.blocks import Json
    from yume_shim.types.outputs import ToolContext

    Relative = Callable[[str], str]
    """A resolved path as results show it."""

DEFAULT_HEAD = 250
MAX_COLUMNS = 500
MAX_SHOWN = 30_000
"""Characters of matching lines shown."""
MAX_CONTEXT = 1_000
"""Lines shown before and after a match, at most."""
_SPLIT = re.compile(r"[,\s]+(?![^{]*\})")


def run(given: Json, state: ToolState, context: ToolContext) -> ToolOutput:
    """Search, and show the requested part of the matches."""
    shown = given.get("path", state.cwd)
    top = context.judged or resolve(state.resolve(shown)).real
    if not os.path.lexists(top):
        raise ToolFailed(f"Path does not exist: {shown}. Note: your current working directory is {state.cwd}.")
    job = _job(given, top)
    found, cut = run_search(job, state, context)
    head = given.get("head_limit")
    window = _Window(int(given.get("offset", 0)), DEFAULT_HEAD if head is None else int(head), cut)
    name = state.name_of(state.resolve(shown), top)

    def relative(path: str) -> str:
        return state.relative(renamed(path, top, name))

    match job["mode"]:
        case "content":
            return _content(found, given, relative, window, context.cancel.check)
        case "count":
            return _count(found, relative, window)
        case _:
            return _files(found, relative, window)


def _job(given: Json, top: str) -> Json:
    """The search as `run_search` takes it."""
    around: float = given["-C"] if "-C" in given else given.get("context", 0)
    content = given.get("output_mode") == "content"
    before, after = (min(MAX_CONTEXT, max(0, int(given.get(name, around)))) for name in ("-B", "-A"))
    return {
        "pattern": given["pattern"],
        "top": top,
        "mode": given.get("output_mode", "files_with_matches"),
        "globs": [rule for rule in _SPLIT.split(given.get("glob", "")) if rule],
        "type": given.get("type", ""),
        "ignore_case": bool(given.get("-i")),
        "multiline": bool(given.get("multiline")),
        "before": before if content else 0,
        "after": after if content else 0,
    }


# ---------------------------------------------------------------- rendering


class _Window:
    """Which part of the results is shown."""

    def __init__(self, offset: int, head: int, cut: bool) -> None:
        self.offset = max(0, offset)
        self.head = max(0, head)
        self.cut = cut

    def part(self, items: list[str]) -> list[str]:
        return items[self.offset : self.offset + self.head if self.head else None]

    def note(self, shown: int, total: int, what: str) -> str:
        parts = []
        if shown < total:
            parts.append(f"{what} {self.offset + 1} to {self.offset + shown} of {total}; see head_limit and offset")
        if self.cut:
            parts.append("the search was ended early: narrow it")
        return f"({'; '.join(parts)})" if parts else ""


def _count_text(number: int, word: str, plural: str = "") -> str:
    return f"{number} {word}" if number == 1 else f"{number} {plural or word + 's'}"


def _files(found: bytes, relative: Relative, window: _Window) -> ToolOutput:
    paths = newest_first(os.fsdecode(part.lstrip(b"\n")) for part in found.split(b"\0")[:-1])
    names = window.part([relative(path) for path in paths])
    structured: Json = {"mode": "files_with_matches", "filenames": names, "numFiles": len(names)}
    if not names:
        return ToolOutput(_joined("No files found", window.note(0, len(paths), "files")), structured)
    text = "\n".join((f"Found {_count_text(len(paths), 'file')}", *names))
    return ToolOutput(_joined(text, window.note(len(names), len(paths), "files")), structured)


def _count(found: bytes, relative: Relative, window: _Window) -> ToolOutput:
    rows: list[tuple[str, int]] = []
    for line in found.split(b"\n"):
        name, mark, number = line.partition(b"\0")
        if mark and number.strip().isdigit():  # with --crlf ripgrep may end lines in CRLF
            rows.append((relative(os.fsdecode(name)), int(number)))
    total = sum(number for _, number in rows)
    lines = window.part([f"{name}:{number}" for name, number in rows])
    content = "\n".join(lines)
    structured = {
        "mode": "count",
        "numFiles": len(rows),
        "filenames": [],
        "content": content,
        "numMatches": total,
    }
    if not lines:
        return ToolOutput(_joined("No matches found", window.note(0, len(rows), "files")), structured)
    sum_line = f"Found {_count_text(total, 'total occurrence')} across {_count_text(len(rows), 'file')}."
    return ToolOutput(_joined(f"{content}\n\n{sum_line}", window.note(len(lines), len(rows), "files")), structured)


def _content(found: bytes, given: Json, relative: Relative, window: _Window, check: Callable[[], None]) -> ToolOutput:
    lines = []
    for line in _content_lines(found, given, relative):  # up to 16 MB
        check()
        lines.append(line)
    part = window.part(lines)
    size = 0
    for place, line in enumerate(part):
        size += len(line) + 1
        if size > MAX_SHOWN:
            part = part[:place]
            break
    content = "\n".join(part)
    structured = {
        "mode": "content",
        "numFiles": 0,
        "filenames": [],
        "content": content,
        "numLines": len(part),
        "totalLines": len(lines),
    }
    return ToolOutput(_joined(content or "No matches found", window.note(len(part), len(lines), "lines")), structured)


def _content_lines(found: bytes, given: Json, relative: Relative) -> Iterator[str]:
    numbers, only = given.get("-n", True), given.get("-o", False)
    apart = any(given.get(name) for name in ("-A", "-B", "-C", "context"))
    last: tuple[str, int] | None = None
    for raw in found.split(b"\n"):
        event = read_event(raw)
        if event is None:
            continue
        kind, path, number, text, parts = event
        name = relative(path)
        if apart and not only and last is not None and last != (path, number - 1):
            yield "--"
        shown = parts if only else text.removesuffix("\n").split("\n")
        mark = ":" if kind == "match" else "-"
        for index, line in enumerate(shown):
            place = f"{number if only else number + index}{mark}" if numbers else ""
            yield f"{name}{mark}{place}{_clip_line(line.removesuffix(chr(13)))}"
        last = (path, number + text.removesuffix("\n").count("\n"))


def _clip_line(line: str) -> str:
    return line if len(line) <= MAX_COLUMNS else f"{line[:MAX_COLUMNS]}… [{len(line) - MAX_COLUMNS} more characters]"


def _joined(text: str, note: str) -> str:
    return f"{text}\n{note}" if note else text
