"""Images and documents as their endpoint takes them: formats, sizes, or words in their place."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.events import Notice
    from yume_shim.types.models import Request


def fit_media(request: Request) -> tuple[Request, tuple[Notice, ...]]:
    """The request with media that the endpoint takes, and what has to be told about it."""
    return request, ()
