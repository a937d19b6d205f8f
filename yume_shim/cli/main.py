"""Runs a command line: the hot path, or a sub-command. `--version` is answered before any heavy import."""

from __future__ import annotations

import gc
import os
import sys

from yume_shim import CLAUDE_VERSION, __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Sequence

    from yume_shim.host.event_output import Listener
else:
    import _signal  # `signal` is a layer of enums over it, for which every start would pay

INTERRUPTED = 130
COMPLETION = "_YUME_SHIM_COMPLETE"
"""Set by the completion script of a shell, as click names it."""


def entry(listeners: Sequence[Listener] = ()) -> None:
    """The console script. Programs that embed this one may pass `listeners`, which receive every event."""
    try:
        _end_quietly_on_interrupt()
    except KeyboardInterrupt:  # it came just before
        _end_at_once(2, None)
    _hold_stdin()
    from yume_shim.host.own_modules import find_own_modules

    find_own_modules()
    if os.name == "nt":  # whoever starts a program, also a vendor's SDK: not one of the current folder
        os.environ.setdefault("NoDefaultCurrentDirectoryInExePath", "1")
    code = main(sys.argv[1:], listeners)
    # All output was written with os.write and everything is closed. Skipping the interpreter's shutdown saves several
    # milliseconds per process, and daemon threads cannot fail during it.
    end_now(code)


def end_now(code: int) -> None:
    """End the process with this code; after Ctrl-C in a sub-command, by the signal."""
    if code == INTERRUPTED and attended():
        _end_at_once(2, None)
    os._exit(code)


def main(argv: Sequence[str], listeners: Sequence[Listener] = ()) -> int:
    """Run one command line; returns the exit code."""
    if list(argv) in (["--version"], ["-v"]):
        return _say(f"{CLAUDE_VERSION} (yume_shim {__version__})\n")
    if COMPLETION in os.environ:  # a shell asks what may follow
        from yume_shim.cli.commands import run_command
        from yume_shim.cli.completion import mend_completion

        mend_completion()
        return run_command(argv)
    if argv and argv[0] == "acp":
        from yume_shim.cli.acp_command import run_acp

        return run_acp(argv[1:], _say, listeners)
    from yume_shim.host.own_modules import load_ready, load_words

    load_words()
    from yume_shim.cli.flags import CLAUDE_SUBCOMMANDS, SUBCOMMANDS

    if argv and argv[0] in SUBCOMMANDS:
        try:
            from yume_shim.cli.commands import run_command

            return run_command(argv)
        except ModuleNotFoundError as error:
            return _missing(error)
    if argv and argv[0] in CLAUDE_SUBCOMMANDS:
        from yume_shim.cli.claude_subcommands import run_claude_subcommand

        return run_claude_subcommand(argv, _say)
    gc.disable()  # a start makes no garbage; the session enables it again
    from yume_shim.cli.argv import parse

    parsed = parse(argv)
    if argv and parsed.words[:1] == (argv[0],) and not {"print", "input-format"} & parsed.values.keys():
        from yume_shim.cli.lone_word import answer_words

        code = answer_words(parsed.words, _say)
        if code is not None:
            return code
    if "version" in parsed.values:
        return _say(f"{CLAUDE_VERSION} (yume_shim {__version__})\n")
    if "help" in parsed.values:
        from yume_shim.cli.help import help_text, terminal_width

        return _say(help_text(terminal_width()))
    load_ready("flat" if parsed.is_flat() else str(parsed.values.get("output-format", "text")))
    from yume_shim.app.start import run

    return run(parsed.values, parsed.words, parsed.errors, flat=parsed.is_flat(), env=os.environ, listeners=listeners)


def _end_quietly_on_interrupt() -> None:
    """Until the program's own handlers are installed an interrupt ends the process without a traceback. Nothing has
    been read or printed by then."""
    if _signal.getsignal(_signal.SIGINT) != _signal.SIG_IGN:
        _signal.signal(_signal.SIGINT, _end_at_once)


def _end_at_once(number: int, _frame: object) -> None:
    if attended():  # a shell's loop stops only if the signal itself ends the program (host/signals.py)
        import signal

        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
    os._exit(INTERRUPTED)


def attended() -> bool:
    """Has a person at a terminal asked for one answer, or started a sub-command? Otherwise the program is a host's."""
    words = sys.argv[1:]
    command = bool(words) and not words[0].startswith("-") and words[0] != "acp"
    one_answer = any(word.startswith(("-p", "--print")) for word in words) and "--input-format" not in words
    return (command or one_answer) and os.name != "nt" and any(os.isatty(fd) for fd in (0, 2))


def _hold_stdin() -> None:
    """Treat a closed stdin as empty: otherwise the next file we open would get descriptor 0 and be read as stdin."""
    try:
        os.fstat(0)
    except OSError:
        os.open(os.devnull, os.O_RDONLY)


def _missing(error: ModuleNotFoundError) -> int:
    """A lean install may lack click, without which there is no sub-command, and what a single one needs."""
    from yume_shim.types.packages import missing_package

    message = missing_package(error)
    if message is None:
        raise error
    sys.stderr.write(f"Error: {message}\n")
    return 2


def _say(text: str) -> int:
    from yume_shim.host.writer import print_text

    return print_text(text)
