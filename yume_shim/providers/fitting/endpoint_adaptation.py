"""Keeps the adaptations to one endpoint: the current ones, and those from before the current request.

A refused request is changed and sent again, several times if need be. If it is refused in the end all the same, the
changes made for it are undone. `refusal_rules` says which refusal asks for which change, `refusal_actions` makes it,
`adaptations` applies it to later requests; all three are loaded by the first refusal.
"""

from __future__ import annotations

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


class EndpointAdaptation:
    """The adaptations of one provider. They last as long as it does."""

    def __init__(self) -> None:
        self._current: Adaptations | None = None
        """None until a refusal changes something: nearly every session."""
        self._previous: Adaptations | None = None
        """What `_current` was before the current request was first refused."""
        self._request: Request | None = None
        """The current request: the one that was refused last."""
        self._changes = 0
        """How many adaptations the current request has caused."""
        self._body: Json = {}
        """The body that was sent last."""

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What the user should know about the adaptations."""
        return self._current.notices if self._current else ()

    def apply(self, request: Request) -> Request:
        """The request with all adaptations except those of the encoded body."""
        return self._current.apply(request) if self._current else request

    def edit(self, wire: WireRequest) -> WireRequest:
        """The encoded request without the parameters that were refused."""
        if self._current:
            wire = self._current.edit(wire)
        self._body = wire.body
        return wire

    def adapt(self, request: Request, failure: Failure) -> str | None:
        """Change what is sent because of this refusal. Returns the change in a few words for the log, or None if the
        refusal asks for nothing new."""
        if failure.kind not in REFUSALS or failure.nudge:  # a nudge: the model's own output was refused
            return None
        if request is not self._request:
            self._request, self._previous, self._changes = request, self._current, 0
        if self._changes >= MAX_ADAPTATIONS:
            return None
        from yume_shim.providers.fitting.adaptations import Adaptations
        from yume_shim.providers.fitting.refusal_actions import adapt

        changed = adapt(self._current or Adaptations(), request, failure, self._body)
        if changed is None:
            return None
        self._current = changed.adaptations
        self._changes += 1
        return changed.summary

    def undo(self, failure: Failure) -> bool:
        """Drop the changes made for the current request, because it was refused in the end: the refusals named
        something else than the cause, or quoted the conversation. False if there is nothing to undo, or if this
        failure has another cause."""
        if not self._changes or failure.retryable or failure.kind == "context_length":
            return False
        self._current = self._previous
        self._request, self._changes = None, 0
        return True
