"""Builds ToolSettings and PermissionSettings: which tools there are, and what they may do."""

from __future__ import annotations

import os

from yume_shim.config.setting_sources import strings, variables_of
from yume_shim.config.settings_files import FLAG_LAYER, HOST_MANAGED, MANAGED, PROJECT_LAYERS
from yume_shim.types.blocks import NOTHING
from yume_shim.types.errors import BadInvocation
from yume_shim.types.folders import SAVED_RULES, home_folder, yume_folder
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
    from collections.abc import Mapping
    from typing import Any

    from yume_shim.config.setting_sources import SettingSources
    from yume_shim.config.settings_files import Layer

CLAUDE_CONCURRENCY = 8
"""Read-only calls that may run side by side in the Claude formats; the flat dialect runs one after another."""
MANAGED_RULES_ONLY = "allowManagedPermissionRulesOnly"
"""Only managed settings may allow calls. Ask and deny rules of others hold: they cannot weaken a policy."""
COMMAND_TOOLS = ("Bash", "TaskOutput", "TaskStop")


def tool_settings(sources: SettingSources) -> ToolSettings:
    """Raises BadInvocation."""
    return ToolSettings(
        names=_tool_names(sources),
        concurrency=1 if sources.flat else CLAUDE_CONCURRENCY,
        web_allow_private=tuple(strings(sources.table("web").get("allow_private", []))),
        sandbox=_sandbox(sources),
        claude_sandbox=_claude_sandbox(sources),
        bash_path=sources.env.get("YUME_BASH_PATH", "") or sources.conf("bash_path"),
        unasked_env=sources.conf_texts("unasked_env"),
        file_checkpoints=sources.is_true("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"),
        repair_mojibake=_repair_mojibake(sources),
    )


def _repair_mojibake(sources: SettingSources) -> bool:
    if not sources.config.get("repair_mojibake", False):
        return False
    from importlib.util import find_spec

    if find_spec("ftfy") is None:
        from yume_shim.types.packages import missing_package

        raise BadInvocation(f"Error: {missing_package(ModuleNotFoundError(name='ftfy'))}")
    return True


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


def _never_prompts(sources: SettingSources) -> bool:
    """`denyInsteadOfPrompting`: true in any file that is not a project's counts."""
    own = (layer for layer in sources.layers if layer.name not in PROJECT_LAYERS)
    return any(_table(layer).get("denyInsteadOfPrompting") is True for layer in own)


def permission_settings(sources: SettingSources) -> PermissionSettings:
    """Raises BadInvocation."""
    no_bypass = any(_table(layer).get("disableBypassPermissionsMode") == "disable" for layer in sources.layers)
    mode = _mode(sources, no_bypass)
    wants_bypass = mode == "bypassPermissions" or sources.on("allow-dangerously-skip-permissions")
    return PermissionSettings(
        mode=mode,
        allow_bypass=wants_bypass and not no_bypass,
        no_bypass=no_bypass,
        prompt_tool=sources.text("permission-prompt-tool") or "",
        never_ask=sources.text("permission-prompts") == "none" or _never_prompts(sources),
        rules=_rules(sources),
        allow_if_trusted=_allowed_if_trusted(sources),
        variables_if_trusted={name: text for each in sources.if_trusted() for name, text in variables_of(each).items()},
        managed=_managed_rules(sources),
        saved=_saved_rules(sources),
        managed_only=sources.managed(MANAGED_RULES_ONLY),
        add_dirs=_folders(sources),
        confined=sources.on("restricted"),
        files_damaged=sources.report.damaged,
    )


def _folders(sources: SettingSources) -> tuple[str, ...]:
    """`--add-dir`, and `additionalDirectories` of trusted layers; a damaged file may have meant others."""
    given = list(sources.many("add-dir"))
    for layer in sources.layers:
        if layer.trusted and (layer.name == FLAG_LAYER or not sources.report.damaged):
            given += strings(_table(layer).get("additionalDirectories"))
    home = home_folder(sources.env)
    full = (home + path[1:] if path == "~" or path.startswith("~/") else path for path in given if path)
    return tuple(dict.fromkeys(os.path.normpath(os.path.join(sources.cwd, path)) for path in full))


def _mode(sources: SettingSources, no_bypass: bool) -> str:
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
    if asked == "bypassPermissions" and no_bypass:
        sources.log("warning", "the settings disable bypassPermissions: the session starts in the mode default")
        asked = "default"
    if asked == "bypassPermissions" and _is_root() and sources.env.get("IS_SANDBOX") != "1":
        raise BadInvocation(
            "--dangerously-skip-permissions cannot be used with root privileges "
            "unless IS_SANDBOX=1 says that this is a sandbox"
        )
    return asked


def _default_mode(layer: Layer) -> str:
    mode = _table(layer).get("defaultMode", "")
    return mode if mode in CLAUDE_MODES else ""


def _table(layer: Layer) -> Mapping[str, Any]:
    permissions = layer.data.get("permissions")
    return permissions if isinstance(permissions, dict) else NOTHING


def _is_root() -> bool:
    from yume_shim.system import is_root

    return is_root()


def _rules(sources: SettingSources) -> Rules:
    managed_only = sources.managed(MANAGED_RULES_ONLY)
    allow, ask = [] if managed_only else _split_rules(sources.many("allowedTools")), []
    deny = _split_rules(sources.many("disallowedTools"))
    for layer in sources.layers:
        permissions = _table(layer)
        may_allow = layer.trusted and (layer.name in (FLAG_LAYER, MANAGED) or not sources.report.damaged)
        if may_allow and (layer.name == MANAGED or not managed_only):
            allow += strings(permissions.get("allow"))
        ask += strings(permissions.get("ask"))
        deny += strings(permissions.get("deny"))
    if sources.on("restricted"):
        deny += COMMAND_TOOLS
    return Rules(tuple(allow), tuple(ask), tuple(deny))


def _saved_rules(sources: SettingSources) -> tuple[str, ...]:
    """Rules that were saved with answers are the user's, and count like the user's settings file."""
    if "user" not in sources.layer_names or sources.managed(MANAGED_RULES_ONLY) or sources.report.damaged:
        return ()
    if not os.path.exists(os.path.join(yume_folder(sources.env), SAVED_RULES)):
        return ()
    from yume_shim.config.saved_rules import read_saved_rules

    return read_saved_rules(sources.env, sources.cwd, sources.log)


def _allowed_if_trusted(sources: SettingSources) -> tuple[str, ...]:
    if sources.managed(MANAGED_RULES_ONLY) or sources.report.damaged:
        return ()
    return tuple(rule for layer in sources.if_trusted() for rule in strings(_table(layer).get("allow")))


def _managed_rules(sources: SettingSources) -> Rules:
    """What no answer of the host may remove."""
    tables = [_table(layer) for layer in sources.layers if layer.name in (MANAGED, HOST_MANAGED)]
    ask, deny = ([rule for table in tables for rule in strings(table.get(kind))] for kind in ("ask", "deny"))
    return Rules((), tuple(ask), tuple(deny))


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
