"""What the gate says: the texts that the model and the host read, and what an asker may be offered.

Hosts recognise the first words of some of these texts ("Claude requested permissions to write to", "This command
requires approval", "Permission to use … has been denied"), so those words stay as hosts know them.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json

MAX_QUOTED = 500
"""Longest piece of a command that is quoted in a message."""


def clip(text: str) -> str:
    return text if len(text) <= MAX_QUOTED else text[:MAX_QUOTED] + "…"


def write_wanted(path: str, mode: str) -> str:
    text = f"Claude requested permissions to write to {path}, but you haven't granted it yet."
    return f"{text} Nothing is edited while in plan mode: present the plan first." if mode == "plan" else text


def read_wanted(path: str) -> str:
    return f"Claude requested permissions to read from {path}, but you haven't granted it yet."


def sensitive(path: str, name: str) -> str:
    return (
        f"Claude requested permissions to edit {path} which is a sensitive file ({name}): other programs act on it, "
        "so it is never edited unasked."
    )


def linked(path: str, real: str) -> str:
    return f"Claude requested permissions to write to {path}, but you haven't granted it yet: it is a link to {real}."


def odd_path(path: str, why: str) -> str:
    return f"The path {path!r} is not taken: {why}."


def tool_wanted(name: str) -> str:
    return f"Claude requested permissions to use {name}, but you haven't granted it yet."


def command_wanted(why: str, mode: str) -> str:
    text = f"This command requires approval ({why})" if why else "This command requires approval"
    return f"{text}. Only commands that read run unasked while in plan mode." if mode == "plan" else text


def parts_wanted(parts: tuple[str, ...], mode: str) -> str:
    text = "This Bash command contains multiple operations. The following parts require approval: " + ", ".join(
        clip(part) for part in parts
    )
    return f"{text}. Only commands that read run unasked while in plan mode." if mode == "plan" else text


def redirect_wanted(path: str) -> str:
    return f"Output redirection to '{path}' needs approval: it would write outside of what may be edited unasked."


def rule_asks(name: str) -> str:
    return f"Claude requested permissions to use {name}, but you haven't granted it yet: a rule wants it asked."


def command_denied(command: str) -> str:
    return f"Permission to use Bash with command {clip(command)} has been denied."


def tool_denied(name: str) -> str:
    return f"Permission to use {name} has been denied."


def confined(path: str) -> str:
    """Outside of the working folders under --restricted."""
    return f"{path} lies outside of the working folders, and this session is restricted to them."


def path_denied() -> str:
    return "File is in a directory that is denied by your permission settings."


def mode_denied(name: str) -> str:
    return f"Permission to use {name} has been denied: this session runs no tools (mode deny)."


def not_asked(name: str, wanted: str) -> str:
    return (
        f"Permission to use {name} has been denied because this session does not ask (mode dontAsk) and no rule allows "
        f"it. {wanted} Go on with what is allowed, or say what you need and stop."
    )


# ---------------------------------------------------------------- suggestions


def accept_edits() -> Json:
    return {"type": "setMode", "mode": "acceptEdits", "destination": "session"}


def add_folder(path: str) -> Json:
    return {"type": "addDirectories", "directories": [path], "destination": "session"}


def parent(path: str, is_folder: bool) -> str:
    return path if is_folder else os.path.dirname(path) or path


def add_rule(tool: str, content: str | None, destination: str = "localSettings") -> Json:
    rule = {"toolName": tool} if content is None else {"toolName": tool, "ruleContent": content}
    return {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": destination}
