"""The text of docs/yume-shim.1: the flags, sub-commands, files and variables as a manual page, from the same tables as
`--help`. `scripts/doc_tables.py` writes it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    import click

EXIT_CODES = (
    ("0", "success"),
    ("1", "the last turn failed, or the output could not be written; doctor: something must be repaired"),
    ("2", "the program could not start, or the command line is wrong"),
    ("130, 143, 129", "ended by a signal"),
)
VARIABLES = (
    (
        "ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, …",
        "keys; yume-shim auth names the variables of each provider",
    ),
    ("YUME_PROVIDER, YUME_MODEL", "provider and model of a start that names none"),
    ("YUME_CONFIG", "the configuration file"),
    ("HTTPS_PROXY, NO_PROXY", "the way to endpoints"),
    ("NO_COLOR", "no colours on a terminal"),
)
FILES = (
    ("~/.yume/config.toml", "the configuration; yume-shim init writes one"),
    ("~/.claude/settings.json, .claude/settings.json, .claude/settings.local.json", "the Claude CLI's settings"),
    ("~/.claude/projects", "stored sessions"),
)


def manual() -> str:
    """The sections of the page, ready to stand between the two marks."""
    return "\n" + "\n".join(_lines()) + '\n.\\" '


def _lines() -> Iterator[str]:
    from yume_shim.cli.commands import command_group
    from yume_shim.cli.flags import SUBCOMMAND_HELP
    from yume_shim.cli.help import EXAMPLES, INTRO, grouped, meaning

    yield '.TH YUME\\-SHIM 1 "" yume_shim "User commands"'
    yield ".SH NAME"
    yield "yume\\-shim \\- any model behind the Claude CLI's interface"
    yield ".SH SYNOPSIS"
    yield ".B yume\\-shim"
    yield "[options] [prompt]"
    yield ".br"
    yield ".B yume\\-shim"
    yield "SUB\\-COMMAND [options]"
    yield ".SH DESCRIPTION"
    yield _plain(INTRO.replace("\n", " "))
    for title, flags in grouped():
        yield f".SH {_plain(title.upper())}"
        for flag in flags:
            yield from _entry(flag.usage, meaning(flag))
    yield ".SH SUB\\-COMMANDS"
    for name, text in SUBCOMMAND_HELP.items():
        yield from _entry(name, text)
        command = command_group().commands.get(name)
        for usage, told in _options(command):
            yield ".RS"
            yield from _entry(usage, told)
            yield ".RE"
    yield ".SH EXAMPLES"
    for example, text in EXAMPLES:
        yield from _entry(example, text)
    for heading, rows in (("EXIT STATUS", EXIT_CODES), ("ENVIRONMENT", VARIABLES), ("FILES", FILES)):
        yield f".SH {heading}"
        for name, text in rows:
            yield from _entry(name, text)


def _options(command: click.Command | None) -> Iterator[tuple[str, str]]:
    """(usage, help) of each option; those of deeper commands are in their own --help."""
    import click

    for param in command.params if command is not None else ():
        if isinstance(param, click.Option):
            value = "" if param.is_flag else f" <{(param.name or 'value').replace('_', '-')}>"
            yield ", ".join(param.opts) + value, param.help or ""


def _entry(name: str, text: str) -> Iterator[str]:
    yield ".TP"
    yield f".B {_plain(name)}"
    yield _plain(text)


def _plain(text: str) -> str:
    """Text in which nothing is a request."""
    safe = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{safe}" if safe.startswith((".", "'")) else safe
