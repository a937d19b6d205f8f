"""The hooks of a session: those of the settings and those that the host registers. Loads nothing before the first."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.extensions.hooks.runner import HookServices
    from yume_shim.types.blocks import Json
    from yume_shim.types.ports import Hooks
    from yume_shim.types.settings import HookSettings


class LazyHooks:
    """`register` runs on the stdin reader's thread, `get` on those of loops and calls; the hooks are replaced as a
    whole."""

    def __init__(self, settings: HookSettings, services: Callable[[], HookServices]) -> None:
        self._settings, self._services = settings, services
        self._hooks: Hooks | None = None
        if settings.sources:
            self._load(None)

    def get(self) -> Hooks | None:
        """The hooks; None if there are none."""
        return self._hooks

    def register(self, table: Json) -> None:
        """Add the hooks of `initialize`; those of an earlier one are replaced."""
        if table:
            self._load(table)

    def _load(self, table: Json | None) -> None:
        from yume_shim.extensions.hooks.runner import HookRunner
        from yume_shim.extensions.hooks.session_hooks import SessionHooks
        from yume_shim.extensions.hooks.specs import EVENTS, MAX_HOOKS, hooks_of_host, hooks_of_settings

        services = self._services()
        found = [hook for name, data in self._settings.sources for hook in hooks_of_settings(data, name)]
        found += hooks_of_host(table) if table is not None else ()
        for hook in found:
            if hook.event not in EVENTS:
                services.log("warning", f"hooks of the event {hook.event!r} are not run: there is no such event here")
            elif hook.problem:
                services.log("warning", f"a {hook.event} hook is not run: {hook.problem}")
        self._hooks = SessionHooks(HookRunner(found[:MAX_HOOKS], services))
