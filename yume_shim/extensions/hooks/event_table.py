"""All hook events of the Claude CLI: which of them are fired here, and why the others are not. Data.

The warning about an event that is not fired and the table in docs/hooks.md come from here.
"""

from __future__ import annotations

from yume_shim.types.value import Value


class HookEvent(Value):
    """One event. `subject` is what its matchers are compared with; `why_not` is empty if it is fired."""

    name: str
    when: str = ""
    subject: str = ""
    answers: str = ""
    why_not: str = ""


ALL_EVENTS: tuple[HookEvent, ...] = (
    HookEvent(
        "PreToolUse",
        "before a call is judged",
        "tool",
        "`permissionDecision` allow, deny, ask or defer; `updatedInput`; `additionalContext`; `continue: false`",
    ),
    HookEvent(
        "PostToolUse",
        "after a call",
        "tool",
        "`decision: block`, `additionalContext`, `updatedMCPToolOutput`, `updatedToolOutput`, `continue: false`",
    ),
    HookEvent(
        "PostToolUseFailure",
        "after a call that failed",
        "tool",
        "`decision: block`, `additionalContext`, `continue: false`",
    ),
    HookEvent(
        "PostToolBatch",
        "when all calls of one answer have their results",
        "",
        "`additionalContext`; `decision: block` and `continue: false` end the turn",
    ),
    HookEvent(
        "PermissionRequest",
        "before the host is asked, or a call is refused because there is none",
        "tool",
        "`decision {behavior, message, interrupt, updatedInput, updatedPermissions}`",
    ),
    HookEvent(
        "UserPromptSubmit",
        "before a prompt runs",
        "",
        "`decision: block`, `continue: false`, `additionalContext`, plain text for the model",
    ),
    HookEvent(
        "UserPromptExpansion",
        "before a slash command becomes a prompt",
        "command",
        "`decision: block`, `continue: false`, `additionalContext`",
    ),
    HookEvent(
        "SessionStart",
        "before the first prompt, after `/clear`, after a compaction",
        "startup, resume, clear or compact",
        "`additionalContext`, plain text for the model, `CLAUDE_ENV_FILE`",
    ),
    HookEvent("SessionEnd", "at the end, and before `/clear`", "clear or other", "none"),
    HookEvent(
        "Stop",
        "when the model is done",
        "",
        "`decision: block` and `additionalContext` send it back to work; `continue: false`",
    ),
    HookEvent("StopFailure", "when a turn ends because the provider failed", "kind of error", "none"),
    HookEvent("SubagentStart", "before a subagent's first request", "agent type", "`additionalContext`"),
    HookEvent("SubagentStop", "when a subagent is done", "agent type", "as Stop"),
    HookEvent(
        "PreCompact",
        "before the history is compacted",
        "manual or auto",
        "`decision: block` and `continue: false` keep it from happening",
    ),
    HookEvent("PostCompact", "after the history was compacted", "manual or auto", "none"),
    HookEvent(
        "PreModelSwitch",
        "before the host's `set_model` counts",
        "model",
        "`permissionDecision` deny and ask, `decision: block`: the model stays",
    ),
    HookEvent("PostModelSwitch", "after the host's `set_model`", "model", "`additionalContext`"),
    HookEvent("Notification", "when the host is asked for a permission", "kind of notification", "none"),
    HookEvent("InstructionsLoaded", "for each file of instructions that the model gets", "why it is loaded", "none"),
    HookEvent("CwdChanged", "after a command has changed the shell's folder", "", "none"),
    HookEvent("PermissionDenied", why_not="it is about the classifier of the mode `auto`, which is not here"),
    HookEvent("Setup", why_not="it belongs to flags (`--init`, `--maintenance`) that are not here"),
    HookEvent("TeammateIdle", why_not="there are no teams of agents here"),
    HookEvent("TaskCreated", why_not="there are no shared task lists here"),
    HookEvent("TaskCompleted", why_not="there are no shared task lists here"),
    HookEvent("Elicitation", why_not="the host is asked itself"),
    HookEvent("ElicitationResult", why_not="the host is asked itself"),
    HookEvent("ConfigChange", why_not="settings files are read once, at the start"),
    HookEvent("WorktreeCreate", why_not="there are no worktrees here"),
    HookEvent("WorktreeRemove", why_not="there are no worktrees here"),
    HookEvent("FileChanged", why_not="files are not watched"),
    HookEvent("DirectoryAdded", why_not="folders are added by flag only"),
    HookEvent("MessageDisplay", why_not="it changes what a terminal shows: the host shows messages itself"),
)


def why_not_fired(name: str) -> str:
    """Why hooks of this event never run; "" if they do."""
    found = next((event for event in ALL_EVENTS if event.name == name), None)
    return "there is no such event" if found is None else found.why_not
