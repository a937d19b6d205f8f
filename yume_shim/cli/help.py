"""`--help`, made from the flag table."""

from __future__ import annotations

import os

from yume_shim.cli.flags import FLAGS, GROUPS, SUBCOMMAND_HELP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from yume_shim.cli.flags import Flag

INTRO = (
    "Implements the Claude CLI's interface for any model. Without options it reads JSON lines from stdin and writes "
    "the flat dialect; with -p, a prompt or a Claude --output-format it behaves like the Claude CLI."
)
EXAMPLES = (
    ('yume-shim -p "Explain this error" < build.log', "one prompt, the answer as text"),
    ("yume-shim --model openai/gpt-5.4", "a host writes JSON lines, one per prompt"),
    ("yume-shim init", "choose a provider and store its key"),
    ("yume-shim doctor", "what is missing, and what to do"),
)
_COLUMN, _NARROW_COLUMN = 44, 26
"""Where the descriptions begin: in text of any width, and where they are wrapped."""
_LEAST = 64
"""Columns of the narrowest terminal for which is wrapped."""


def help_text(width: int = 0) -> str:
    """The whole help, wrapped to the width of a terminal; 0: not wrapped."""
    page = _Page(max(width, _LEAST) if width else 0)
    page.text("Usage: yume-shim [options] [prompt]\n       yume-shim SUB-COMMAND [options]\n\n")
    page.paragraph(INTRO)
    page.text("\nExamples:\n")
    for example, what in EXAMPLES:
        page.row(example, what, _COLUMN + 2)
    page.text("\nSub-commands (each has --help):\n")
    for name, text in SUBCOMMAND_HELP.items():
        page.row(name, text)
    for title, flags in grouped():
        page.text(f"\n{title}:\n")
        for flag in flags:
            page.row(flag.usage, meaning(flag))
    for title, status in (("Accepted, without effect", "accepted"), ("Not available in a headless program", "refused")):
        names = ", ".join(flag.names[0] for flag in FLAGS if flag.status == status)
        page.text("\n")
        page.paragraph(f"{title}: {names}")
    return "".join(page.lines)


def terminal_width() -> int:
    """Columns of the terminal on stdout; 0 if it is none."""
    try:
        return os.get_terminal_size(1).columns
    except OSError:
        return 0


class _Page:
    def __init__(self, width: int) -> None:
        self.lines: list[str] = []
        self._width = width

    def text(self, text: str) -> None:
        """As it is."""
        self.lines.append(text)

    def paragraph(self, text: str) -> None:
        """Lines of their own."""
        self.lines += [f"{line}\n" for line in (_wrapped(text, self._width) if self._width else (text,))]

    def row(self, name: str, text: str, column: int = _COLUMN) -> None:
        """A name, and what it means beside it, or below it if it is long."""
        if not self._width:
            self.lines.append(f"  {name:<{column}} {text}\n")
            return
        beside = _wrapped(text, self._width - _NARROW_COLUMN - 3)
        first = [name] if len(name) > _NARROW_COLUMN else [f"{name:<{_NARROW_COLUMN}} {beside.pop(0)}"]
        self.lines += [f"  {line}\n" for line in (*first, *(f"{'':<{_NARROW_COLUMN}} {line}" for line in beside))]


def _wrapped(text: str, width: int) -> list[str]:
    from textwrap import wrap

    return wrap(text, width, break_on_hyphens=False)


def grouped() -> Iterator[tuple[str, list[Flag]]]:
    """(title, flags that do something) in the order of the table."""
    starts = {first: title for title, first in GROUPS}
    title = ""
    flags: list[Flag] = []
    for flag in FLAGS:
        if flag.key in starts:
            if flags:
                yield title, flags
            title, flags = starts[flag.key], []
        if flag.status == "honoured":
            flags.append(flag)
    yield title, flags


def meaning(flag: Flag) -> str:
    """What the flag does, with its choices."""
    return f"{flag.help} ({', '.join(flag.choices)})" if flag.choices else flag.help
