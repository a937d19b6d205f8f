"""The gate's messages to the model and the host, and the permission updates that it suggests.

Hosts recognise some of these texts by their first words ("Claude requested permissions to write to", "This command
requires approval", "Permission to use … has been denied"), so those words must not change.
"""

from __future__ import annotations

import os

from yume_shim.types.outputs import CLAUDE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from yume_shim.types.permission_records import AddDirectories, AddRules, SetMode

MAX_QUOTED = 500
"""The most characters of a command that a message quotes."""


def clip(text: str) -> str:
    return text if len(text) <= MAX_QUOTED else text[:MAX_QUOTED] + "…"


def write_request(path: str, mode: str) -> str:
    text = f"{CLAUDE} requested permissions to write to {path}, but you haven't granted it yet."
    return f"{text} No files are edited while in plan mode: present the plan first." if mode == "plan" else text


def read_request(path: str) -> str:
    return f"{CLAUDE} requested permissions to read from {path}, but you haven't granted it yet."


def sensitive_file(path: str, name: str) -> str:
    return (
        f"{CLAUDE} requested permissions to edit {path} which is a sensitive file ({name}): other programs act on it, "
        "so editing it always requires approval."
    )


def link_request(path: str, real: str) -> str:
    return f"{CLAUDE} requested permissions to write to {path}, but you haven't granted it yet: it is a link to {real}."


def bad_path(path: str, why: str) -> str:
    return f"The path {path!r} cannot be checked: {why}."


def tool_request(name: str) -> str:
    return f"{CLAUDE} requested permissions to use {name}, but you haven't granted it yet."


def command_approval(why: str, mode: str) -> str:
    text = f"This command requires approval ({why})" if why else "This command requires approval"
    return f"{text}. Only read-only commands run without approval while in plan mode." if mode == "plan" else text


def no_sandbox(why: str) -> str:
    return f"The settings demand a sandbox for commands (sandbox.failIfUnavailable), and there is none: {why}."


def parts_approval(parts: tuple[str, ...], mode: str) -> str:
    text = "This Bash command contains multiple operations. The following parts require approval: " + ", ".join(
        clip(part) for part in parts
    )
    return f"{text}. Only read-only commands run without approval while in plan mode." if mode == "plan" else text


def redirect_approval(path: str) -> str:
    return f"Output redirection to '{path}' needs approval: the file may not be written without asking."


def rule_asks(name: str) -> str:
    return f"{CLAUDE} requested permissions to use {name}, but you haven't granted it yet: a rule requires approval."


def command_denied(command: str) -> str:
    return f"Permission to use Bash with command {clip(command)} has been denied."


def tool_denied(name: str) -> str:
    return f"Permission to use {name} has been denied."


def outside_confinement(path: str) -> str:
    """For a path outside of the working folders under --restricted."""
    return f"{path} is outside of the working folders, and this session is restricted to them."


def path_denied() -> str:
    return "File is in a directory that is denied by your permission settings."


def mode_denied(name: str) -> str:
    return f"Permission to use {name} has been denied: this session runs no tools (mode deny)."


def denied_unasked(name: str, question: str) -> str:
    return (
        f"Permission to use {name} has been denied because this session does not ask (mode dontAsk) and no rule allows "
        f"it. {question} Continue with what is allowed, or say what you need and stop."
    )


# ---------------------------------------------------------------- suggestions


def accept_edits() -> SetMode:
    from yume_shim.types.permission_records import SetMode

    return SetMode()


def add_folder(path: str) -> AddDirectories:
    from yume_shim.types.permission_records import AddDirectories

    return AddDirectories(directories=[path])


def parent(path: str, is_folder: bool) -> str:
    return path if is_folder else os.path.dirname(path) or path


def add_rule(
    tool: str, *contents: str | None, destination: Literal["session", "localSettings"] = "localSettings"
) -> AddRules:
    """Allow calls of a tool: those that match one of the contents, or all of them (None)."""
    from yume_shim.types.permission_records import AddRules, PermissionRule

    rules = [PermissionRule(toolName=tool, ruleContent=content) for content in contents]
    return AddRules(rules=rules, destination=destination)
