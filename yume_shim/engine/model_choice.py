"""Which model a conversation uses next, and which ones take over when it fails.

Threads: the host changes the model on the stdin reader's thread while a turn runs on the session's. The lock guards the
current model and the reference to the fallback chain. Only the loop's thread takes names from the chain itself;
`choose` replaces the list and never changes it.
"""

from __future__ import annotations

import threading

from yume_shim.types.errors import BadInvocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.engine.services import EngineServices
    from yume_shim.types.models import ModelSpec
    from yume_shim.types.ports import Cancel


class ModelChoice:
    """The current model and its fallback chain. Each fallback is used up when it takes over."""

    def __init__(
        self,
        services: EngineServices,
        spec: ModelSpec,
        fallback: Callable[[str], ModelSpec] | None = None,
        chain: tuple[str, ...] | None = None,
    ) -> None:
        """`chain`: the names of the models that take over; None = those of the settings."""
        self._services, self.fallback, self._own_chain = services, fallback, chain
        self._lock = threading.Lock()
        self._spec = spec
        self._chain = self._names()
        self._chosen = 0
        """How often the host has chosen."""

    def current(self) -> ModelSpec:
        """The model of the next turn."""
        with self._lock:
            return self._spec

    def choose(self, spec: ModelSpec) -> None:
        """Switch to the model that the host chose; the whole fallback chain is available again."""
        with self._lock:
            self._spec, self._chain = spec, self._names()
            self._chosen += 1

    def lend(self, spec: ModelSpec) -> Callable[[], None]:
        """Use a model for one turn; the returned function ends that, unless the host has chosen another meanwhile."""
        with self._lock:
            before, chosen, self._spec = self._spec, self._chosen, spec

        def give_back() -> None:
            with self._lock:
                if self._chosen == chosen:
                    self._spec = before

        return give_back

    def refined(self, cancel: Cancel) -> ModelSpec:
        """The current model with the limits that its endpoint reports."""
        spec = self.current()
        known = self._services.refine(spec, cancel)
        self.take_over(spec, known)
        return known

    def take_over(self, before: ModelSpec, spec: ModelSpec) -> None:
        """`spec` replaces `before`, unless the host has chosen another model meanwhile."""
        with self._lock:
            if self._spec is before:
                self._spec = spec

    def has_fallback(self, now: ModelSpec) -> bool:
        """Is there another model that can be resolved?"""
        return self._next(now, use=False) is not None

    def next_fallback(self, now: ModelSpec) -> ModelSpec | None:
        """Take the next model from the chain that is another one and can be resolved; None if there is none."""
        return self._next(now, use=True)

    def _names(self) -> list[str]:
        if self._own_chain is not None:
            return list(self._own_chain)
        return self._services.settings.model.fallback.replace(",", " ").split()

    def _next(self, now: ModelSpec, *, use: bool) -> ModelSpec | None:
        """Skips names that cannot be resolved or mean `now`. Resolving may look for keys and take a while, so it is
        done outside the lock."""
        with self._lock:
            chain = self._chain
        while chain and self.fallback is not None:
            try:
                spec = self.fallback(chain[0])
            except BadInvocation as error:
                self._services.log("warning", f"fallback model {chain[0]}: {error.message}")
            else:
                if (spec.origin, spec.endpoint.base_url) != (now.origin, now.endpoint.base_url):
                    if use:
                        chain.pop(0)
                    return spec
            chain.pop(0)
        return None
