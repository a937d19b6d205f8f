"""Write: writes a whole file in one step; refuses if the file changed since it was read."""

from __future__ import annotations

import os

from yume_shim.tools.files import atomic_write, diff, text_files
from yume_shim.types.errors import ToolFailed
from yume_shim.types.outputs import ToolOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.tools.dispatch.session_state import ToolState
    from yume_shim.types.blocks import Json
    from yume_shim.types.outputs import ToolContext

CURRENT = "(file state is current in your context, no need to read it back)"


def run(given: Json, state: ToolState, context: ToolContext) -> ToolOutput:
    """Write the file, keep its mode and Unicode encoding."""
    shown, content = given["file_path"], text_files.plain(given["content"])
    path = state.resolve(shown)
    target = atomic_write.write_target(path, shown, state.inside(context.judged or path), context.judged)
    if target.facts is None:
        save(state, target, content.encode("utf-8"), shown, context)
        return ToolOutput(
            f"File created successfully at: {shown} {CURRENT}",
            _structured("create", shown, content, None),
            patch=diff.patch_of(shown, diff.hunks("", content)),
        )
    original, like = None, text_files.Decoded("")
    if target.facts.st_size <= text_files.MAX_TEXT_BYTES:
        data, facts = text_files.read_whole(target.path, shown, state.cwd, context.cancel, target.path)
        if state.host_files is not None:
            from yume_shim.tools.files.host_text import current_data

            data = current_data(data, target.path, state.host_files, context.cancel)
        refuse_changed(state, target.path, facts, data)
        like = text_files.decode(data)
        original = text_files.plain(like.text)
    else:
        refuse_changed(state, target.path, target.facts, None)
    if like.encoding == "latin-1" or content.startswith("\ufeff"):
        like = text_files.Decoded("")
    context.cancel.check()
    save(state, target, text_files.encode(content, like), shown, context)
    structured = _structured("update", shown, content, original)
    patch = None if original is None else diff.patch_of(shown, structured["structuredPatch"])
    return ToolOutput(f"The file {shown} has been updated successfully. {CURRENT}", structured, patch=patch)


def refuse_changed(state: ToolState, path: str, facts: os.stat_result, data: bytes | None) -> None:
    """Raise if something else changed the file after the model saw it."""
    if state.ledger.changed(path, facts, data):
        raise ToolFailed(
            "File has been modified since read, by the user or by a program. Read it again before you write it."
        )


def save(
    state: ToolState,
    target: atomic_write.Target,
    data: bytes,
    shown: str,
    context: ToolContext,
    *,
    by_host: bool = True,
) -> None:
    """Write the file and note in the ledger that the model knows its content; not in a dry run. `by_host`: a host that
    writes files itself does it."""
    if context.dry:
        return
    if state.checkpoints is not None:
        state.checkpoints.keep(target.path)
    facts = None
    if state.host_files is not None and by_host:
        from yume_shim.tools.files.host_text import write_through

        facts = write_through(target, data, shown, state.host_files, context.cancel)
    if facts is None:
        facts = atomic_write.write_file(target, data, shown)
    state.ledger.note(target.path, facts, data)


def _structured(kind: str, shown: str, content: str, original: str | None) -> Json:
    return {
        "type": kind,
        "filePath": shown,
        "content": content,
        "structuredPatch": [] if original is None else diff.hunks(original, content),
        "originalFile": original,
        "userModified": False,
    }
