"""Finds the plugins that are used: those of `--plugin-dir`, and those that the Claude CLI has installed and the
settings enable. Its files are only read."""

from __future__ import annotations

import os

from yume_shim.config.plugin_manifest import BadPlugin, read_plugin
from yume_shim.disk.bounded import read_text
from yume_shim.text import codec
from yume_shim.types.blocks import NOTHING
from yume_shim.types.folders import claude_folder, home_folder
from yume_shim.types.plugins import PluginSettings
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from yume_shim.config.setting_sources import SettingSources
    from yume_shim.types.plugins import Plugin

MAX_BYTES = 4 << 20
MAX_PLUGINS = 100
MAX_ERRORS = 100
INLINE = "*@inline"


def plugin_settings(sources: SettingSources) -> PluginSettings:
    """The group of settings. A plugin that cannot be used is named in `errors`, and the others work."""
    finder = _Finder(sources)
    with_servers, without = sources.many("plugin-dir"), sources.many("plugin-dir-no-mcp")
    for place, path in enumerate((*with_servers, *without)):
        servers = place < len(with_servers)
        finder.add_folder(os.path.join(sources.cwd, _at_home(path, sources)), f"inline[{place}]", servers=servers)
    if not sources.on("restricted") and not sources.on("bare"):
        for key, root in _installed(sources):
            finder.add_installed(key, root)
    return PluginSettings(tuple(finder.found), tuple(finder.errors))


class _Finder:
    """Collects plugins and problems."""

    def __init__(self, sources: SettingSources) -> None:
        self._log = sources.log
        self.found: list[Plugin] = []
        self.errors: list[dict[str, Any]] = []

    def add_folder(self, path: str, shown: str, *, servers: bool) -> None:
        """A folder that the command line names, with its MCP servers or without."""
        root = os.path.normpath(path)
        if not os.path.isdir(root):
            self._report(shown, "path-not-found", f"Path not found: {root}", root)
            return
        self._add(root, os.path.basename(root), INLINE, shown)
        if not servers and self.found and self.found[-1].root == root:
            self.found[-1] = replace(self.found[-1], mcp_servers=NOTHING)

    def add_installed(self, key: str, root: str) -> None:
        """A plugin `name@marketplace` that the settings enable; `root` is "" if it is not installed."""
        name, _, market = key.partition("@")
        if not root or not os.path.isdir(root):
            self._report(key, "plugin-not-found", f"{key} is enabled in the settings, but not installed", root)
            return
        self._add(root, name, f"*@{market}", key)

    def _add(self, root: str, name: str, source: str, shown: str) -> None:
        if len(self.found) >= MAX_PLUGINS:
            self._report(shown, "generic-error", f"more than {MAX_PLUGINS} plugins: it is left out", root)
            return
        label = source.replace("*", name)
        try:
            self.found.append(read_plugin(root, name, source, self._problem(label)))
        except BadPlugin as bad:
            self._report(shown, "generic-error", f"Failed to load plugin: {bad}", root)

    def _problem(self, label: str) -> Callable[[str, str], None]:
        return lambda kind, message: self._report(label, kind, message, "")

    def _report(self, plugin: str, kind: str, message: str, path: str) -> None:
        entry: dict[str, Any] = {"plugin": plugin, "type": kind, "message": message}
        if len(self.errors) < MAX_ERRORS:
            self.errors.append({**entry, "path": path} if path else entry)
        self._log("warning", f"plugin {plugin}: {message}")


def _at_home(path: str, sources: SettingSources) -> str:
    return os.path.join(home_folder(sources.env), path[2:]) if path.startswith("~/") else path


# ---------------------------------------------------------------- installed ones


def _installed(sources: SettingSources) -> list[tuple[str, str]]:
    """(`name@marketplace`, folder) of each plugin that the settings enable. Files of an untrusted folder can switch a
    plugin off, never on."""
    enabled: dict[str, bool] = {}
    for layer in sources.layers:
        table = layer.data.get("enabledPlugins")
        for key, on in table.items() if isinstance(table, dict) else ():
            if isinstance(key, str) and "@" in key and (layer.trusted or on is False):
                enabled[key] = on is not False
    wanted = [key for key, on in enabled.items() if on]
    places = _places(sources) if wanted else {}
    return [(key, places.get(key, "")) for key in wanted]


def _places(sources: SettingSources) -> dict[str, str]:
    """The folders of installed plugins, from the Claude CLI's own list."""
    path = os.path.join(claude_folder(sources.env), "plugins", "installed_plugins.json")
    try:
        table = codec.loads(read_text(path, MAX_BYTES))["plugins"]
        return {key: _place(entries, sources.cwd) for key, entries in table.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _place(entries: Any, cwd: str) -> str:
    """One entry, or a list of them: for this project, or for all."""
    found = ""
    for entry in entries if isinstance(entries, list) else [entries]:
        place = entry.get("installPath") if isinstance(entry, dict) else None
        project = entry.get("projectPath") if isinstance(entry, dict) else None
        if not isinstance(place, str) or not os.path.isabs(place):
            continue
        if project == cwd:
            return place
        if project is None:
            found = found or place
    return found
