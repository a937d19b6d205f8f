"""How many tokens a request has, roughly."""

from __future__ import annotations

from yume_shim.text import codec
from yume_shim.types.blocks import Other
from yume_shim.types.token_estimate import by_characters, size_of_block, size_of_frame, without_stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.models import Request


def estimate(request: Request) -> int:
    """Tokens of what is sent. Blocks that only another API understands are not sent, and not counted."""
    total = size_of_frame(request.system, request.tools, by_characters, codec.dumps)
    stored, messages = without_stored(request.messages)
    for message in messages:
        for block in message.blocks:
            if not isinstance(block, Other):
                total += size_of_block(block, by_characters, codec.dumps)
    return total + stored
