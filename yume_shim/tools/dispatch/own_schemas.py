"""Validates the input of the built-in tools: defaults, lenient types, and messages that say what is wrong.

Their schemas are small and our own, so only a few types, `enum`, `required` and `items` are checked. Schemas of other
programs are checked by `text/json_schema.py`.
"""

from __future__ import annotations

import re

from yume_shim.text.codec import dumps
from yume_shim.types.errors import ToolFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.types.blocks import Json
    from yume_shim.types.models import ToolSpec

    Place = tuple[str | int, ...]

_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,9})?\Z")


def with_defaults(given: Json, schema: Json) -> Json:
    """The input with the schema's defaults for what is missing; the same object if nothing is."""
    missing = {
        name: field["default"]
        for name, field in schema["properties"].items()
        if "default" in field and name not in given
    }
    return {**given, **missing} if missing else given


def normalize(given: Json, schema: Json) -> Json:
    """Validated input as the tool expects it: without blank optional parameters, numbers and booleans as such.

    Models often write `"limit": "20"`, `"path": ""` or `"offset": null`; refusing that would only cost a request.
    """
    required = schema.get("required", ())
    normalized: Json = {}
    for name, item in given.items():
        field = schema["properties"][name]
        if name not in required and (item is None or item == ""):
            continue
        normalized[name] = _normalize_item(item, field)
    return with_defaults(normalized, schema)


def _normalize_item(item: Any, field: Json) -> Any:
    match field["type"]:
        case "integer":
            return int(float(item))
        case "number":
            return float(item)
        case "boolean":
            return item if isinstance(item, bool) else item == "true"
        case "array" if field.get("items", {}).get("type") == "object":
            return [normalize(part, field["items"]) for part in item]
        case _:
            return item


def check_input(spec: ToolSpec, given: Json, broken: str | None) -> None:
    """Raise ToolFailed(before_run=True) that lists everything wrong with the input."""
    if broken is not None:
        raise ToolFailed(
            f"InputValidationError: {spec.name} was called with input that could not be parsed as JSON. "
            "Send the call again with one complete JSON object.",
            before_run=True,
            structured=f"InputValidationError: JSON parse failed ({len(broken.encode('utf-8', 'replace'))} bytes)",
        )
    issues = _issues(given, spec.schema, (), spec)
    if issues:
        lines = "\n".join(issue["message"] for issue in issues)
        raise ToolFailed(
            f"InputValidationError: {spec.name} failed due to the following issue(s):\n{lines}",
            before_run=True,
            structured="InputValidationError: " + dumps(issues).decode(),
        )


def _issues(given: Json, schema: Json, place: Place, spec: ToolSpec) -> list[Json]:
    fields: Json = schema["properties"]
    required = schema.get("required", ())
    found = [
        _issue("invalid_type", (*place, name), f"The required parameter `{_label((*place, name))}` is missing")
        for name in required
        if given.get(name) is None
    ]
    for name, item in given.items():
        where = (*place, name)
        if name not in fields:
            found.append(_issue("unrecognized_keys", where, f"An unexpected parameter `{_label(where)}` was provided"))
        elif item is not None and not (item == "" and name not in required):
            found += _item_issues(item, fields[name], where, spec)
    return found


def _item_issues(item: Any, field: Json, where: Place, spec: ToolSpec) -> list[Json]:
    label, expected = _label(where), field["type"]
    if not _fits(item, expected):
        text = f"The parameter `{label}` type is expected as `{expected}` but provided as `{_type_name(item)}`"
        return [_issue("invalid_type", where, text)]
    if "enum" in field and item not in field["enum"]:
        choice = ", ".join(f"`{word}`" for word in field["enum"])
        return [_issue("invalid_value", where, f"The parameter `{label}` must be one of {choice}")]
    if expected == "array":
        inner = field.get("items")
        return [issue for place, part in enumerate(item) for issue in _part_issues(part, inner, (*where, place), spec)]
    if isinstance(item, str):
        return _string_issues(item, where, spec)
    return []


def _part_issues(part: Any, field: Json | None, where: Place, spec: ToolSpec) -> list[Json]:
    if field is None:
        return []
    if field["type"] == "object" and isinstance(part, dict):
        return _issues(part, field, where, spec)
    return _item_issues(part, field, where, spec)


def _string_issues(item: str, where: Place, spec: ToolSpec) -> list[Json]:
    """Paths and commands go to the system unchanged: they can hold neither NUL nor what UTF-8 cannot encode."""
    name, label = where[-1], _label(where)
    problem = ""
    if name in (spec.path_field, spec.command_field):
        if "\0" in item:
            problem = "contains a NUL character"
        elif any("\ud800" <= char <= "\udfff" for char in item):
            problem = "contains characters that are not valid Unicode"
    if name == spec.command_field and "\r" in item:
        # A carriage return ends a line on the screen but not in the shell: the text shown is not what runs.
        problem = "contains a carriage return; use plain line feeds"
    if name == spec.path_field and (item == "~" or item.startswith(("~/", "~\\"))):
        problem = "starts with `~`, which is not expanded; give the absolute path"
    return [_issue("invalid_format", where, f"The parameter `{label}` {problem}")] if problem else []


def _fits(item: Any, expected: str) -> bool:
    match expected:
        case "string":
            return isinstance(item, str)
        case "boolean":
            return isinstance(item, bool) or item in ("true", "false")
        case "number" | "integer":
            if isinstance(item, str):
                if _NUMBER.match(item) is None:
                    return False
                item = float(item)
            if isinstance(item, bool) or not isinstance(item, (int, float)):
                return False
            return abs(item) < 1e15 and (expected == "number" or float(item).is_integer())
        case "array":
            return isinstance(item, list)
        case "object":
            return isinstance(item, dict)
        case _:
            return True


def _type_name(item: Any) -> str:
    if item is None:
        return "null"
    for kind, name in ((bool, "boolean"), (str, "string"), ((int, float), "number"), (list, "array")):
        if isinstance(item, kind):
            return name
    return "object"


def _label(where: Place) -> str:
    made = ""
    for step in where:
        made += f"[{step}]" if isinstance(step, int) else f".{step}" if made else step
    return made


def _issue(code: str, where: Place, message: str) -> Json:
    return {"code": code, "path": list(where), "message": message}
