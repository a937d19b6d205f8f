"""Calls that a model writes as bare JSON, without the protocol's tags: as its whole answer, or in a code fence.

`{"name": …, "arguments": {…}}` may be a call or an example in a text. It is a call only if nothing but calls is there:
every object has a name and arguments and nothing else, and every name is a tool's. As a whole answer the name need not
be known: the model then reads that there is no such tool.
"""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import json
import re

from yume_shim.text import codec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

NAMES = ("name", "tool", "tool_name", "function")
ARGUMENTS = ("arguments", "parameters", "input", "args")
BESIDES = frozenset((*NAMES, "id", "type"))
MAX_OBJECTS = 64
_KEYS = BESIDES | frozenset(ARGUMENTS)
_FIRST_KEY = re.compile(r'\s*(?:\[\s*)?\{\s*"([^"\\]{0,32})"')
_FIRST_KEY_PART = re.compile(r'\s*(?:\[\s*)?(?:\{\s*(?:"[^"\\]{0,32})?)?')
_NAME = re.compile(r"[\w.:-]{1,128}", re.ASCII)
_NAMED = re.compile(r'\s*(?:\[\s*)?\{\s*"(?:name|tool|tool_name)"\s*:\s*"([^"\\\n]{1,128})"')
_BETWEEN = re.compile(r"[\s,;]*")


def may_be_call(beginning: str) -> bool | None:
    """Can a text that begins like this be a call? None = more of it is needed."""
    found = _FIRST_KEY.match(beginning)
    if found is not None:
        return found.group(1) in _KEYS
    return None if _FIRST_KEY_PART.fullmatch(beginning) else False


def bare_calls(text: str, tools: Collection[str], *, any_name: bool = False) -> str:
    """The JSON of the calls, as one list, if the text is nothing but calls; else "". `tools` are lower-case names."""
    items = _objects(text)
    if not items or not all(_is_call(item, tools, any_name) for item in items):
        return ""
    return codec.dumps(items).decode()


def begins_call(text: str, tools: Collection[str]) -> bool:
    """Does an unfinished text begin with a call of one of these tools?"""
    found = _NAMED.match(text)
    return found is not None and found.group(1).strip().lower() in tools


def _objects(text: str) -> list[Any]:
    """The objects of a list, or of a sequence with commas, semicolons or line ends between them; [] if there is
    anything else."""
    decoder = json.JSONDecoder(strict=False)  # models leave line ends in strings as they are
    found: list[Any] = []
    place = _BETWEEN.match(text).end()  # type: ignore[union-attr]  # it matches ""
    while place < len(text) and len(found) < MAX_OBJECTS:
        try:
            item, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return []
        found += item if isinstance(item, list) else [item]
        place = _BETWEEN.match(text, place).end()  # type: ignore[union-attr]
    return found if place >= len(text) and len(found) <= MAX_OBJECTS else []


def _is_call(item: Any, tools: Collection[str], any_name: bool) -> bool:
    if not isinstance(item, dict):
        return False
    inner = item["function"] if isinstance(item.get("function"), dict) else item
    if not (item.keys() <= _KEYS and inner.keys() <= _KEYS):
        return False
    name = next((inner[key] for key in NAMES if isinstance(inner.get(key), str)), "")
    given = [inner[key] for key in ARGUMENTS if key in inner]
    if len(given) != 1 or not isinstance(given[0], dict | str | None):
        return False
    return name.strip().lower() in tools or (any_name and _NAME.fullmatch(name) is not None)
