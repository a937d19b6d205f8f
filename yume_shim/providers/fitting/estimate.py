"""How many tokens a request has, roughly."""

from __future__ import annotations

from yume_shim.text import codec
from yume_shim.types.token_estimate import GrowingSize, by_characters, size_of_frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.models import Request

_SIZES = GrowingSize(others=False)


def estimate(request: Request) -> int:
    """Tokens of what is sent. Blocks that only another API understands are not sent, and not counted."""
    frame = size_of_frame(request.system, request.tools, by_characters, codec.dumps)
    return frame + _SIZES.of(request.messages, codec.dumps)
