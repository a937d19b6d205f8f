"""Names in flags and settings that mean nothing here: tools, rules, folders. Loaded only if any are given."""

from __future__ import annotations

import os

from yume_shim.gate.rules import parse_rule
from yume_shim.text.nearest import did_you_mean
from yume_shim.tools.dispatch.specs import DEFAULT_WORD, SPECS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from yume_shim.types.settings import Settings

CLAUDE_TOOLS = (
    *(
        "Agent",
        "AskUserQuestion",
        "Bash",
        "BashOutput",
        "BashOutputTool",
        "Brief",
        "Config",
        "CronCreate",
        "CronDelete",
    ),
    *("CronList", "Edit", "EnterPlanMode", "EnterWorktree", "ExitPlanMode", "ExitWorktree", "Glob", "Grep", "KillBash"),
    *("KillShell", "LS", "LSP", "ListAgents", "ListMcpResources", "ListMcpResourcesTool", "Monitor", "MultiEdit"),
    *("NotebookEdit", "NotebookRead", "PowerShell", "PushNotification", "REPL", "Read", "ReadMcpResource"),
    *("ReadMcpResourceTool", "RemoteTrigger", "ReportFindings", "ScheduleWakeup", "SendMessage", "SendUserMessage"),
    *("Skill", "SlashCommand", "Sleep", "StructuredOutput", "Task", "TaskCreate", "TaskGet", "TaskList", "TaskOutput"),
    *("TaskStop", "TaskUpdate", "TeamCreate", "TeamDelete", "TodoRead", "TodoWrite", "ToolSearch", "WebFetch"),
    *("WebSearch", "Workflow", "Write"),
)
"""Tools of the Claude CLI, also those that are not here: files written for it name them."""


def name_warnings(settings: Settings) -> list[str]:
    """One sentence per unknown name."""
    rules = settings.permissions.rules
    known = _known()
    found = {name: f"--tools: '{name}' is not a tool." for name in settings.tools.names or () if not _is(name, known)}
    texts = [f"{text}{did_you_mean(name, known)}" for name, text in found.items()]
    for rule in (*rules.allow, *rules.ask, *rules.deny):
        name = _tool_of(rule)
        if name not in found and (text := rule_warning(rule)):
            found[name] = text
            texts.append(text)
    return [*texts, *_missing_folders(settings)]


def rule_warning(rule: str) -> str:
    """Why a permission rule that is well formed has no effect; "" if it may have one."""
    name, known = _tool_of(rule), _known()
    if parse_rule(rule) is None or _is(name, known):  # the gate reports what is no rule
        return ""
    return f"permission rule '{rule}': '{name}' is not a tool, so it has no effect.{did_you_mean(name, known)}"


def _known() -> set[str]:
    return {*CLAUDE_TOOLS, *(spec.name for spec in SPECS), *(alias for spec in SPECS for alias in spec.aliases)}


def _is(name: str, known: set[str]) -> bool:
    return name in known or name == DEFAULT_WORD or name.startswith("mcp__") or "*" in name


def _tool_of(rule: str) -> str:
    return rule.partition("(")[0].strip()


def _missing_folders(settings: Settings) -> Iterator[str]:
    for folder in settings.permissions.add_dirs:
        if not os.path.isdir(folder):
            there = "it is not a folder" if os.path.exists(folder) else "there is no such folder"
            yield f"--add-dir {folder}: {there}"
