"""Reads one plugin: its manifest, and where its parts are.

Without a manifest the parts lie in their usual places. A manifest with a wrong part makes the whole plugin unusable,
and each wrong part is named, as in the Claude CLI. Paths must stay inside of the plugin.
"""

from __future__ import annotations

import os
import shlex

from yume_shim.disk.bounded import is_absent, read_text
from yume_shim.text import codec
from yume_shim.types.plugins import Plugin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Problem = Callable[[str, str], None]
    """Takes the type of a problem and its message."""

MAX_BYTES = 1 << 20
"""Of a manifest, of a file with hooks or servers."""
MAX_PATHS = 100
ROOT = "${CLAUDE_PLUGIN_ROOT}"
USUAL = {"commands": "commands", "agents": "agents", "skills": "skills", "outputStyles": "output-styles"}
"""Parts of a manifest that are paths, and where they lie if it names none."""


class BadPlugin(Exception):
    """The plugin cannot be used; the message says why."""


def read_plugin(root: str, name: str, source: str, problem: Problem) -> Plugin:
    """The plugin in a folder; `name` counts if it has no manifest. Raises BadPlugin."""
    manifest = _manifest(root, name)
    name = manifest.get("name", name)
    parts = {part: _places(root, manifest, part, problem) for part in USUAL}
    return Plugin(
        name=name,
        root=root,
        source=source.replace("*", name),
        version=manifest.get("version", ""),
        commands=parts["commands"],
        skills=parts["skills"],
        agents=parts["agents"],
        output_styles=parts["outputStyles"],
        hooks=_hooks(root, manifest, problem),
        mcp_servers=_servers(root, manifest, problem),
    )


# ---------------------------------------------------------------- the manifest


def _manifest(root: str, name: str) -> dict[str, Any]:
    path = os.path.join(root, ".claude-plugin", "plugin.json")
    try:
        raw = read_text(path, MAX_BYTES)
    except OSError as error:
        if is_absent(error):
            return {}
        raise BadPlugin(f"the manifest {path} of plugin {name} cannot be read: {error.strerror}") from None
    try:
        manifest = codec.loads(raw)
    except ValueError as error:
        raise BadPlugin(f"the manifest {path} of plugin {name} is not valid JSON: {error}") from None
    wrong = _wrong(manifest) if isinstance(manifest, dict) else ["it must be an object"]
    if wrong:
        raise BadPlugin(f"the manifest {path} of plugin {name} is invalid: {'; '.join(wrong)}")
    return manifest  # type: ignore[no-any-return]  # checked above


def _wrong(manifest: dict[str, Any]) -> list[str]:
    """What is wrong with each part."""
    found: list[str] = []
    name = manifest.get("name")
    if not isinstance(name, str) or not name:
        found.append("name: a text is needed")
    elif any(char.isspace() or char in ":/\\" or not char.isprintable() for char in name):
        found.append("name: it cannot have blanks, colons or slashes (my-plugin)")
    if not isinstance(manifest.get("version", ""), str):
        found.append("version: it must be a text")
    for part in USUAL:
        given = manifest.get(part)
        if given is not None and not all(_is_inner(path) for path in _listed(given)):
            found.append(f"{part}: each must be a path that begins with ./ and stays in the plugin")
    for part in ("hooks", "mcpServers"):
        given = manifest.get(part)
        if given is not None and not all(isinstance(one, dict) or _is_inner(one) for one in _listed(given)):
            found.append(f"{part}: it must be an object or a path that begins with ./")
    return found


def _listed(given: Any) -> list[Any]:
    return given if isinstance(given, list) else [given]


def _is_inner(path: Any) -> bool:
    if not isinstance(path, str) or not path.startswith("./") or "\0" in path:
        return False
    return not os.path.normpath(path).startswith("..")


# ---------------------------------------------------------------- parts


def _places(root: str, manifest: dict[str, Any], part: str, problem: Problem) -> tuple[str, ...]:
    """The files and folders of one part. What a manifest names replaces the usual folder; skills are added to it."""
    usual = os.path.join(root, USUAL[part])
    named = [os.path.join(root, os.path.normpath(path)) for path in _listed(manifest.get(part)) if path is not None]
    found = [usual] if os.path.isdir(usual) and (not named or part == "skills") else []
    for path in named[:MAX_PATHS]:
        if os.path.exists(path):
            found.append(path)
        else:
            problem("path-not-found", f"{part}: {path} does not exist")
    return tuple(dict.fromkeys(found))


def _hooks(root: str, manifest: dict[str, Any], problem: Problem) -> tuple[dict[str, Any], ...]:
    found: list[dict[str, Any]] = []
    for given in _given(root, manifest.get("hooks"), os.path.join("hooks", "hooks.json"), "hook-load-failed", problem):
        table = given.get("hooks", given)
        if isinstance(table, dict):
            found.append(_with_root(table, root))
        else:
            problem("hook-load-failed", "`hooks` must be an object")
    return tuple(table for table in found if table)


def _servers(root: str, manifest: dict[str, Any], problem: Problem) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for given in _given(root, manifest.get("mcpServers"), ".mcp.json", "mcp-config-invalid", problem):
        table = given.get("mcpServers", given)
        for name, server in table.items() if isinstance(table, dict) else ():
            if isinstance(server, dict):
                env = server.get("env")
                own = env if isinstance(env, dict) else {}
                found[name] = _replaced({**server, "env": {"CLAUDE_PLUGIN_ROOT": root, **own}}, root)
    return found


def _given(root: str, named: Any, usual: str, kind: str, problem: Problem) -> list[dict[str, Any]]:
    """The tables of the usual file, and those that the manifest holds or names."""
    tables: list[dict[str, Any]] = []
    paths = dict.fromkeys(os.path.join(root, os.path.normpath(one)) for one in _listed(named) if isinstance(one, str))
    first = os.path.join(root, usual)
    for path in ([first] if os.path.exists(first) else []) + [path for path in paths if path != first]:
        try:
            table = codec.loads(read_text(path, MAX_BYTES))
        except OSError as error:
            problem(kind, f"{path} cannot be read: {error.strerror}")
        except ValueError as error:
            problem(kind, f"{path} is not valid JSON: {error}")
        else:
            if isinstance(table, dict):
                tables.append(table)
            else:
                problem(kind, f"{path} must hold an object")
    return tables + [one for one in _listed(named) if isinstance(one, dict)]


def _with_root(table: Any, root: str) -> Any:
    """Hooks whose commands know the plugin's folder as a variable: quotes around it then mean what they say."""
    if isinstance(table, list):
        return [_with_root(one, root) for one in table]
    if not isinstance(table, dict):
        return table
    made = {name: _with_root(one, root) for name, one in table.items()}
    command = made.get("command")
    if isinstance(command, str) and "args" not in made:
        if made.get("shell") == "powershell":
            quoted = root.replace("'", "''")
            return {**made, "command": f"$env:CLAUDE_PLUGIN_ROOT = '{quoted}'; {command}"}
        text = f"export CLAUDE_PLUGIN_ROOT={shlex.quote(root)}; {command}"
        return {"shell": "bash", **made, "command": text}  # cmd.exe would read neither `export` nor the quotes
    return _replaced(made, root) if "command" in made else made


def _replaced(given: Any, root: str) -> Any:
    if isinstance(given, str):
        return given.replace(ROOT, root)
    if isinstance(given, list):
        return [_replaced(one, root) for one in given]
    if isinstance(given, dict):
        return {name: _replaced(one, root) for name, one in given.items()}
    return given
