"""Answers of a server that are not JSON: a request whose answer is broken fails at once, because no other will come."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json

PARSE_ERROR = -32700
MAX_LOOKED_AT = 2_000
_ANSWER = re.compile(rb'\{(?=.*"(?:result|error)"\s*:)[^{]*"id"\s*:\s*(\d{1,9})\s*[,}]')
"""The start of an answer whose id can still be read."""


def broken_answer(line: bytes) -> Json | None:
    """The error that takes the place of a broken answer; None if the line is something else, such as words."""
    found = _ANSWER.match(line[:MAX_LOOKED_AT])
    if found is None:
        return None
    problem = {"code": PARSE_ERROR, "message": "the server's answer is not JSON"}
    return {"jsonrpc": "2.0", "id": int(found[1]), "error": problem}
