"""One import at a time, whatever the thread and the way to import.

Many modules are imported late, inside the function that needs them: on the main thread, the stdin reader's thread, a
tool's thread. Python gives every module a lock of its own. When two threads import modules that import each other, it
detects the deadlock and hands one thread a half-initialised module (`NameError: name 'sys' is not defined`, deep in the
standard library; seen about once in a hundred starts). A lock around all imports prevents that.

The lock is taken inside the module locks' own `acquire`, just before the module lock, because every way to load a
module ends there: the `import` statement, `__import__`, `importlib.import_module`, `importlib.reload`, lazy submodules
of `from package import name`. So the order is always ours first, then the module's, and two threads cannot wait for
each other. A lock around `builtins.__import__` alone does not give that order: `import_module` does not call it.

Importing a module that is already loaded takes no module lock and therefore not this one.
"""

from __future__ import annotations

import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST_WAIT_S = 10.0
"""A thread that waited this long for the lock continues without it, under Python's own rules. A module whose body waits
for another thread that imports would hang otherwise."""


def one_at_a_time() -> None:
    """Install the lock; call it before the first thread that may import starts. Further calls do nothing."""
    module_lock: Any = getattr(sys.modules.get("_frozen_importlib"), "_ModuleLock", None)
    if module_lock is None or getattr(module_lock.acquire, "one_at_a_time", False):
        return  # already installed, or a Python with another import system
    lock: Any = threading.RLock()
    plain_acquire, plain_release = module_lock.acquire, module_lock.release

    def acquire(self: Any) -> Any:
        ours = lock.acquire(timeout=LONGEST_WAIT_S)
        try:
            return plain_acquire(self)
        except BaseException:
            if ours:
                lock.release()
            raise

    def release(self: Any) -> None:
        plain_release(self)
        if lock._is_owned():  # not if this import began before the lock was installed, or continued without it
            lock.release()

    acquire.one_at_a_time = True  # type: ignore[attr-defined]  # marks the lock as installed
    module_lock.acquire, module_lock.release = acquire, release
