"""Collects the hooks of the settings files, and names those that are not run: hooks of a folder that is not trusted,
and hooks that the managed settings do not admit."""

from __future__ import annotations

from yume_shim.config.settings_files import MANAGED, PROJECT_LAYERS
from yume_shim.types.settings import HookSettings, LeftOut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from yume_shim.config.setting_sources import SettingSources
    from yume_shim.config.settings_files import Layer
    from yume_shim.types.plugins import Plugin

    Source = tuple[str, Mapping[str, Any]]

FAIL_CLOSED = "failClosed"


def hook_settings(sources: SettingSources, plugins: tuple[Plugin, ...] = ()) -> HookSettings:
    """The group of settings. `disableAllHooks` of a trusted layer switches hooks off, but managed ones only if managed
    settings say so."""
    found: list[Source] = []
    asked: list[Source] = []
    left_out: list[str] = []
    closed = False
    for layer in sources.layers:
        table = layer.data.get("hooks")
        if not isinstance(table, dict) or not table or _switched_off(layer, sources):
            continue
        events = {event: groups for event, groups in table.items() if event != FAIL_CLOSED}
        if sources.managed("allowManagedHooksOnly") and layer.name != MANAGED:
            _leave_out(events, layer, "managed", sources)
            sources.log("warning", f"managed settings admit only their own hooks: those of {layer.name} are not run")
            continue
        if layer.name in PROJECT_LAYERS and not sources.trust.starts:
            asks = sources.trust.asks
            _leave_out(events, layer, "asking" if asks else "untrusted", sources)
            left_out.append(layer.name)
            if asks:
                asked.append((layer.name, events))
            continue
        closed = closed or table.get(FAIL_CLOSED) is True
        found.append((layer.name, events))
    found += _of_plugins(plugins, sources)
    if left_out:
        names = " and ".join(left_out)
        unless = sources.trust.unless
        sources.log("warning", f"this folder is not trusted: hooks of its {names} settings are not run{unless}")
    return HookSettings(
        sources=tuple(found),
        sources_if_trusted=tuple(asked),
        fail_closed=closed,
        show_all=sources.on("include-hook-events"),
        http_urls=_texts(sources, "allowedHttpHookUrls"),
        http_variables=_texts(sources, "httpHookAllowedEnvVars"),
    )


def _texts(sources: SettingSources, key: str) -> tuple[str, ...] | None:
    """A list of trusted layers, joined; if managed settings have it, theirs alone. None = nobody has it."""
    having = [layer for layer in sources.layers if layer.trusted and isinstance(layer.data.get(key), list)]
    managed = [layer for layer in having if layer.name == MANAGED]
    if not having:
        return None
    return tuple(text for layer in managed or having for text in layer.data[key] if isinstance(text, str))


def _of_plugins(plugins: tuple[Plugin, ...], sources: SettingSources) -> list[Source]:
    """The hooks of plugins: the user installed or named them."""
    if any(layer.trusted and layer.data.get("disableAllHooks") is True for layer in sources.layers):
        return []
    found = [(f"plugin:{plugin.name}", table) for plugin in plugins for table in plugin.hooks]
    if found and sources.managed("allowManagedHooksOnly"):
        for name, table in found:
            for event in table:
                sources.leave_out(LeftOut("hooks", str(event), name, "managed"))
        sources.log("warning", "managed settings admit only their own hooks: those of plugins are not run")
        return []
    return found


def _switched_off(layer: Layer, sources: SettingSources) -> bool:
    by = [other for other in sources.layers if other.trusted and other.data.get("disableAllHooks") is True]
    return any(other.name == MANAGED for other in by) if layer.name == MANAGED else bool(by)


def _leave_out(events: Mapping[str, Any], layer: Layer, reason: str, sources: SettingSources) -> None:
    for event in events:
        sources.leave_out(LeftOut("hooks", str(event), layer.name, reason))  # type: ignore[arg-type]  # the callers' words
