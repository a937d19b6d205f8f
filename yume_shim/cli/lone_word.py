"""A command line whose words are nearly a sub-command, such as `docter` or `session list`: it must not become a paid
prompt."""

from __future__ import annotations

import os
import shlex

from yume_shim import CLAUDE_VERSION, __version__
from yume_shim.cli.flags import CLAUDE_SUBCOMMANDS, SUBCOMMANDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WORDS = ("help", "version")
OTHER_NAMES: dict[str, str] = dict.fromkeys(("config", "configure", "login", "settings", "setup"), "init")
"""What people type for a sub-command that has another name here."""
USAGE_ERROR = 2


def answer_words(words: Sequence[str], say: Callable[[str], int]) -> int | None:
    """The exit code if the words were answered or refused; None if they are a prompt."""
    word = words[0]
    if len(words) > 1:
        return _refuse_group(words)
    if word == "help":
        from yume_shim.cli.help import help_text, terminal_width

        return say(help_text(terminal_width()))
    if word == "version":
        return say(f"{CLAUDE_VERSION} (yume_shim {__version__})\n")
    near = OTHER_NAMES.get(word) or _near(word)
    return _refuse(word, near) if near else None


def _refuse_group(words: Sequence[str]) -> int | None:
    """`session list`: the second word belongs to the sub-command that the first nearly is."""
    near = _near(words[0])
    if near not in SUBCOMMANDS:
        return None
    from yume_shim.cli.commands import command_group

    inner = getattr(command_group().commands.get(near), "commands", {})
    return _refuse(" ".join(words), f"{near} {words[1]}") if words[1] in inner else None


def _near(word: str) -> str:
    if not word.replace("-", "").isalpha():
        return ""
    from yume_shim.text.nearest import nearest

    return nearest(word, (*SUBCOMMANDS, *CLAUDE_SUBCOMMANDS, *WORDS))


def _refuse(typed: str, near: str) -> int:
    message = (
        f"yume-shim: '{typed}' is not a sub-command. Did you mean '{near}'? "
        f"To send it as a prompt, write: yume-shim -p {shlex.quote(typed)}\n"
    )
    os.write(2, message.encode())
    return USAGE_ERROR
