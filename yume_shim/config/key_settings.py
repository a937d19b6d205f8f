"""What files, flags and environment say about keys, as fields of Settings."""

from __future__ import annotations

from yume_shim.types.errors import BadInvocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.config.setting_sources import Wishes
    from yume_shim.config.settings_files import Layer


def key_wishes(wishes: Wishes, layers: list[Layer]) -> dict[str, Any]:
    """`keys`, `profile`, `profiles` and `key_helper`, checked. Raises BadInvocation, which never quotes a key."""
    keys, profiles = wishes.table("keys"), wishes.table("profiles")
    profile = wishes.text("profile") or wishes.env.get("YUME_PROFILE", "") or wishes.conf("profile")
    if keys or profiles:
        from yume_shim.config.profiles import read_profile, texts

        for name, given in keys.items():
            texts(given, f"{wishes.config_path}: [keys] {name}")
        for name, table in profiles.items():
            read_profile(name, table, wishes.config_path)
    if profile and profile not in profiles:
        raise BadInvocation(unknown_profile(profile, tuple(profiles), wishes.config_path))
    return {"keys": keys, "profile": profile, "profiles": profiles, "key_helper": _key_helper(layers)}


def unknown_profile(name: str, known: tuple[str, ...], file: str) -> str:
    """What to tell about a name that no profile has."""
    there = f"it has {', '.join(known)}" if known else "it has none"
    return f"there is no profile '{name}' in {file}: {there}"


def _key_helper(layers: list[Layer]) -> str:
    """`apiKeyHelper` is a command: only files that may run things can name one. The strongest layer wins."""
    for layer in reversed(layers):
        command = layer.data.get("apiKeyHelper")
        if layer.trusted and isinstance(command, str) and command.strip():
            return command
    return ""
