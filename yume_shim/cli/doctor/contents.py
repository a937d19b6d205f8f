"""What is wrong inside a settings file that can be read: rules, hooks, MCP servers, saved answers. With the line.

A start says the same on stderr, where a host may not show it, and without the line.
"""

from __future__ import annotations

from yume_shim.gate.rules import parse_rule
from yume_shim.text.codec import dumps
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

RULE_LISTS = ("allow", "ask", "deny")
FAIL_CLOSED = "failClosed"


class Mistake(Value):
    """`path`: the keys and texts that lead to it, from the top of the file. `harmless`: it need not be repaired."""

    path: tuple[str, ...]
    problem: str
    harmless: bool = False


def line_of(raw: bytes, path: tuple[str, ...]) -> int:
    """The line that has the last of these words in quotes; each is searched after the one before."""
    at = 0
    for word in path:
        found = raw.find(dumps(word), at)
        at = at if found < 0 else found
    return raw.count(b"\n", 0, at) + 1


def of_settings(data: dict[str, Any]) -> Iterator[Mistake]:
    """Permission rules that are none, and hooks that are not run."""
    permissions = data.get("permissions")
    for kind in RULE_LISTS:
        rules = permissions.get(kind) if isinstance(permissions, dict) else None
        yield from _rules(rules, ("permissions", kind))
    hooks = data.get("hooks")
    if isinstance(hooks, dict):
        yield from _hooks({event: groups for event, groups in hooks.items() if event != FAIL_CLOSED})


def of_servers(data: dict[str, Any], folder: str = "") -> Iterator[Mistake]:
    """MCP servers that cannot be started as they are written: of .mcp.json, or of the state file for everywhere and
    for a folder."""
    yield from _servers(data.get("mcpServers"), ("mcpServers",))
    projects = data.get("projects")
    project = projects.get(folder) if isinstance(projects, dict) else None
    if isinstance(project, dict):
        yield from _servers(project.get("mcpServers"), ("projects", folder, "mcpServers"))


def of_saved_rules(data: dict[str, Any]) -> Iterator[Mistake]:
    """`{"user": {"allow": […]}, "folders": {FOLDER: {"allow": […]}}}`."""
    for key in data:
        if key not in ("user", "folders"):
            yield Mistake((key,), f"unknown key `{key}`: it has no effect", harmless=True)
    folders = data.get("folders", {})
    if not isinstance(folders, dict):
        yield Mistake(("folders",), "`folders` must be an object")
        folders = {}
    tables = [(("user",), data.get("user", {})), *((("folders", name), table) for name, table in folders.items())]
    for path, table in tables:
        allowed = table.get("allow", []) if isinstance(table, dict) else None
        if not isinstance(allowed, list) or not all(isinstance(rule, str) for rule in allowed):
            yield Mistake(path, f"`{path[-1]}` must have a list of rules, `allow`")
        else:
            yield from _rules(allowed, (*path, "allow"))


def of_trust(data: dict[str, Any]) -> Iterator[Mistake]:
    """`{"folders": {FOLDER: true or false}}`."""
    folders = data.get("folders", {})
    if not isinstance(folders, dict):
        yield Mistake(("folders",), "`folders` must be an object")
        return
    for name, answer in folders.items():
        if not isinstance(answer, bool):
            yield Mistake(("folders", name), f"the answer about {name} must be true or false")


def _rules(rules: Any, path: tuple[str, ...]) -> Iterator[Mistake]:
    from yume_shim.app.name_checks import rule_warning

    for rule in rules if isinstance(rules, list) else ():
        if not isinstance(rule, str):
            continue
        if parse_rule(rule) is None:
            yield Mistake((*path, rule), f"this permission rule is invalid and has no effect: {rule}")
        elif doubt := rule_warning(rule):
            yield Mistake((*path, rule), doubt, harmless=True)


def _hooks(table: dict[str, Any]) -> Iterator[Mistake]:
    from yume_shim.extensions.hooks.event_table import why_not_fired
    from yume_shim.extensions.hooks.reading import hooks_of_settings
    from yume_shim.extensions.hooks.specs import GUARDS

    for event in table:
        if why := why_not_fired(event):
            yield Mistake(("hooks", event), f"hooks of the event {event!r} are not run: {why}", harmless=True)
            continue
        for hook in hooks_of_settings({event: table[event]}, ""):
            if hook.problem:
                place = (hook.matcher,) if hook.matcher else ()
                refused = "; what it matches is refused" if event in GUARDS else ""
                yield Mistake(("hooks", event, *place), f"a {event} hook is not run: {hook.problem}{refused}")


def _servers(servers: Any, path: tuple[str, ...]) -> Iterator[Mistake]:
    from yume_shim.config.mcp_settings import server_problem

    if servers is not None and not isinstance(servers, dict):
        yield Mistake(path, "`mcpServers` must be an object")
    for name, table in servers.items() if isinstance(servers, dict) else ():
        if problem := server_problem(table):
            yield Mistake((*path, name), f"MCP server {name}: {problem}")
