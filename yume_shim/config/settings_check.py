"""Finds mistakes in a settings.json file: wrong types, which make it unusable, and words that are nearly right.

Loaded only if there is such a file.
"""

from __future__ import annotations

from yume_shim.config.claude_settings import KEYS, UNMET, UNMET_PERMISSIONS
from yume_shim.text.nearest import did_you_mean
from yume_shim.types.settings import AUTO_MODE, CLAUDE_MODES, MODE_ALIASES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

PERMISSIONS = (
    *("allow", "ask", "deny", "defaultMode", "additionalDirectories", "disableBypassPermissionsMode"),
    *("denyInsteadOfPrompting", "disableAutoMode"),
)
RULES = ("allow", "ask", "deny", "additionalDirectories")


def wrong_types(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(key, what is wrong) for every value that cannot be used."""
    permissions = data.get("permissions", {})
    if not isinstance(permissions, dict):
        yield "permissions", "`permissions` must be an object"
        permissions = {}
    for key in RULES:
        given = permissions.get(key, [])
        if not isinstance(given, list) or not all(isinstance(rule, str) for rule in given):
            yield key, f"`permissions.{key}` must be a list of strings"
    if not isinstance(permissions.get("defaultMode", ""), str):
        yield "defaultMode", "`permissions.defaultMode` must be a string"
    env = data.get("env", {})
    if not isinstance(env, dict) or not all(isinstance(text, str | int | float) for text in env.values()):
        yield "env", "`env` must be an object of strings"
    for key in ("model", "apiKeyHelper"):
        if not isinstance(data.get(key, ""), str):
            yield key, f"`{key}` must be a string"
    if not isinstance(data.get("hooks", {}), dict):
        yield "hooks", "`hooks` must be an object"


def unknown_words(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(key, what is odd about it) for every word that is nearly one that we know."""
    for key in data:
        if key not in KEYS and (hint := did_you_mean(key, KEYS)):
            yield key, f"unknown key `{key}`.{hint}"
        elif key in UNMET:
            yield key, f"`{key}` is not supported yet and has no effect"
    permissions = data.get("permissions")
    if not isinstance(permissions, dict):
        return
    for key in permissions:
        if key in UNMET_PERMISSIONS:
            yield key, f"`permissions.{key}` is not supported yet and has no effect"
        elif key not in PERMISSIONS:
            yield key, f"unknown key `permissions.{key}`.{did_you_mean(key, PERMISSIONS)}"
    mode = permissions.get("defaultMode", "default")
    modes = (*CLAUDE_MODES, AUTO_MODE, *MODE_ALIASES)
    if isinstance(mode, str) and mode not in modes:
        yield mode, f"unknown permission mode '{mode}'.{did_you_mean(mode, modes)}"


def line_of(raw: bytes, word: str) -> int:
    """The line of a file on which a word first occurs in quotes; 1 if it does not occur."""
    at = raw.find(f'"{word}"'.encode("utf-8", "replace"))
    return raw.count(b"\n", 0, max(at, 0)) + 1
