"""Edit: replaces one exact piece of text, or all its occurrences; if none matches, says why."""

from __future__ import annotations

import re

from yume_shim.tools.files import atomic_write, diff, text_files
from yume_shim.tools.write import CURRENT, save
from yume_shim.types.errors import ToolFailed
from yume_shim.types.outputs import ToolOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.tools.dispatch.session_state import ToolState
    from yume_shim.types.blocks import Json
    from yume_shim.types.outputs import ToolContext

MAX_QUOTE = 2_000
"""Characters of the missing string that are quoted back."""
_NUMBERED = re.compile(r"\s*[0-9]+\t")


def run(given: Json, state: ToolState, context: ToolContext) -> ToolOutput:
    """Replace `old_string` by `new_string`; an empty `old_string` creates the file."""
    shown, old, new, every = given["file_path"], given["old_string"], given["new_string"], given["replace_all"]
    before, after, stale = edit_file(shown, ((old, new, every),), state, context)
    if every and old:
        text = f"The file {shown} has been updated. All occurrences were successfully replaced."
    else:
        text = f"The file {shown} has been updated successfully. {CURRENT}"
    structured: Json = {
        "filePath": shown,
        "oldString": old,
        "newString": new,
        "originalFile": before,
        "structuredPatch": diff.hunks(before, after),
        "userModified": False,
        "replaceAll": every,
    }
    if stale:
        structured["staleRecovered"] = True
    return ToolOutput(text, structured, patch=diff.patch_of(shown, structured["structuredPatch"]))


def edit_file(
    shown: str, edits: tuple[tuple[str, str, bool], ...], state: ToolState, context: ToolContext
) -> tuple[str, str, bool]:
    """Apply (old, new, every) in order, all or none. Returns the text before and after, and whether the file changed
    since the model saw it (which does not matter: every old string still matched)."""
    if any(old == new for old, new, _ in edits):
        raise ToolFailed("No changes to make: old_string and new_string are exactly the same.")
    path = state.resolve(shown)
    target = atomic_write.write_target(path, shown, state.inside(context.judged or path), context.judged)
    if target.facts is None:
        if not edits or edits[0][0]:
            raise text_files.missing_file(target.path, state.cwd)
        like, stale = text_files.Decoded(""), False
    else:
        data, facts = text_files.read_whole(target.path, shown, state.cwd, context.cancel, target.path)
        if state.host_files is not None:
            from yume_shim.tools.files.host_text import current_data

            data = current_data(data, target.path, state.host_files, context.cancel)
        if b"\0" in data[:8192] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise ToolFailed(f"This tool cannot edit binary files: {shown}")
        like, stale = text_files.decode(data), state.ledger.changed(target.path, facts, data)
        if text_files.encode(like.text, like) != data:
            raise ToolFailed(f"The file is not valid {like.encoding} and cannot be edited without loss: {shown}")
    text = like.text
    for place, (old, new, every) in enumerate(edits, 1):
        try:
            text = replaced(text, old, new, every)
        except ToolFailed as failed:
            if len(edits) == 1:
                raise
            raise ToolFailed(f"Edit {place} of {len(edits)}, none was made: {failed.message}") from None
    context.cancel.check()
    save(state, target, text_files.encode(text, like), shown, context)
    return text_files.plain(like.text), text_files.plain(text), stale


def replaced(text: str, old: str, new: str, every: bool) -> str:
    """The text with the replacement made. Line ends in `old` match both kinds; those in `new` become the file's own."""
    if not old:
        if text.strip():
            raise ToolFailed("Cannot create new file: it already exists and is not empty. Give the text to replace.")
        return new
    if "\r" not in text and "\r" not in old:
        count = text.count(old)
        _judge(count, text, old, every)
        return text.replace(old, new)
    pattern = re.compile(r"\r?\n".join(re.escape(part) for part in old.replace("\r\n", "\n").split("\n")))
    _judge(sum(1 for _ in pattern.finditer(text)), text, old, every)
    own = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
    adapted = new.replace("\r\n", "\n").replace("\n", own)
    return pattern.sub(lambda _: adapted, text)


def _judge(count: int, text: str, old: str, every: bool) -> None:
    quote = old if len(old) <= MAX_QUOTE else f"{old[:MAX_QUOTE]}…"
    if count == 0:
        raise ToolFailed(f"String to replace not found in file.\nString: {quote}{_hint(text, old)}")
    if count > 1 and not every:
        raise ToolFailed(
            f"Found {count} matches of the string to replace, but replace_all is false. To replace all of them set "
            f"replace_all; to replace one, give more of the text around it.\nString: {quote}"
        )


def _hint(text: str, old: str) -> str:
    """Why it may not have matched, if that can be seen."""
    filled = [line for line in old.split("\n") if line.strip()]
    if filled and all(_NUMBERED.match(line) for line in filled):
        return "\nHint: the string seems to start with the line numbers that Read shows; leave them out."
    sought = [line.strip() for line in old.strip().splitlines()]
    lines = [line.strip() for line in text.splitlines()]
    for place in range(len(lines) - len(sought) + 1):
        if lines[place : place + len(sought)] == sought:
            return f"\nHint: line {place + 1} matches except for spaces, tabs or line ends."
    return ""
