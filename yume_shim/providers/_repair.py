"""What a refusal teaches: a request that was wrong in a way the endpoint named is put right and sent again, once each."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.errors import Failure
    from yume_shim.types.models import Request, WireRequest


class Learned:
    """Everything learned from refusals; kept for the life of the provider."""

    def apply(self, request: Request) -> Request:
        """The request with what was learned about histories, tools and declarations."""
        return request

    def edit(self, wire: WireRequest) -> WireRequest:
        """The encoded request without parameters that were refused by name."""
        return wire

    def learn(self, request: Request, failure: Failure) -> str | None:
        """What to do differently, as a few words for the log; None if this refusal teaches nothing (new)."""
        return None
