"""argv -> the hot path, or a sub-command for people. `--version` is answered before anything heavy is imported."""

from __future__ import annotations

import os
import sys

from yume_shim import CLAUDE_VERSION, __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from yume_shim.host.event_output import Listener


def entry(listeners: Sequence[Listener] = ()) -> None:
    """The console script. Programs that embed this one may pass `listeners`, which receive every event."""
    _hold_stdin()
    code = main(sys.argv[1:], listeners)
    # Everything was written with os.write and every part was closed: skipping the interpreter's own tear-down saves
    # each turn of a spawning host several milliseconds, and daemon threads cannot complain while it happens.
    os._exit(code)


def main(argv: Sequence[str], listeners: Sequence[Listener] = ()) -> int:
    """Run one command line; returns the exit code."""
    if list(argv) in (["--version"], ["-v"]):
        return _say(f"{CLAUDE_VERSION} (yume_shim {__version__})\n")
    from yume_shim.cli.flags import SUBCOMMANDS

    if argv and argv[0] in SUBCOMMANDS:
        from yume_shim.cli.commands import run_command

        return run_command(argv)
    from yume_shim.cli.claude_subcommands import CLAUDE_WORDS, answer_word

    if argv and argv[0] in CLAUDE_WORDS:
        return answer_word(argv, _say)
    from yume_shim.cli.argv import parse

    parsed = parse(argv)
    if "version" in parsed.values:
        return _say(f"{CLAUDE_VERSION} (yume_shim {__version__})\n")
    if "help" in parsed.values:
        from yume_shim.cli.help import help_text

        return _say(help_text())
    from yume_shim.app.start import run

    return run(parsed.values, parsed.words, parsed.errors, flat=parsed.is_flat(), env=os.environ, listeners=listeners)


def _hold_stdin() -> None:
    """A closed stdin is an empty one: without this the next file or pipe we open would get its number and be read."""
    try:
        os.fstat(0)
    except OSError:
        os.open(os.devnull, os.O_RDONLY)


def _say(text: str) -> int:
    from yume_shim.host.writer import STDOUT, LineWriter

    LineWriter(STDOUT, 0, wide_escapes=False).write_text(text)
    return 0
