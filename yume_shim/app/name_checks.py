"""Names in flags and settings that mean nothing here: tools, rules, folders. Loaded only if any are given."""

from __future__ import annotations

import os

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
    names: dict[str, str] = {name: f"--tools: '{name}' is not a tool." for name in settings.tools.names or ()}
    for rule in (*rules.allow, *rules.ask, *rules.deny):
        name = rule.partition("(")[0].strip()
        names.setdefault(name, f"permission rule '{rule}': '{name}' is not a tool, so it has no effect.")
    known = {*CLAUDE_TOOLS, *(spec.name for spec in SPECS), *(alias for spec in SPECS for alias in spec.aliases)}
    found = [
        f"{text}{did_you_mean(name, known)}"
        for name, text in names.items()
        if name not in known and name != DEFAULT_WORD and not name.startswith("mcp__") and "*" not in name
    ]
    return [*found, *_missing_folders(settings)]


def _missing_folders(settings: Settings) -> Iterator[str]:
    for folder in settings.permissions.add_dirs:
        if not os.path.isdir(folder):
            there = "it is not a folder" if os.path.exists(folder) else "there is no such folder"
            yield f"--add-dir {folder}: {there}"
