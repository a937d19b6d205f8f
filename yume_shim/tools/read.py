"""Read: returns text with line numbers, images, PDFs and notebooks."""

from __future__ import annotations

import os

from yume_shim.disk.bounded import CHUNK, read_handle
from yume_shim.text.codec import loads
from yume_shim.tools.files import media, text_files
from yume_shim.types.errors import ToolFailed
from yume_shim.types.outputs import ToolOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.tools.dispatch.session_state import ToolState
    from yume_shim.types.blocks import Json
    from yume_shim.types.outputs import ToolContext
    from yume_shim.types.ports import Cancel

MAX_BYTES = 256 * 1024
"""Bytes of text that one call may return."""
MAX_LARGE_BYTES = 2 << 20
"""The same with `allow_large`."""
MAX_LINE = 2_000
SNIFF = 8_192


def run(given: Json, state: ToolState, context: ToolContext) -> ToolOutput:
    """Read a file as what its first bytes say it is."""
    shown: str = given["file_path"]
    path = context.judged or state.resolve(shown)
    handle, facts = text_files.open_file(state.resolve(shown), shown, state.cwd, context.judged)
    try:
        head = os.read(handle, SNIFF)
        os.lseek(handle, 0, os.SEEK_SET)
        kind = media.kind_of(head)
        if kind:
            data = read_handle(handle, media.limit_of(kind) + 1, context.cancel.check)
            return media.show(shown, kind, data, facts.st_size, given.get("pages", ""))
        if _is_binary(head):
            raise ToolFailed(
                f"This tool cannot read binary files, and {shown} looks like one. "
                "Use Bash with a program made for its format.",
                before_run=True,
            )
        if shown.lower().endswith(".ipynb") and facts.st_size <= text_files.MAX_TEXT_BYTES:
            data = read_handle(handle, text_files.MAX_TEXT_BYTES, context.cancel.check)
            cells = _notebook_cells(data)
            if cells is not None:
                from yume_shim.tools.files import notebook_cells

                state.ledger.note(path, facts, data)
                return notebook_cells.show(shown, cells)
            os.lseek(handle, 0, os.SEEK_SET)
        return _text(given, state, context, path, handle, facts)
    except OSError as error:
        raise text_files.os_failure(error, "read", shown) from None
    finally:
        os.close(handle)


def _text(
    given: Json, state: ToolState, context: ToolContext, path: str, handle: int, facts: os.stat_result
) -> ToolOutput:
    ranged = "offset" in given or "limit" in given
    most = MAX_LARGE_BYTES if given.get("allow_large") else MAX_BYTES
    if not ranged and facts.st_size > most:
        raise _too_large(facts.st_size, most)
    first = max(1, given.get("offset", 1))
    count = given.get("limit")
    if count is not None and count < 1:
        raise ToolFailed("`limit` must be at least 1.", before_run=True)
    if facts.st_size <= text_files.MAX_TEXT_BYTES:
        # Some files, such as those below /proc, report no size: what is read counts.
        data = read_handle(handle, text_files.MAX_TEXT_BYTES, context.cancel.check)
        if state.host_files is not None:
            from yume_shim.tools.files.host_text import current_data

            data = current_data(data, path, state.host_files, context.cancel)
        if not ranged and len(data) > most:
            raise _too_large(len(data), most)
        lines = text_files.plain(text_files.decode(data).text).replace("\r\n", "\n").split("\n")
        total = 0 if not data else len(lines)
        picked = lines[first - 1 : None if count is None else first - 1 + count] if data else []
        state.ledger.note(path, facts, data)
    else:
        picked, total = _pick_lines(handle, first, count, most, context.cancel)
        state.ledger.note(path, facts, None)
    size = sum(len(line) + 1 for line in picked)
    if size > most:
        raise _too_large(size, most)
    return _numbered(given["file_path"], picked, first, total)


def _numbered(shown: str, picked: list[str], first: int, total: int) -> ToolOutput:
    if picked:
        content = "\n".join(f"{number}\t{_clip_line(line)}" for number, line in enumerate(picked, first))
    elif total == 0:
        content = "<system-reminder>Warning: the file exists but its contents are empty.</system-reminder>"
    else:
        content = (
            f"<system-reminder>Warning: the file exists but is shorter than the given offset ({first}). "
            f"It has {total} lines.</system-reminder>"
        )
    file = {
        "filePath": shown,
        "content": "\n".join(picked),
        "numLines": len(picked),
        "startLine": first,
        "totalLines": total,
    }
    return ToolOutput(content, {"type": "text", "file": file})


def _clip_line(line: str) -> str:
    if len(line) <= MAX_LINE:
        return line
    return f"{line[:MAX_LINE]}… [{len(line) - MAX_LINE} more characters in this line]"


def _pick_lines(handle: int, first: int, count: int | None, most: int, cancel: Cancel) -> tuple[list[str], int]:
    """The requested lines of a file too big to hold, and how many lines it has: one pass, memory bounded by `most`."""
    last = None if count is None else first + count - 1
    number, kept = 1, 0
    parts: list[bytes] = []
    while True:
        cancel.check()
        chunk = os.read(handle, CHUNK)
        if not chunk:
            break
        ends = chunk.count(b"\n")
        if number + ends >= first and (last is None or number <= last):
            for place, piece in enumerate(chunk.split(b"\n")):
                if number + place >= first and (last is None or number + place <= last):
                    parts.append(piece if place == ends else piece + b"\n")
                    kept += len(piece) + 1
            if kept > most:
                raise _too_large(kept, most)
        number += ends
    data = b"".join(parts)
    if last is not None and last < number:
        data = data.removesuffix(b"\n")
    if first > number:
        return [], number
    return [line.removesuffix("\r") for line in text_files.plain(text_files.decode(data).text).split("\n")], number


def _too_large(size: int, most: int) -> ToolFailed:
    return ToolFailed(
        f"File content ({text_files.size_text(size)}) exceeds maximum allowed size ({text_files.size_text(most)}). "
        "Read a part of it with offset and limit, or look for what you need with Grep."
    )


def _is_binary(head: bytes) -> bool:
    """NUL bytes, unless a byte order mark says UTF-16."""
    return b"\0" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff"))


def _notebook_cells(data: bytes) -> list[Json] | None:
    """The cells, or None if this is not a notebook (then it is shown as text)."""
    try:
        parsed = loads(data)
    except ValueError:
        return None
    cells = parsed.get("cells") if isinstance(parsed, dict) else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        return None
    return cells
