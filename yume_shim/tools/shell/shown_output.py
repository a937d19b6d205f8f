"""What the model reads of a command's output: all of it, a preview with the file that has the rest, or both ends."""

from __future__ import annotations

import os

from yume_shim.text.clean import clean_output
from yume_shim.text.clip import CUT_NOTE, clip_middle
from yume_shim.tools.files.text_files import size_text
from yume_shim.tools.shell.sink import MAX_SAVED, Sink
from yume_shim.types.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.tools.dispatch.session_state import ToolState
    from yume_shim.tools.shell.processes import Ended

MAX_SHOWN = 30_000
"""Characters of output shown in full; more is saved to a file."""
PREVIEW = 2_048


class Shown(Value):
    """The text for the model, and the file with the whole output, if there is one."""

    text: str
    path: str = ""
    size: int = 0


def output_of_success(ended: Ended, text: str, state: ToolState, call_id: str) -> Shown:
    """The output of a command that succeeded; `text` is its beginning."""
    if not ended.path and not ended.lost and len(text) <= MAX_SHOWN:
        return Shown(text)
    if not ended.path and not ended.lost:
        ended = _saved(ended, text, state, call_id)
    if ended.lost:
        return Shown(both_ends(ended, text))
    return Shown(_preview(text, ended), ended.path, ended.total)


def both_ends(ended: Ended, text: str) -> str:
    """Beginning and end, with a note about what is missing between them: of a failed command the end matters most, and
    of output that could not be saved there is nothing else."""
    if ended.total <= len(ended.output):
        return clip_middle(text, MAX_SHOWN, _unsaved_note("{cut} characters", ended) if ended.lost else CUT_NOTE)
    if ended.lost:
        note, tail = _unsaved_note(f"{size_text(ended.total)} in all", ended), ended.tail
    else:
        note = f"\n… output cut, {size_text(ended.total)} in all, {_where(ended)} …\n"
        with open(ended.path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - MAX_SHOWN * 4))
            tail = ended.tail if ended.capped else file.read(MAX_SHOWN * 4)
    half = MAX_SHOWN // 2
    return text[: half - len(note)] + note + clean_output(tail).rstrip("\n")[-half:]


def _unsaved_note(cut: str, ended: Ended) -> str:
    return f"\n… output cut, {cut}; the rest is lost: it could not be saved ({ended.lost}) …\n"


def _where(ended: Ended) -> str:
    if ended.capped:
        return f"the first {size_text(MAX_SAVED)} saved to: {ended.path}"
    return f"saved to: {ended.path}"


def _saved(ended: Ended, text: str, state: ToolState, call_id: str) -> Ended:
    """Save output that was kept in memory so far."""
    sink = Sink(lambda: state.scratch.new_file(call_id, ".txt"), -1, state.scratch.redact)
    sink.feed(text.encode("utf-8"))
    sink.finish()
    if sink.lost:
        return replace(ended, lost=sink.lost)
    return replace(ended, path=sink.path, total=sink.total)


def _preview(text: str, ended: Ended) -> str:
    shown = text[:PREVIEW]
    cut = shown.rfind("\n")
    shown = shown[:cut] if cut > PREVIEW // 2 else shown
    where = f"Full output saved to: {ended.path}"
    if ended.capped:
        where = f"Only the first {size_text(MAX_SAVED)} are saved to: {ended.path}"
    return (
        f"<persisted-output>\nOutput too large ({size_text(ended.total)}). {where}\n\n"
        f"Preview (first 2KB):\n{shown}\n...\n</persisted-output>"
    )
