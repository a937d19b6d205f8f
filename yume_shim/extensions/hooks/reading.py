"""Reads hooks from settings files and from `initialize`. Pure.

What is wrong with a hook becomes its `problem`: a guard with a problem refuses what it matches, so nothing is dropped.
"""

from __future__ import annotations

from yume_shim.extensions.hooks.specs import (
    AGENT_SECONDS,
    CALLBACK_SECONDS,
    COMMAND_SECONDS,
    MAX_SECONDS,
    PROMPT_SECONDS,
    Hook,
    matcher_problem,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

SHELLS = ("bash", "powershell")
NOT_RUN_AT_START = ("http", "prompt", "agent", "mcp_tool")
NOT_AT_START = "hooks of type {!r} are not run at the session's start: use a command"


def hooks_of_settings(data: Any, source: str) -> Iterator[Hook]:
    """The `hooks` table of a settings file: event → [{matcher, hooks: [{type, command, timeout}]}]."""
    for event, groups in _items(data):
        if not isinstance(groups, list):
            yield Hook(event, source=source, problem="the hooks of this event are not a list")
            continue
        for group in groups:
            entries = group.get("hooks") if isinstance(group, dict) else None
            if not isinstance(entries, list):
                yield Hook(event, source=source, problem="a group of hooks has no list `hooks`")
                continue
            matcher, wrong = _matcher(group)
            for entry in entries:
                yield _hook(event, matcher, entry, source, wrong)


def _hook(event: str, matcher: str, entry: Any, source: str, wrong: str) -> Hook:
    if not isinstance(entry, dict):
        return Hook(event, matcher, source=source, problem="the hook is not an object")
    kind = entry.get("type")
    problem, fields = _READERS.get(kind, _unknown)(entry) if isinstance(kind, str) else _unknown(entry)
    if event == "SessionStart" and kind in NOT_RUN_AT_START:
        problem = NOT_AT_START.format(kind)
    default = {"prompt": PROMPT_SECONDS, "agent": AGENT_SECONDS}.get(str(kind), COMMAND_SECONDS)
    condition = entry.get("if")
    return Hook(
        event=event,
        matcher=matcher,
        seconds=_seconds(entry.get("timeout"), default),
        source=source,
        on_failure="block" if entry.get("onFailure") == "block" else "continue",
        condition=condition if isinstance(condition, str) else "",
        once=entry.get("once") is True,
        problem=wrong or problem,
        **fields,
    )


def _command(entry: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    command, args, shell = entry.get("command"), entry.get("args"), entry.get("shell", "")
    if not isinstance(command, str) or not command.strip():
        return "the hook has no command", {}
    if args is not None and not _are_texts(args):
        return "the `args` of the hook are not a list of texts", {"command": command}
    if shell and shell not in SHELLS:
        return f"the hook's shell must be {' or '.join(SHELLS)}", {"command": command}
    given = None if args is None else tuple(args)
    return "", {"command": command, "args": given, "shell": shell, "background": entry.get("async") is True}


def _http(entry: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    url, headers, allowed = entry.get("url"), entry.get("headers", {}), entry.get("allowedEnvVars", [])
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        return "the hook has no http or https address", {}
    if not isinstance(headers, dict) or not all(isinstance(text, str) for text in headers.values()):
        return "the `headers` of the hook are not an object of texts", {"url": url}
    if not _are_texts(allowed):
        return "`allowedEnvVars` of the hook is not a list of names", {"url": url}
    return "", {"url": url, "headers": headers, "allowed_variables": tuple(allowed)}


def _prompt(entry: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    prompt, model = entry.get("prompt"), entry.get("model", "")
    if not isinstance(prompt, str) or not prompt.strip():
        return "the hook has no prompt", {}
    continues = entry.get("continueOnBlock") is True
    return "", {"prompt": prompt, "model": model if isinstance(model, str) else "", "continues": continues}


def _agent(entry: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    problem, fields = _prompt({**entry, "continueOnBlock": True})
    return problem, {**fields, "agentic": True} if fields else {}


def _mcp_tool(entry: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    server, tool, given = entry.get("server"), entry.get("tool"), entry.get("input", {})
    if not isinstance(server, str) or not server or not isinstance(tool, str) or not tool:
        return "the hook needs `server` and `tool`", {}
    fields = {"server": server, "tool": tool}
    if not isinstance(given, dict):
        return "the `input` of the hook is not an object", fields
    return "", {**fields, "given": given}


def _unknown(entry: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    return f"hooks of type {entry.get('type')!r} are not supported", {}


_READERS = {"command": _command, "http": _http, "prompt": _prompt, "agent": _agent, "mcp_tool": _mcp_tool}


def hooks_of_host(data: Any) -> Iterator[Hook]:
    """The `hooks` of `initialize`: event → [{matcher, hookCallbackIds, timeout, onFailure}]."""
    for event, groups in _items(data):
        for group in groups:
            matcher, wrong = _matcher(group)
            for callback in group["hookCallbackIds"]:
                yield Hook(
                    event=event,
                    matcher=matcher,
                    callback_id=callback,
                    seconds=_seconds(group.get("timeout"), CALLBACK_SECONDS),
                    source="host",
                    on_failure="block" if group.get("onFailure") == "block" else "continue",
                    problem=wrong,
                )


def host_problem(data: Any) -> str:
    """What is wrong with the `hooks` of `initialize`; "" if nothing is."""
    if not isinstance(data, dict):
        return "`hooks` must be an object: event → list of {matcher, hookCallbackIds}"
    for event, groups in _items(data):
        if groups is None:
            continue
        if not isinstance(groups, list):
            return f"`hooks.{event}` must be a list of {{matcher, hookCallbackIds}}"
        for group in groups:
            if not isinstance(group, dict) or not _are_texts(group.get("hookCallbackIds")):
                return f"`hooks.{event}` has an entry without a list of texts `hookCallbackIds`"
            if group.get("matcher") is not None and not isinstance(group["matcher"], str):
                return f"`hooks.{event}` has a `matcher` that is not a text"
    return ""


def _items(data: Any) -> list[tuple[str, Any]]:
    if not isinstance(data, dict):
        return []
    return [(str(event), groups) for event, groups in data.items() if groups is not None]


def _matcher(group: Mapping[str, Any]) -> tuple[str, str]:
    """(the matcher, what is wrong with it)."""
    found = group.get("matcher")
    if found is not None and not isinstance(found, str):
        return "", "its matcher is not a text"
    return found or "", matcher_problem(found or "")


def _are_texts(given: Any) -> bool:
    return isinstance(given, list) and all(isinstance(text, str) for text in given)


def _seconds(given: Any, default: float) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given < float("inf"):
        return default
    return min(float(given), MAX_SECONDS)
