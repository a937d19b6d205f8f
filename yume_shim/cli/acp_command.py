"""`yume-shim acp [flags]`: serves editors that speak the Agent Client Protocol over stdio."""

from __future__ import annotations

import os

from yume_shim.cli.argv import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from yume_shim.host.event_output import Listener

REFUSED = 2
NOT_HERE = (
    "print",
    "output-format",
    "input-format",
    "resume",
    "continue",
    "fork-session",
    "resume-session-at",
    "session-id",
    "json-schema",
)
"""Flags that decide what the client decides here."""
HELP = """Usage: yume-shim acp [flags]

Speaks the Agent Client Protocol on stdin and stdout, for editors. The flags of `yume-shim --help` hold for every
session, except those that the editor decides: {not_here}.
"""


def run_acp(argv: Sequence[str], say: Callable[[str], int], listeners: Sequence[Listener] = ()) -> int:
    """Serve one client; returns the exit code. `listeners` receive every event of every session."""
    parsed = parse(argv)
    if "help" in parsed.values:
        return say(HELP.format(not_here=", ".join(f"--{name}" for name in NOT_HERE)))
    errors = list(parsed.errors)
    errors += [f"error: acp takes no argument '{word}'" for word in parsed.words]
    taken = [name for name in NOT_HERE if name in parsed.values]
    errors += [f"error: --{name} cannot be used with acp: the client decides" for name in taken]
    if errors:
        os.write(2, f"{errors[0]}\n".encode("utf-8", "replace"))
        return REFUSED
    from yume_shim.app.acp.server import run

    return run(parsed.values, os.environ, listeners)
