"""Hooks as they are configured: read from settings files and from `initialize`, and matched to what happens. Pure."""

from __future__ import annotations

import re

from yume_shim.types.value import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, Literal

    OnFailure = Literal["continue", "block"]

EVENTS = (
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionRequest",
    "UserPromptSubmit",
    "SessionStart",
    "SessionEnd",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "Notification",
    "InstructionsLoaded",
)
GUARDS = ("PreToolUse", "PermissionRequest")
"""Events whose hooks may stand between the model and a call: one of these that cannot run refuses what it matches."""
WITHOUT_SUBJECT = ("UserPromptSubmit", "Stop")
"""Events that have nothing to match: matchers are ignored."""
COMMAND_SECONDS = 600.0
CALLBACK_SECONDS = 60.0
MAX_SECONDS = 86_400.0
MAX_HOOKS = 500
_PLAIN = re.compile(r"[A-Za-z0-9_]+\Z")


@value
class Hook:
    """One hook. A hook with a `problem` is never run."""

    event: str
    matcher: str = ""
    command: str = ""
    callback_id: str = ""
    seconds: float = COMMAND_SECONDS
    source: str = ""
    on_failure: OnFailure = "continue"
    problem: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """Identical commands run once."""
        return self.command, self.callback_id, self.problem

    def matches(self, subject: str) -> bool:
        """Whether it is meant for this tool, source, trigger …. A matcher that is no regular expression matches all: a
        guard must not be off because of a mistake."""
        if self.matcher in ("", "*") or self.event in WITHOUT_SUBJECT:
            return True
        if _PLAIN.match(self.matcher):
            return self.matcher == subject
        try:
            return re.search(self.matcher, subject) is not None
        except re.error:
            return True


def hooks_of_settings(data: Any, source: str) -> Iterator[Hook]:
    """The `hooks` table of a settings file: event → [{matcher, hooks: [{type, command, timeout}]}]."""
    for event, groups in _items(data):
        for group in groups if isinstance(groups, list) else ():
            if not isinstance(group, dict):
                continue
            matcher = _matcher(group)
            for entry in group.get("hooks") or ():
                if isinstance(entry, dict):
                    yield _command_hook(event, matcher, entry, source)


def _command_hook(event: str, matcher: str, entry: Mapping[str, Any], source: str) -> Hook:
    kind, command = entry.get("type"), entry.get("command")
    problem = _regex_problem(matcher)
    if kind != "command":
        problem = f"hooks of type {kind!r} are not supported"
    elif not isinstance(command, str) or not command.strip():
        problem = "the hook has no command"
    return Hook(
        event=event,
        matcher=matcher,
        command=command if isinstance(command, str) else "",
        seconds=_seconds(entry.get("timeout"), COMMAND_SECONDS),
        source=source,
        problem=problem,
    )


def hooks_of_host(data: Any) -> Iterator[Hook]:
    """The `hooks` of `initialize`: event → [{matcher, hookCallbackIds, timeout, onFailure}]."""
    for event, groups in _items(data):
        for group in groups if isinstance(groups, list) else ():
            ids = group.get("hookCallbackIds") if isinstance(group, dict) else None
            for callback in ids if isinstance(ids, list) else ():
                matcher = _matcher(group)
                yield Hook(
                    event=event,
                    matcher=matcher,
                    callback_id=str(callback),
                    seconds=_seconds(group.get("timeout"), CALLBACK_SECONDS),
                    source="host",
                    on_failure="block" if group.get("onFailure") == "block" else "continue",
                    problem=_regex_problem(matcher),
                )


def _items(data: Any) -> list[tuple[str, Any]]:
    return [(str(event), groups) for event, groups in data.items()] if isinstance(data, dict) else []


def _matcher(group: Mapping[str, Any]) -> str:
    found = group.get("matcher")
    return found if isinstance(found, str) else ""


def _regex_problem(matcher: str) -> str:
    if matcher in ("", "*"):
        return ""
    try:
        re.compile(matcher)
    except re.error as error:
        return f"the matcher {matcher!r} is not a regular expression ({error})"
    return ""


def _seconds(given: Any, default: float) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or given <= 0:
        return default
    return min(float(given), MAX_SECONDS)
