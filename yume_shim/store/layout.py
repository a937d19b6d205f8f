"""Where sessions are stored on disk. Pure except for `realpath`."""

from __future__ import annotations

import os

from yume_shim.types.folders import claude_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

FILE_MODE = 0o600
FOLDER_MODE = 0o700
"""Transcripts are readable by their owner only."""
MAX_KEY = 200
"""A longer folder name is cut here and gets a hash to stay unique: file systems allow 255 bytes."""
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def projects_dir(env: Mapping[str, str], session_dir: str = "") -> str:
    """The folder of all projects; `session_dir` (`--session-dir`, `YUME_SESSION_DIR`) replaces it."""
    return session_dir or os.path.join(claude_folder(env), "projects")


def session_path(projects: str, cwd: str, session_id: str) -> str:
    """The transcript of a session."""
    return os.path.join(projects, project_key(os.path.realpath(cwd)), f"{session_id}.jsonl")


def project_key(path: str) -> str:
    """The folder name of a project: everything but ASCII letters and digits becomes "-".

    The Agent SDKs compute the same name to find sessions. They count UTF-16 units, as JavaScript does, so a character
    outside the basic plane becomes two dashes.
    """
    if not path.isascii():
        import unicodedata

        path = unicodedata.normalize("NFC", path)
    units = _utf16_units(path)
    key = "".join(chr(unit) if unit < 128 and chr(unit).isalnum() else "-" for unit in units)
    return key if len(key) <= MAX_KEY else f"{key[:MAX_KEY]}-{_hash36(units)}"


def _utf16_units(text: str) -> list[int]:
    if text.isascii():
        return [ord(char) for char in text]
    packed = text.encode("utf-16-le", "surrogatepass")
    return [packed[place] | packed[place + 1] << 8 for place in range(0, len(packed), 2)]


def _hash36(units: list[int]) -> str:
    """h = 31 h + unit in 32 signed bits, its absolute value in base 36."""
    total = 0
    for unit in units:
        total = (total * 31 + unit) & 0xFFFFFFFF
    number = 0x100000000 - total if total >= 0x80000000 else total
    text = ""
    while number:
        number, digit = divmod(number, 36)
        text = _DIGITS[digit] + text
    return text or "0"
