"""One import at a time, in whichever thread.

Much is imported late, where its job comes up, and that may be on the main thread, the reader's, a tool's. When two
threads import modules that import each other, Python breaks the deadlock by handing one of them a half-made module
(`NameError: name 'sys' is not defined`, deep in the standard library; seen once in some hundred starts). A lock around
every import keeps that from happening.
"""

from __future__ import annotations

import builtins
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def one_at_a_time() -> None:
    """Install the lock; to be called before the first thread that may import. Again is harmless."""
    plain = builtins.__import__
    if getattr(plain, "one_at_a_time", False):
        return
    lock = threading.RLock()

    def guarded(*args: Any, **kwargs: Any) -> Any:
        with lock:
            return plain(*args, **kwargs)

    guarded.one_at_a_time = True  # type: ignore[attr-defined]  # a mark, for the second call
    builtins.__import__ = guarded
