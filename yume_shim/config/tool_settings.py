"""Builds ToolSettings and PermissionSettings: which tools there are, and what they may do."""

from __future__ import annotations

import os

from yume_shim.config.setting_sources import strings
from yume_shim.config.settings_files import FLAG_LAYER
from yume_shim.types.errors import BadInvocation
from yume_shim.types.settings import (
    AUTO_MODE,
    CLAUDE_MODES,
    FLAT_MODES,
    MODE_ALIASES,
    SANDBOXES,
    PermissionSettings,
    Rules,
    SandboxSettings,
    ToolSettings,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.config.setting_sources import SettingSources
    from yume_shim.config.settings_files import Layer

CLAUDE_CONCURRENCY = 8
"""Read-only calls that may run side by side in the Claude formats; the flat dialect runs one after another."""
COMMAND_TOOLS = ("Bash", "BashOutput", "KillShell")


def tool_settings(sources: SettingSources) -> ToolSettings:
    """Raises BadInvocation."""
    return ToolSettings(
        names=_tool_names(sources),
        concurrency=1 if sources.flat else CLAUDE_CONCURRENCY,
        web_allow_private=tuple(strings(sources.table("web").get("allow_private", []))),
        sandbox=_sandbox(sources),
        claude_sandbox=_claude_sandbox(sources),
        unasked_env=sources.conf_texts("unasked_env"),
        file_checkpoints=sources.is_true("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"),
        repair_mojibake=bool(sources.config.get("repair_mojibake", False)),
    )


def _tool_names(sources: SettingSources) -> tuple[str, ...] | None:
    if not sources.on("tools"):
        return None
    names = tuple(name for part in sources.many("tools") for name in part.replace(",", " ").split())
    return None if names == ("default",) else names


def _claude_sandbox(sources: SettingSources) -> SandboxSettings:
    if not any(layer.data.get("sandbox") for layer in sources.layers):
        return SandboxSettings()
    from yume_shim.config.sandbox_settings import sandbox_settings

    return sandbox_settings(sources)


def _sandbox(sources: SettingSources) -> str:
    asked = sources.env.get("YUME_SANDBOX", "") or sources.conf("sandbox")
    if asked and asked not in SANDBOXES:
        raise BadInvocation(f"sandbox '{asked}' is not one of {', '.join(SANDBOXES)}")
    return asked


# ---------------------------------------------------------------- permissions


def permission_settings(sources: SettingSources) -> PermissionSettings:
    """Raises BadInvocation."""
    mode = _mode(sources)
    return PermissionSettings(
        mode=mode,
        allow_bypass=mode == "bypassPermissions" or sources.on("allow-dangerously-skip-permissions"),
        prompt_tool=sources.text("permission-prompt-tool") or "",
        never_ask=sources.text("permission-prompts") == "none",
        rules=_rules(sources),
        add_dirs=tuple(os.path.normpath(os.path.join(sources.cwd, path)) for path in sources.many("add-dir") if path),
        confined=sources.on("restricted"),
        files_damaged=sources.report.damaged,
    )


def _mode(sources: SettingSources) -> str:
    """The mode to start in: the flag, else the strongest trusted layer's `defaultMode`."""
    asked = sources.text("permission-mode")
    if asked is None:
        modes = (_default_mode(layer) for layer in reversed(sources.layers) if layer.trusted)
        asked = next(filter(None, modes), "default")
    if sources.on("dangerously-skip-permissions"):
        asked = "bypassPermissions"
    asked = MODE_ALIASES.get(asked, asked)
    if asked in FLAT_MODES and not sources.flat:
        raise BadInvocation(f"permission mode '{asked}' belongs to --output-format flat")
    if asked == AUTO_MODE:
        asked = "bypassPermissions" if sources.flat else "acceptEdits"
        if not sources.flat:
            sources.log("info", "permission mode auto has no classifier here: it behaves as acceptEdits")
    if asked == "bypassPermissions" and _is_root() and sources.env.get("IS_SANDBOX") != "1":
        raise BadInvocation(
            "--dangerously-skip-permissions cannot be used with root privileges "
            "unless IS_SANDBOX=1 says that this is a sandbox"
        )
    return asked


def _default_mode(layer: Layer) -> str:
    permissions = layer.data.get("permissions")
    mode = permissions.get("defaultMode", "") if isinstance(permissions, dict) else ""
    return mode if mode in CLAUDE_MODES else ""


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _rules(sources: SettingSources) -> Rules:
    allow, ask = _split_rules(sources.many("allowedTools")), []
    deny = _split_rules(sources.many("disallowedTools"))
    for layer in sources.layers:
        permissions = layer.data.get("permissions")
        if not isinstance(permissions, dict):
            continue
        if layer.trusted and (layer.name == FLAG_LAYER or not sources.report.damaged):
            allow += strings(permissions.get("allow"))
        ask += strings(permissions.get("ask"))
        deny += strings(permissions.get("deny"))
    if sources.on("restricted"):
        deny += COMMAND_TOOLS
    return Rules(tuple(allow), tuple(ask), tuple(deny))


def _split_rules(words: tuple[str, ...]) -> list[str]:
    """Rules separated by commas or blanks, but not inside parentheses: `Bash(git log, git status) Read`."""
    rules: list[str] = []
    for word in words:
        depth, current = 0, ""
        for char in word:
            if char in ", \t" and depth == 0:
                rules.append(current)
                current = ""
                continue
            depth += (char == "(") - (char == ")" and depth > 0)
            current += char
        rules.append(current)
    return [rule for rule in rules if rule]
