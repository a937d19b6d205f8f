"""`--deadline` of `yume-shim acp`: the whole process, with all its sessions, ends after that time."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from yume_shim.app.acp.params import Values

REFUSED = 2
LEAST_S = 0.001


class ServerDeadline:
    """Counts from `start` on. `problem` says why the value cannot be used; "" = it can."""

    def __init__(self, values: Values, env: Mapping[str, str]) -> None:
        from yume_shim.app.script_ends import Deadline
        from yume_shim.host.log import Log

        flag = values.get("deadline")
        raw = str(flag) if flag else env.get("YUME_DEADLINE", "")
        try:
            seconds = float(raw)
        except ValueError:
            seconds = float("nan")
        self.problem = ""
        if not LEAST_S <= seconds < float("inf"):
            source = "--deadline" if flag else "$YUME_DEADLINE"
            self.problem = f"{source} must be a number of at least {LEAST_S:g}, not '{raw}'"
        self._detailed = values.get("exit-codes") == "detailed"
        self._deadline = Deadline(seconds, Log("-", env.get("YUME_LOG", "warning")))

    def refuse(self) -> int:
        """Say what is wrong; returns the exit code."""
        os.write(2, f"{self.problem}\n".encode("utf-8", "replace"))
        return REFUSED

    def start(self, expire: Callable[[], None]) -> None:
        """Begin to count; `expire` is called on a thread of its own."""
        self._deadline.start(expire)

    @property
    def exit_code(self) -> int:
        """The code of a process that no signal has ended."""
        self._deadline.cancel()
        if not self._deadline.over:
            return 0
        from yume_shim.types.exit_codes import CODES

        return CODES["limit"] if self._detailed else 1
