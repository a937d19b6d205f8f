"""The hooks of a session: those of the settings and those that the host registers. Loads nothing before the first."""

from __future__ import annotations

import threading

from yume_shim.types.errors import BadLine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from yume_shim.extensions.hooks.runner import HookServices
    from yume_shim.types.blocks import Json
    from yume_shim.types.ports import Hooks
    from yume_shim.types.settings import HookSettings


class LazyHooks:
    """`register` runs on the stdin reader's thread, `get` and `add_sources` on those of loops and calls. The hooks are
    replaced as a whole; the lock makes sure that none of two changes is lost."""

    def __init__(self, settings: HookSettings, services: Callable[[], HookServices]) -> None:
        self._services = services
        self._sources, self._lock = settings.sources, threading.Lock()
        self._host_table: Json | None = None
        self._host_problem = ""
        """Why the host's hooks cannot be read: all calls are refused until it sends others."""
        self._made: HookServices | None = None
        """Made once: it knows the processes of hooks that still run."""
        self._hooks: Hooks | None = None
        if settings.sources:
            self._load()

    def get(self) -> Hooks | None:
        """The hooks; None if there are none."""
        return self._hooks

    def register(self, table: Any) -> None:
        """Add the hooks of `initialize`; those of an earlier one are replaced. Raises BadLine if the table cannot be
        read: a guard must not be off in silence."""
        if table is None:
            return
        from yume_shim.extensions.hooks.reading import host_problem

        problem = host_problem(table)
        if problem or table:
            with self._lock:
                self._host_problem, self._host_table = problem, None if problem else table
                self._load()
        if problem:
            raise BadLine(problem, code="invalid_value")

    def add_sources(self, sources: tuple[tuple[str, Mapping[str, Any]], ...]) -> None:
        """Add hooks of settings files that were held back."""
        if sources:
            with self._lock:
                self._sources += sources
                self._load()

    def with_own(self, table: Mapping[str, Any], agent_type: str) -> Hooks:
        """The hooks as they are now, and those of an agent's definition. The end of an agent is `Stop` for them."""
        own = {"SubagentStop" if event == "Stop" else event: groups for event, groups in table.items()}
        with self._lock:
            return self._made_hooks(((f"agent {agent_type}", own),))

    def _load(self) -> None:
        self._hooks = self._made_hooks()

    def _made_hooks(self, more: tuple[tuple[str, Mapping[str, Any]], ...] = ()) -> Hooks:
        from yume_shim.extensions.hooks.event_table import why_not_fired
        from yume_shim.extensions.hooks.reading import hooks_of_host, hooks_of_settings
        from yume_shim.extensions.hooks.runner import HookRunner
        from yume_shim.extensions.hooks.session_hooks import SessionHooks
        from yume_shim.extensions.hooks.specs import MAX_HOOKS, Hook
        from yume_shim.types.value import replace

        services = self._made = self._made or self._services()
        found = [hook for name, data in (*self._sources, *more) for hook in hooks_of_settings(data, name)]
        found += hooks_of_host(self._host_table) if self._host_table is not None else ()
        if self._host_problem:
            found.append(Hook("PreToolUse", source="host", problem=f"the hooks of the host: {self._host_problem}"))
        # a guard that is one too many must not be off in silence: it refuses what it matches
        found[MAX_HOOKS:] = [replace(hook, problem=f"more than {MAX_HOOKS} hooks") for hook in found[MAX_HOOKS:]]
        for hook in found:
            if why := why_not_fired(hook.event):
                services.log("warning", f"hooks of the event {hook.event!r} are not run: {why}")
            elif hook.problem:
                services.log("warning", f"a {hook.event} hook is not run: {hook.problem}")
        return SessionHooks(HookRunner(found, services))
