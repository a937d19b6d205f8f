"""Says, while an Edit call is still being written, that its old text is not in the file."""

from __future__ import annotations

from yume_shim.tools.edit import replaced
from yume_shim.tools.files import text_files
from yume_shim.types.errors import Cancelled, ToolFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.tools.dispatch.session_state import ToolState
    from yume_shim.types.ports import Cancel

MAX_CHECKED = 4 << 20
"""Bytes of a file that is checked; a larger one is left to the call itself."""


def edit_problem(shown: str, old: str, state: ToolState, judged: str, cancel: Cancel) -> str:
    """Why replacing `old` in this file must fail; "" = it may succeed, or another reason will come up."""
    if not old:
        return ""
    try:
        handle, facts = text_files.open_file(state.resolve(shown), shown, state.cwd, judged)
        with open(handle, "rb") as file:
            if facts.st_size > MAX_CHECKED:
                return ""
            data = file.read(MAX_CHECKED + 1)
        cancel.check()
        replaced(text_files.decode(data).text, old, "", every=True)
    except ToolFailed as failed:
        return failed.message if failed.message.startswith("String to replace not found") else ""
    except (Cancelled, OSError, ValueError):
        return ""
    return ""
