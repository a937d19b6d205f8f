"""`--help`, made from the flag table."""

from __future__ import annotations

from yume_shim.cli.flags import FLAGS, GROUPS, SUBCOMMAND_HELP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from yume_shim.cli.flags import Flag

INTRO = (
    "Implements the Claude CLI's interface for any model. Without options it reads JSON lines from stdin and writes\n"
    "the flat dialect; with -p, a prompt or a Claude --output-format it behaves like the Claude CLI."
)
EXAMPLES = (
    ('yume-shim -p "Explain this error" < build.log', "one prompt, the answer as text"),
    ("yume-shim --model openai/gpt-5.4", "a host writes JSON lines, one per prompt"),
    ("yume-shim init", "choose a provider and store its key"),
    ("yume-shim doctor", "what is missing, and what to do"),
)
_WIDTH = 44


def help_text() -> str:
    """The whole help."""
    lines = ["Usage: yume-shim [options] [prompt]\n", "       yume-shim SUB-COMMAND [options]\n\n", INTRO, "\n"]
    lines.append("\nExamples:\n")
    lines += [f"  {example:<{_WIDTH + 2}} {meaning}\n" for example, meaning in EXAMPLES]
    lines.append("\nSub-commands (each has --help):\n")
    lines += [f"  {name:<{_WIDTH}} {text}\n" for name, text in SUBCOMMAND_HELP.items()]
    for title, flags in grouped():
        lines.append(f"\n{title}:\n")
        lines += [f"  {flag.usage:<{_WIDTH}} {meaning(flag)}\n" for flag in flags]
    accepted = ", ".join(flag.names[0] for flag in FLAGS if flag.status == "accepted")
    refused = ", ".join(flag.names[0] for flag in FLAGS if flag.status == "refused")
    lines.append(f"\nAccepted, without effect: {accepted}\n")
    lines.append(f"\nNot available in a headless program: {refused}\n")
    return "".join(lines)


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
