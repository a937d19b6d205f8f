"""Keeps the adaptations to one endpoint: the current ones, and those from before the current request.

A refused request is changed and sent again, several times if need be. If it is refused in the end all the same, the
changes made for it are undone. `refusal_rules` says which refusal asks for which change, `refusal_actions` makes it,
`adaptations` applies it to later requests; all three are loaded by the first refusal.
"""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.providers.fitting.adaptations import Adaptations
    from yume_shim.types.blocks import Json
    from yume_shim.types.errors import Failure
    from yume_shim.types.events import Notice
    from yume_shim.types.models import Request, WireRequest

MAX_ADAPTATIONS = 6
"""How often one request is changed because it was refused."""
REFUSALS = frozenset(("bad_request", "not_found", "context_length", "server"))
"""Kinds of failure that may be a refusal: proxies report one as any of these."""


class _Refused(threading.local):
    """The request that this thread sent last, and what its refusals have changed."""

    body: Json = {}  # noqa: RUF012  # replaced, never changed
    request: Request | None = None
    previous: Adaptations | None = None
    """The adaptations before the request was first refused."""
    latest: Adaptations | None = None
    """The adaptations after its last refusal."""
    changes = 0


class EndpointAdaptation:
    """The adaptations of one provider. They last as long as it does.

    Loops that run side by side share it: each thread has its own current request, the lock guards the adaptations.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._current: Adaptations | None = None
        """None until a refusal changes something: nearly every session."""
        self._refused = _Refused()

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What the user should know about the adaptations."""
        current = self._current
        return current.notices if current else ()

    def apply(self, request: Request) -> Request:
        """The request with all adaptations except those of the encoded body."""
        current = self._current
        return current.apply(request) if current else request

    def edit(self, wire: WireRequest) -> WireRequest:
        """The encoded request without the parameters that were refused."""
        current = self._current
        if current:
            wire = current.edit(wire)
        self._refused.body = wire.body
        return wire

    def adapt(self, request: Request, failure: Failure) -> str | None:
        """Change what is sent because of this refusal. Returns the change in a few words for the log, or None if the
        refusal asks for nothing new."""
        if (failure.kind not in REFUSALS and failure.limits is None) or failure.nudge:
            return None  # a nudge: the model's own output was refused
        refused = self._refused
        if request is not refused.request:
            refused.request, refused.previous, refused.changes = request, self._current, 0
        if refused.changes >= MAX_ADAPTATIONS:
            return None
        from yume_shim.providers.fitting.adaptations import Adaptations
        from yume_shim.providers.fitting.refusal_actions import adapt
        from yume_shim.providers.wire.history_memo import plain_body

        with self._lock:
            changed = adapt(self._current or Adaptations(), request, failure, plain_body(refused.body))
            if changed is None:
                return None
            self._current = refused.latest = changed.adaptations
        refused.changes += 1
        return changed.summary

    def undo(self, failure: Failure) -> bool:
        """Drop the changes made for the current request, because it was refused in the end: the refusals named
        something else than the cause, or quoted the conversation. False if there is nothing to undo, or if this
        failure has another cause. Changes that a request of another thread has built on stay."""
        refused = self._refused
        if not refused.changes or failure.retryable or failure.kind == "context_length":
            return False
        with self._lock:
            if self._current is refused.latest:
                self._current = refused.previous
        refused.request, refused.changes = None, 0
        return True
