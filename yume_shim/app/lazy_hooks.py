"""The hooks of a session: those of the settings and those that the host registers. Loads nothing before the first."""

from __future__ import annotations

import threading

from yume_shim.types.calls import AfterCall, BeforeCall, PromptVerdict, StopVerdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from yume_shim.extensions.hooks.runner import HookServices
    from yume_shim.types.blocks import Json
    from yume_shim.types.calls import PreparedCall
    from yume_shim.types.outputs import Decision, ToolOutput
    from yume_shim.types.ports import Cancel, Hooks
    from yume_shim.types.settings import HookSettings


class LazyHooks:
    """Implements `types.ports.Hooks`; without hooks every answer changes nothing. `register` runs on the stdin reader's
    thread, the rest on those of loops and calls. The lock makes sure that none of two changes is lost."""

    def __init__(self, settings: HookSettings, services: Callable[[], HookServices]) -> None:
        self._services = services
        self._sources, self._lock = settings.sources, threading.Lock()
        self._host_table: Json | None = None
        self._hooks: Hooks | None = None
        if settings.sources:
            self._load()

    def register(self, table: Json) -> None:
        """Add the hooks of `initialize`; those of an earlier one are replaced."""
        if table:
            with self._lock:
                self._host_table = table
                self._load()

    def add_sources(self, sources: tuple[tuple[str, Mapping[str, Any]], ...]) -> None:
        """Add hooks of settings files that were held back."""
        if sources:
            with self._lock:
                self._sources += sources
                self._load()

    def _load(self) -> None:
        from yume_shim.extensions.hooks.runner import HookRunner
        from yume_shim.extensions.hooks.session_hooks import SessionHooks
        from yume_shim.extensions.hooks.specs import EVENTS, MAX_HOOKS, hooks_of_host, hooks_of_settings

        services = self._services()
        found = [hook for name, data in self._sources for hook in hooks_of_settings(data, name)]
        found += hooks_of_host(self._host_table) if self._host_table is not None else ()
        for hook in found:
            if hook.event not in EVENTS:
                services.log("warning", f"hooks of the event {hook.event!r} are not run: there is no such event here")
            elif hook.problem:
                services.log("warning", f"a {hook.event} hook is not run: {hook.problem}")
        self._hooks = SessionHooks(HookRunner(found[:MAX_HOOKS], services))

    # ------------------------------------------------------------ Hooks

    def before(self, prepared: PreparedCall, cancel: Cancel) -> BeforeCall:
        return BeforeCall() if self._hooks is None else self._hooks.before(prepared, cancel)

    def after(self, prepared: PreparedCall, output: ToolOutput, cancel: Cancel) -> AfterCall:
        return AfterCall(output) if self._hooks is None else self._hooks.after(prepared, output, cancel)

    def permission(self, prepared: PreparedCall, decision: Decision, cancel: Cancel) -> Decision | None:
        return None if self._hooks is None else self._hooks.permission(prepared, decision, cancel)

    def session_started(self, source: str, cancel: Cancel) -> tuple[str, ...]:
        return () if self._hooks is None else self._hooks.session_started(source, cancel)

    def prompt(self, text: str, cancel: Cancel) -> PromptVerdict:
        return PromptVerdict() if self._hooks is None else self._hooks.prompt(text, cancel)

    def stopping(self, text: str, cancel: Cancel, *, active: bool) -> StopVerdict:
        return StopVerdict() if self._hooks is None else self._hooks.stopping(text, cancel, active=active)

    def compacting(self, trigger: str, instructions: str, cancel: Cancel) -> str | None:
        return None if self._hooks is None else self._hooks.compacting(trigger, instructions, cancel)

    def compacted(self, trigger: str, summary: str, cancel: Cancel) -> tuple[str, ...]:
        return () if self._hooks is None else self._hooks.compacted(trigger, summary, cancel)

    def turn_ended(self) -> None:
        if self._hooks is not None:
            self._hooks.turn_ended()

    def session_ended(self, reason: str, cancel: Cancel) -> None:
        if self._hooks is not None:
            self._hooks.session_ended(reason, cancel)
