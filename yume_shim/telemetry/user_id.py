"""The anonymous id of this installation: the Claude CLI's where it has one, else our own, made at the first use."""

from __future__ import annotations

import os

from yume_shim.disk.bounded import read_text
from yume_shim.text import codec
from yume_shim.types.folders import claude_state_file, yume_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

FILE = "user_id"
MAX_STATE_BYTES = 16 << 20
MAX_ID = 128


def user_id(env: Mapping[str, str]) -> str:
    """The id; "" if none can be kept."""
    return _claude_id(claude_state_file(env)) or _own_id(os.path.join(yume_folder(env), FILE))


def _claude_id(path: str) -> str:
    try:
        state = codec.loads_object(read_text(path, MAX_STATE_BYTES))
    except OSError:
        return ""
    found = (state or {}).get("userID")
    return found if isinstance(found, str) and found.isalnum() and len(found) <= MAX_ID else ""


def _own_id(path: str) -> str:
    try:
        try:
            made = os.urandom(32).hex()
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with open(handle, "wb") as file:
                file.write(made.encode())
            return made
        except FileExistsError:
            found = read_text(path, MAX_ID).decode("ascii", "replace").strip()
            return found if found.isalnum() else ""
    except OSError:
        return ""
