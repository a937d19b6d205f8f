"""Checks the JSON that a hook answers, as the Claude CLI does: an answer of another form does not count. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_FIELDS: Mapping[str, tuple[type, str]] = {
    "continue": (bool, "true or false"),
    "suppressOutput": (bool, "true or false"),
    "stopReason": (str, "a text"),
    "reason": (str, "a text"),
    "systemMessage": (str, "a text"),
}
_SPECIAL_FIELDS: Mapping[str, tuple[type, str]] = {
    "permissionDecisionReason": (str, "a text"),
    "additionalContext": (str, "a text"),
    "updatedInput": (dict, "an object"),
}
_CHOICES = {"decision": ("approve", "block"), "permissionDecision": ("allow", "deny", "ask", "defer")}


def answer_problem(body: Mapping[str, Any], event: str) -> str:
    """What is wrong with the answer; "" if nothing is. Unknown fields are ignored."""
    wrong = _wrong_type(body, _FIELDS) or _wrong_choice(body, "decision")
    special = body.get("hookSpecificOutput")
    if wrong or special is None:
        return wrong
    if not isinstance(special, dict):
        return "`hookSpecificOutput` must be an object"
    name = special.get("hookEventName")
    if name != event:
        return f"`hookSpecificOutput.hookEventName` must be {event!r}, not {name!r}"
    wrong = _wrong_type(special, _SPECIAL_FIELDS) or _wrong_choice(special, "permissionDecision")
    if not wrong and event == "PermissionRequest":
        wrong = _wrong_permission(special.get("decision"))
    return wrong


def _wrong_type(body: Mapping[str, Any], fields: Mapping[str, tuple[type, str]]) -> str:
    for name, (kind, words) in fields.items():
        if body.get(name) is not None and not isinstance(body[name], kind):
            return f"`{name}` must be {words}"
    return ""


def _wrong_choice(body: Mapping[str, Any], name: str) -> str:
    given, known = body.get(name), _CHOICES[name]
    return "" if given is None or given in known else f"`{name}` must be {' or '.join(known)}"


def _wrong_permission(decision: Any) -> str:
    if decision is None:
        return ""
    if not isinstance(decision, dict) or decision.get("behavior") not in ("allow", "deny"):
        return "`decision.behavior` must be allow or deny"
    return ""
