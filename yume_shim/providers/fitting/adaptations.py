"""Adaptations: what is sent differently because an endpoint refused it before. A frozen value; `refusal_actions` makes
new ones."""

from __future__ import annotations

from types import MappingProxyType

from yume_shim.providers.fitting.body_edits import has_path, without_path
from yume_shim.providers.fitting.history_edits import (
    chain_lacks_reasoning,
    fingerprint,
    has_private_data,
    without_media,
    without_reasoning,
)
from yume_shim.types.blocks import NOTHING
from yume_shim.types.effort import nearest_effort
from yume_shim.types.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from yume_shim.types.blocks import Block, Message
    from yume_shim.types.events import Notice
    from yume_shim.types.models import Request, WireRequest

    BodyPath = tuple[str, ...]

MAX_STRIPS = 2
"""An endpoint that refuses its own reasoning more often than this never gets any back."""


class Adaptations(Value):
    """Everything that is sent differently."""

    quirks: Mapping[str, Any] = NOTHING
    """Quirks that replace those of the endpoint."""
    tried_quirks: frozenset[tuple[str, Any]] = frozenset()
    """Names and values of quirks that were in use when a request was refused, or replaced such a one: none is set
    again."""
    tried_declarations: frozenset[str] = frozenset()
    """Forms of function declarations that were refused (`Quirks.declarations`)."""
    efforts: tuple[str, ...] = ()
    """The effort levels that the endpoint accepts; () = as the catalogue says."""
    omitted: tuple[BodyPath, ...] = ()
    """Parameters that are left out of the body, by their path."""
    stripped: frozenset[int] = frozenset()
    """Fingerprints of reasoning and echo data that is not sent back."""
    strips: int = 0
    """How often reasoning was refused."""
    thinking_postponed: bool = False
    """No thinking is requested while the chain of calls at the end lacks its reasoning."""
    omitted_media: Mapping[int, int] = MappingProxyType({})
    """Images and documents that made a request too large: how many of each fingerprint, counted from the oldest. One
    that appears again later is not among them."""
    sent_without_tools: Request | None = None
    """The one request (by identity) that is sent without tools."""
    max_output: int = 0
    """The longest answer that the endpoint allows; 0 = no limit was named."""
    affordable: int = 0
    """The longest answer that the account can pay for; 0 = no limit was named."""
    fitted: tuple[Request, int] | None = None
    """The one request (by identity) whose answer must fit beside its prompt, and the tokens that are left for it."""
    notices: tuple[Notice, ...] = ()
    """What the user should know."""

    def longest_answer(self, request: Request) -> int:
        """The `max_tokens` of this request (as the engine made it) within all limits."""
        limits = [self.max_output, self.affordable]
        if self.fitted is not None and self.fitted[0] is request:
            limits.append(self.fitted[1])
        return min([request.max_tokens, *filter(None, limits)])

    def apply(self, request: Request) -> Request:
        """The request with changed quirks, tools, effort, thinking, length of the answer and history."""
        longest, without_tools = self.longest_answer(request), request is self.sent_without_tools
        if longest < request.max_tokens:
            request = replace(request, max_tokens=longest)
        if without_tools:
            request = replace(request, tools=(), tool_choice="auto")
        if self.quirks or self.efforts:
            endpoint = request.model.endpoint
            endpoint = replace(endpoint, quirks=replace(endpoint.quirks, **self.quirks))
            model = replace(request.model, endpoint=endpoint, efforts=self.efforts or request.model.efforts)
            request = replace(request, model=model)
        if self.efforts and request.effort and request.effort not in self.efforts:
            request = replace(request, effort=nearest_effort(request.effort, self.efforts))
        if self.stripped:
            request = replace(request, messages=self.strip(request.messages))
        if self.thinking_postponed and chain_lacks_reasoning(request.messages):
            request = replace(request, thinking="disabled", thinking_budget=None)
        if self.omitted_media:
            request = replace(request, messages=without_media(request.messages, self.omitted_media))
        return request

    def edit(self, wire: WireRequest) -> WireRequest:
        """The encoded request without the parameters that were refused by name."""
        for path in self.omitted:
            if has_path(wire.body, path):
                wire = replace(wire, body=without_path(wire.body, path))
        return wire

    def quirk(self, request: Request, name: str) -> Any:
        """The value of a quirk as it is in use for this request."""
        return self.quirks.get(name, getattr(request.model.endpoint.quirks, name))

    def strip(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """The messages without the reasoning and echo data that is not sent back."""
        return without_reasoning(messages, self.is_stripped)

    def is_stripped(self, block: Block) -> bool:
        """Is the reasoning or echo data of this block left out?"""
        return has_private_data(block) and (self.strips > MAX_STRIPS or fingerprint(block) in self.stripped)
