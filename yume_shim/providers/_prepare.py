"""A request made ready for its endpoint: what it cannot take is replaced before it is encoded, each time said once."""

from __future__ import annotations

from yume_shim.providers._repair import Learned
from yume_shim.types.blocks import Document, Image, ToolResult
from yume_shim.types.events import Notice
from yume_shim.types.value import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from yume_shim.types.blocks import Message
    from yume_shim.types.errors import Failure
    from yume_shim.types.models import Request, WireRequest

    Log = Callable[[str, str], None]


@value
class Ready:
    """What is encoded, what must be told, and whether calls come as text."""

    request: Request
    notices: tuple[Notice, ...] = ()
    text_calls: bool = False


class Preparer:
    """One per provider: remembers what it was taught by refusals and what it has told already."""

    def __init__(self, log: Log) -> None:
        self._learned = Learned()
        self._log = log
        self._told: set[str] = set()

    def prepare(self, request: Request) -> Ready:
        """The request as this endpoint takes it."""
        notices: list[Notice] = []
        request = self._learned.apply(request)
        if any(map(_has_media, request.messages)):
            from yume_shim.providers._media import fit_media

            request, said = fit_media(request)
            notices.extend(said)
        by_text = False
        if not request.native_tools:
            from yume_shim.providers._text_tools import speak_tools

            by_text = bool(request.tools) and request.tool_choice != "none"
            request, said = speak_tools(request)
            notices.extend(said)
        return Ready(request, tuple(self._new(notices)), by_text)

    def edit(self, wire: WireRequest) -> WireRequest:
        """The encoded request without what the endpoint refused by name."""
        return self._learned.edit(wire)

    def learn(self, request: Request, failure: Failure) -> str | None:
        """What is done differently from now on because of this refusal; None if nothing can be."""
        return self._learned.learn(request, failure)

    def _new(self, notices: Iterable[Notice]) -> Iterable[Notice]:
        """Each warning is given once in a session."""
        for notice in notices:
            if notice.text not in self._told:
                self._told.add(notice.text)
                yield notice


def _has_media(message: Message) -> bool:
    return any(
        isinstance(block, Image | Document) or (isinstance(block, ToolResult) and not isinstance(block.content, str))
        for block in message.blocks
    )
