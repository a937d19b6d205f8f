"""Tools for models that have none: a text protocol in the prompt, with calls and results of the past told in it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.events import Notice
    from yume_shim.types.models import Request


def speak_tools(request: Request) -> tuple[Request, tuple[Notice, ...]]:
    """The request without native tools, calls and results, and the warning that says so."""
    return request, ()
