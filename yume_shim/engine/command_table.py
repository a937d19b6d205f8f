"""The slash commands that are built in: those that this program answers, those that are prompts, and those that only a
terminal can show."""

from __future__ import annotations

from yume_shim.types.value import Value


class BuiltinCommand(Value):
    """One command, as it is listed."""

    name: str
    description: str
    hint: str = ""
    aliases: tuple[str, ...] = ()


LOCAL = (
    BuiltinCommand("agents", "List the agents that can be started"),
    BuiltinCommand("clear", "Start a new conversation"),
    BuiltinCommand("compact", "Replace the conversation by a summary of it", "[what the summary should keep]"),
    BuiltinCommand("context", "Show how full the context is"),
    BuiltinCommand("help", "List the commands"),
    BuiltinCommand("mcp", "List the MCP servers"),
    BuiltinCommand("model", "Show the model, or change it for this session", "[model]"),
    BuiltinCommand("reload-skills", "Read commands and skills again"),
    BuiltinCommand("usage", "Show tokens and cost of this session", aliases=("cost", "stats")),
)
"""Answered here, without a request."""
PROMPTS = (
    BuiltinCommand("code-review", "Review the current changes, or a target, for bugs", "[target]", ("review",)),
    BuiltinCommand("debug", "Find the cause of a problem", "[what goes wrong]"),
    BuiltinCommand("init", "Write a CLAUDE.md for this project"),
    BuiltinCommand("recap", "Sum up this session in one line"),
    BuiltinCommand("run", "Start this project's program and show that a change works", "[what to look at]"),
    BuiltinCommand("security-review", "Review the changes of the current branch for security problems"),
    BuiltinCommand("simplify", "Simplify the changed code without changing what it does", "[target]"),
    BuiltinCommand("team-onboarding", "Write a guide for people who are new to this project"),
    BuiltinCommand("verify", "Show that a change does what it should, by using it", "[what to verify]"),
)
"""Their text (`engine/builtin_prompts.py`) goes to the model."""
UNAVAILABLE = frozenset(
    (
        *(
            "add-dir",
            "allowed-tools",
            "autocompact",
            "auto-mode-setup",
            "bashes",
            "bug",
            "color",
            "config",
            "copy",
            "doctor",
        ),
        *("desktop", "diff", "effort", "exit", "export", "extra-usage", "fast", "feedback", "focus", "fork", "goal"),
        *(
            "heapdump",
            "hooks",
            "ide",
            "insights",
            "install-github-app",
            "install-slack-app",
            "keybindings",
            "list-agents",
        ),
        *("login", "logout", "memory", "mobile", "name", "output-style", "passes", "peers", "permissions", "plan"),
        *(
            "plugin",
            "plugins",
            "privacy-settings",
            "quit",
            "release-notes",
            "reload-plugins",
            "remote-control",
            "rename",
        ),
        *(
            "resume",
            "rewind",
            "sandbox",
            "settings",
            "skills",
            "status",
            "statusline",
            "tasks",
            "terminal-setup",
            "theme",
        ),
        *("upgrade", "vim", "voice"),
    )
)
"""Commands of the Claude CLI that need a terminal, an account or what is not here: the answer says so."""

LISTED = tuple(sorted((*LOCAL, *PROMPTS), key=lambda command: command.name))
BY_NAME = {name: command for command in LISTED for name in (command.name, *command.aliases)}


def local_name(name: str) -> str:
    """The command that is answered here, without its alias; "" if it is none."""
    command = BY_NAME.get(name)
    return command.name if command is not None and command in LOCAL else ""


def prompt_name(name: str) -> str:
    """The command whose text goes to the model; "" if it is none."""
    command = BY_NAME.get(name)
    return command.name if command is not None and command in PROMPTS else ""
