"""A command line whose only word is, or is nearly, a sub-command: it must not become a paid prompt."""

from __future__ import annotations

import os

from yume_shim import CLAUDE_VERSION, __version__
from yume_shim.cli.claude_subcommands import CLAUDE_SUBCOMMANDS
from yume_shim.cli.flags import SUBCOMMANDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

WORDS = ("help", "version")
USAGE_ERROR = 2


def answer_lone_word(word: str, say: Callable[[str], int]) -> int | None:
    """The exit code if the word was answered or refused; None if it is a prompt."""
    if word == "help":
        from yume_shim.cli.help import help_text

        return say(help_text())
    if word == "version":
        return say(f"{CLAUDE_VERSION} (yume_shim {__version__})\n")
    if not word.replace("-", "").isalpha():
        return None
    from yume_shim.text.nearest import nearest

    near = nearest(word, (*SUBCOMMANDS, *CLAUDE_SUBCOMMANDS, *WORDS))
    if not near:
        return None
    message = (
        f"yume-shim: '{word}' is not a sub-command. Did you mean '{near}'? "
        f"To send it as a prompt, write: yume-shim -p {word}\n"
    )
    os.write(2, message.encode())
    return USAGE_ERROR
