"""Allow rules that the user saved by answering a permission question: for all projects, or for one folder.

They are in `~/.yume/permissions.json`, outside of every workspace: files of a folder that is not trusted may not grant
anything, so what was allowed there cannot be kept there.
"""

from __future__ import annotations

import os

from yume_shim.disk.bounded import is_absent, read_text
from yume_shim.disk.resolve import resolve
from yume_shim.text import codec
from yume_shim.types.folders import SAVED_RULES, yume_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

MAX_BYTES = 1 << 20
MAX_RULES = 1_000
"""Rules of one list; the oldest are dropped."""
LOCK_TRIES = 100
LOCK_WAIT_S = 0.02


def read_saved_rules(env: Mapping[str, str], cwd: str, log: Callable[[str, str], None]) -> tuple[str, ...]:
    """The rules for all projects and those for this folder; () if there is no usable file."""
    path = os.path.join(yume_folder(env), SAVED_RULES)
    try:
        whole = _read(path)
    except (OSError, ValueError) as error:
        log("warning", f"{path} is ignored, so calls that it allows are asked about again: {error}")
        return ()
    return (*_allowed(whole.get("user")), *_allowed(_folders(whole).get(resolve(cwd).real)))


def save_rules(env: Mapping[str, str], cwd: str, scope: str, rules: tuple[str, ...]) -> None:
    """Add rules for the user ("user") or for this folder ("project"). Raises OSError."""
    path = os.path.join(yume_folder(env), SAVED_RULES)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    handle = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        _lock(handle)
        try:
            whole = _read(path)
        except ValueError as error:
            raise OSError(f"{path} is not valid: {error}") from None
        except OSError as error:
            if not is_absent(error):
                raise
            whole = {}
        folder = resolve(cwd).real
        table = whole.get("user") if scope == "user" else _folders(whole).get(folder)
        kept = {"allow": list(dict.fromkeys((*_allowed(table), *rules)))[-MAX_RULES:]}
        if scope == "user":
            whole["user"] = kept
        else:
            whole["folders"] = {**_folders(whole), folder: kept}
        from yume_shim.disk.json_edit import replace_file

        replace_file(path, codec.dumps(whole) + b"\n", 0o600)
    finally:
        os.close(handle)


def _lock(handle: int) -> None:
    from time import sleep

    from yume_shim.system import try_lock

    for _ in range(LOCK_TRIES):
        if try_lock(handle):
            return
        sleep(LOCK_WAIT_S)
    raise OSError("another process is writing the saved permission rules")


def _read(path: str) -> dict[str, Any]:
    whole = codec.loads(read_text(path, MAX_BYTES))
    if not isinstance(whole, dict):
        raise ValueError("it is not a JSON object")
    return whole


def _folders(whole: Mapping[str, Any]) -> Mapping[str, Any]:
    found = whole.get("folders")
    return found if isinstance(found, dict) else {}


def _allowed(table: Any) -> list[str]:
    found = table.get("allow") if isinstance(table, dict) else None
    return [rule for rule in found if isinstance(rule, str)] if isinstance(found, list) else []
