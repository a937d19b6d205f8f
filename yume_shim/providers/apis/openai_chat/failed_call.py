"""Reads a call from the error of a server that refused it because it does not fit the tool's schema."""

from __future__ import annotations

from yume_shim.text import codec
from yume_shim.text.late_pattern import late_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Llama's own form, if the server could not parse the call: <function=name{"a": 1}</function>
_TAGGED = late_pattern(r"(?s)<function=([A-Za-z0-9_.:-]+)[^{]*(\{.*\})")
_TAG = "<function="


def failed_call(error: Any) -> tuple[str, str] | None:
    """(name, arguments) of the call in an error's `failed_generation`; None if it contains no readable call."""
    written = error.get("failed_generation") if isinstance(error, dict) else None
    if not isinstance(written, str):
        return None
    try:
        call = codec.loads(written)
    except ValueError:
        tagged = _TAGGED.match(written, max(written.find(_TAG), 0))  # only the first: trying each takes for ever
        return (tagged.group(1), tagged.group(2)) if tagged else None
    if not isinstance(call, dict) or not isinstance(call.get("name"), str) or not call["name"]:
        return None
    arguments = call.get("arguments") or {}
    return call["name"], arguments if isinstance(arguments, str) else codec.dumps(arguments).decode()
