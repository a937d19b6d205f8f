"""Builds CredentialSettings: keys and profiles of the config file, the key helper, and whether tools may see keys."""

from __future__ import annotations

from yume_shim.types.errors import BadInvocation
from yume_shim.types.settings import CredentialSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.config.setting_sources import SettingSources
    from yume_shim.config.settings_files import Layer


def credential_settings(sources: SettingSources) -> CredentialSettings:
    """Raises BadInvocation, whose message never quotes a key."""
    keys, profiles, file = sources.table("keys"), sources.table("profiles"), sources.config_path
    profile = sources.text("profile") or sources.env.get("YUME_PROFILE", "") or sources.conf("profile")
    if keys or profiles:
        from yume_shim.config.profiles import read_profile, text_list

        for name, given in keys.items():
            text_list(given, f"{file}: [keys] {name}")
        for name, table in profiles.items():
            read_profile(name, table, file)
    if profile and profile not in profiles:
        raise BadInvocation(unknown_profile(profile, tuple(profiles), file))
    secrets = sources.table("secrets")
    return CredentialSettings(
        keys=keys,
        profile=profile,
        profiles=profiles,
        key_helper=_key_helper(sources.layers),
        redact_output=secrets.get("redact_output", True) is not False,
        keys_for_tools=secrets.get("keys_for_tools", False) is True,
    )


def unknown_profile(name: str, known: tuple[str, ...], file: str) -> str:
    """The error message for a profile that does not exist."""
    there = f"it has {', '.join(known)}" if known else "it has none"
    return f"there is no profile '{name}' in {file}: {there}"


def _key_helper(layers: list[Layer]) -> str:
    """`apiKeyHelper` is a command: only trusted files may set it. The strongest layer wins."""
    for layer in reversed(layers):
        command = layer.data.get("apiKeyHelper")
        if layer.trusted and isinstance(command, str) and command.strip():
            return command
    return ""
