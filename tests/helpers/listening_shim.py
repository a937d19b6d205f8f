"""The program with a listener: `python listening_shim.py order ARGS…` or `… modules PATH ARGS…`.

`order` stops the program when an event comes out of order. `modules` writes to PATH which modules were loaded when the
first event was sent, when the first connection was opened, and at the first delta. `until MOMENT ARGS…` ends the
program there, or at the first event of that name.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.host.event_output import Listener
    from yume_shim.types.events import Tagged


def order_checked() -> tuple[str, ...]:
    """The command that starts the program with a check of the order of events."""
    return (sys.executable, __file__, "order")


def modules_reported(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """The command that starts the program with a report of the loaded modules."""
    return (sys.executable, __file__, "modules", str(path))


def ended_at(moment: str) -> tuple[str, ...]:
    """The command that starts the program and ends it at the first event, the first delta or an event of this name."""
    return (sys.executable, __file__, "until", moment)


def order_listener() -> Listener:
    """Fails at an event that comes out of order, for the form that the command line names."""
    from yume_shim.cli.argv import parse
    from yume_shim.config.tool_settings import CLAUDE_CONCURRENCY
    from yume_shim.dialects.order import OrderCheck

    return OrderCheck(1 if parse(sys.argv[1:]).is_flat() else CLAUDE_CONCURRENCY).feed


def _modules(path: str) -> Listener:
    seen: set[str] = set()

    def note(moment: str) -> None:
        if moment not in seen:
            seen.add(moment)
            with open(path, "a", encoding="utf-8") as file:
                file.write(f"{moment} {' '.join(sorted(sys.modules))}\n")

    sys.addaudithook(lambda name, _: note("request") if name == "socket.connect" else None)
    return lambda tagged: note(_moment(tagged))


def _until(moment: str) -> Listener:
    def listen(tagged: Tagged) -> None:
        if moment in (_moment(tagged), type(tagged.event).__name__):
            os._exit(0)

    return listen


def _moment(tagged: Tagged) -> str:
    return "delta" if type(tagged.event).__name__ == "BlockDelta" else "first"


KINDS = {"modules": _modules, "until": _until}

if __name__ == "__main__":
    if not sys.flags.safe_path:
        sys.path.pop(0)  # the folder of this file: its modules must not hide others
    kind = sys.argv.pop(1)
    listener = order_listener() if kind == "order" else KINDS[kind](sys.argv.pop(1))
    from yume_shim.cli.main import entry

    entry([listener])
