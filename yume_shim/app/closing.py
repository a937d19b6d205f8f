"""Closes the parts of a program in order, within a time limit: one that hangs does not keep the process."""

from __future__ import annotations

from yume_shim.engine.cancel import CancelSignal
from yume_shim.types.errors import Abandoned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    class Part(Protocol):
        """What is closed at the end."""

        def close(self) -> None: ...


CLOSE_S = 10.0
"""How long all parts may take together. (After a signal the process ends sooner: `host/signals.py`.)"""


def close_parts(log: Callable[[str, str], None], *parts: Part, seconds: float = CLOSE_S) -> None:
    """Close them in this order. A failure keeps no other part from being closed."""
    ending = CancelSignal(grace_s=seconds)
    ending.set()
    closed: list[str] = []

    def close() -> None:
        for part in parts:
            try:
                part.close()
            except Exception as error:
                log("error", f"closing {type(part).__name__} failed: {type(error).__name__}: {error}")
            closed.append(type(part).__name__)

    try:
        ending.job(close, "closing").result()
    except Abandoned:
        log("warning", f"{type(parts[len(closed)]).__name__} did not close within {seconds:g} s and was abandoned")
