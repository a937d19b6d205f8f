"""The program on a disk that does not answer: `python dead_disk_shim.py NAME ARGS…`.

Opening a file with NAME in its path never returns, as on a network file system whose server is gone. No thread that
waits in it can be stopped. The folder `stuck` in HOME appears when the first one waits.
"""

from __future__ import annotations

import builtins
import os
import sys
import time
from typing import Any

FOR_EVER = 600.0
"""Longer than any test."""


def command(name: str) -> tuple[str, ...]:
    """The command that starts the program."""
    return (sys.executable, __file__, name)


def _stuck(real: Any, name: str) -> Any:
    def opened(path: Any, *given: Any, **named: Any) -> Any:
        if isinstance(path, (str, os.PathLike)) and name in os.path.basename(os.fspath(path)):
            os.makedirs(os.path.join(os.environ["HOME"], "stuck"), exist_ok=True)
            time.sleep(FOR_EVER)
        return real(path, *given, **named)

    return opened


if __name__ == "__main__":
    sys.path.pop(0)  # the folder of this file: its modules must not hide others
    wanted = sys.argv.pop(1)
    os.open = _stuck(os.open, wanted)
    builtins.open = _stuck(builtins.open, wanted)
    from yume_shim.cli.main import entry

    entry()
