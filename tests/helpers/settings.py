"""Settings for tests, by one keyword per field: `settings_with(provider="ollama", max_turns=3)`."""

from __future__ import annotations

from typing import Any

from yume_shim.types.settings import Settings
from yume_shim.types.value import fields, replace

LONG_NAMES = {
    "log_level": ("log", "level"),
    "model": ("model", "name"),
    "fallback_model": ("model", "fallback"),
    "models": ("model", "overrides"),
    "endpoints": ("endpoint", "rows"),
    "history_trimming": ("history", "trimming"),
    "max_history_tokens": ("history", "max_tokens"),
    "autocompact_tokens": ("history", "compact_tokens"),
    "tools": ("tools", "names"),
    "tool_concurrency": ("tools", "concurrency"),
    "permission_mode": ("permissions", "mode"),
    "session_id": ("session", "id"),
    "session_dir": ("session", "folder"),
}
"""Fields whose own name says too little without their group."""
OWN = ("cwd", "env", "config_file", "setting_sources", "left_out")
"""Fields of Settings itself."""


def settings_with(**given: Any) -> Settings:
    """Settings with these fields, each put into its group."""
    blank = Settings()
    own: dict[str, Any] = {}
    groups: dict[str, dict[str, Any]] = {}
    for name, item in given.items():
        if name in OWN:
            own[name] = item
            continue
        group, field = LONG_NAMES.get(name) or (_group_of(blank, name), name)
        groups.setdefault(group, {})[field] = item
    return replace(blank, **own, **{name: replace(getattr(blank, name), **items) for name, items in groups.items()})


def _group_of(blank: Settings, name: str) -> str:
    [group] = [group for group in fields(blank) if group not in OWN and name in fields(getattr(blank, group))]
    return group
