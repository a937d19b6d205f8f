"""`yume-shim schema` prints the schemas and types of the protocol; `yume-shim check-stream` checks a piped stream."""

from __future__ import annotations

import os
import sys

import click

from yume_shim.dialects.schema_check import FOLDER
from yume_shim.dialects.stream_check import DIALECTS, INPUT_LINE_BYTES, StreamCheck
from yume_shim.text.codec import dumps, loads
from yume_shim.types.errors import BadInvocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

TYPES = "protocol.d.ts"
ENDING = ".schema.json"
MAX_PROBLEMS = 100
"""Lines with problems that are shown."""
SCHEMA_HELP = "Print the JSON Schemas of the protocol: all of them by name, or one."
CHECK_HELP = (
    "Check the lines that are piped in: fields, order, sizes, one result per turn. Prints the number of each wrong "
    "line and the reasons; the exit code is 1 if there is one."
)


def add_protocol(group: click.Group, say: Callable[[str], None]) -> None:
    """Add the commands to the group of all sub-commands."""
    names = [name.removesuffix(ENDING) for name in sorted(os.listdir(FOLDER)) if name.endswith(ENDING)]

    def schema(name: str, typescript: bool) -> None:
        if typescript:
            say(_read(TYPES).decode())
        elif name:
            say(_read(name + ENDING).decode())
        else:
            say(dumps({each: loads(_read(each + ENDING)) for each in names}).decode() + "\n")

    def check_stream(dialect: str | None, strict: bool, max_line_bytes: int) -> None:
        if sys.stdin.isatty():
            raise BadInvocation("check-stream reads lines from a pipe: yume-shim … | yume-shim check-stream")
        if not _check(StreamCheck(dialect or "", strict=strict, max_line=max_line_bytes), sys.stdin.buffer, say):
            raise click.exceptions.Exit(1)

    params: list[click.Parameter] = [
        click.Argument(["name"], required=False, default="", type=click.Choice(["", *names])),
        click.Option(["--typescript"], is_flag=True, help="Print the TypeScript types instead."),
    ]
    group.add_command(click.Command("schema", callback=schema, params=params, help=SCHEMA_HELP, short_help=SCHEMA_HELP))
    params = [
        click.Option(
            ["--dialect"], type=click.Choice(DIALECTS), default=None, help="What the lines are (default: by the first)."
        ),
        click.Option(["--strict"], is_flag=True, help="Unknown fields and lines are wrong, too."),
        click.Option(["--max-line-bytes"], type=int, default=0, help="Size limit of a line (default: the dialect's)."),
    ]
    short = "Check a stream of lines that is piped in."
    group.add_command(
        click.Command("check-stream", callback=check_stream, params=params, help=CHECK_HELP, short_help=short)
    )


def _read(name: str) -> bytes:
    with open(os.path.join(FOLDER, name), "rb") as file:
        return file.read()


def _check(check: StreamCheck, stream: BinaryIO, say: Callable[[str], None]) -> bool:
    """Whether all lines are right. Says what is wrong as it reads."""
    wrong = 0
    for raw in _lines(stream):
        problems = check.feed(raw) if raw else [f"longer than {INPUT_LINE_BYTES >> 20} MiB: not read"]
        if problems:
            wrong += 1
            if wrong <= MAX_PROBLEMS:
                say(f"line {check.lines}: {'; '.join(problems)}\n")
    missing = check.end()
    say("".join(f"end: {problem}\n" for problem in missing))
    total = f"{check.lines} lines, {check.results} results"
    say(f"{total}: {wrong + len(missing)} problems\n" if wrong or missing else f"{total}: valid\n")
    return not wrong and not missing


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """The lines; b"" for one that is too long to be read."""
    while raw := stream.readline(INPUT_LINE_BYTES + 1):
        if len(raw) > INPUT_LINE_BYTES and not raw.endswith(b"\n"):
            while raw and not raw.endswith(b"\n"):
                raw = stream.readline(INPUT_LINE_BYTES)
            yield b""
        else:
            yield raw
