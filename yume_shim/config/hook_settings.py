"""Collects the hooks of the settings files.

Hooks of a folder that is not trusted run in the Claude forms, as in the Claude CLI; the flat dialect only names them.
"""

from __future__ import annotations

from yume_shim.types.settings import HookSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from yume_shim.config.setting_sources import SettingSources

FAIL_CLOSED = "failClosed"
PROJECT_LAYERS = ("project", "local")


def hook_settings(sources: SettingSources) -> HookSettings:
    """The group of settings. `disableAllHooks` of a trusted layer switches all of them off."""
    show_all = sources.on("include-hook-events")
    if any(layer.trusted and layer.data.get("disableAllHooks") is True for layer in sources.layers):
        return HookSettings(show_all=show_all)
    found: list[tuple[str, Mapping[str, Any]]] = []
    left_out: list[str] = []
    closed = False
    for layer in sources.layers:
        table = layer.data.get("hooks")
        if not isinstance(table, dict) or not table:
            continue
        if sources.flat and layer.name in PROJECT_LAYERS and not layer.trusted:
            left_out.append(layer.name)
            continue
        closed = closed or table.get(FAIL_CLOSED) is True
        found.append((layer.name, {event: groups for event, groups in table.items() if event != FAIL_CLOSED}))
    if left_out:
        names = " and ".join(left_out)
        sources.log("warning", f"this folder is not trusted: hooks of its {names} settings are not run")
    return HookSettings(tuple(found), tuple(left_out), closed, show_all)
