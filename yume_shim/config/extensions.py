"""Reads flags that are JSON or the path of a file with it."""

from __future__ import annotations

import os

from yume_shim.disk.bounded import is_absent, read_text
from yume_shim.text import codec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_BYTES = 4 << 20
"""Of a file with servers or agents."""


def json_or_file(text: str, cwd: str) -> tuple[Any, str]:
    """(the parsed value, ""), or (None, the problem)."""
    if text.lstrip()[:1] in ("{", "["):
        try:
            return codec.loads(text), ""
        except ValueError as error:
            return None, f"not valid JSON: {error}"
    try:
        return codec.loads(read_text(os.path.join(cwd, text), MAX_BYTES, pipes=True)), ""
    except OSError as error:
        absent = is_absent(error) or not error.strerror
        return None, f"file not found: {text}" if absent else f"{text} cannot be read: {error.strerror}"
    except ValueError as error:
        return None, f"{text} is not valid JSON: {error}"
