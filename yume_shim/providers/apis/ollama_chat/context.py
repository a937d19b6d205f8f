"""The context size that a request asks for, and whether its answer shows that the server truncated the request.

Ollama reserves memory for `num_ctx` tokens when it loads a model, and loads it again when a request asks for another
size; a longer request silently loses its oldest messages. So every request names the size, and the same one as long as
possible: the endpoint's usual size, doubled only when a request needs more and the model is known to take it. (A pure
function cannot remember that an earlier request was larger; doubling keeps such changes rare.)
"""

from __future__ import annotations

from yume_shim.providers.fitting.estimate import estimate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.models import Request

USUAL_SIZE = 32_768
"""`num_ctx` if the endpoint's row has none. The server's own default is 4,096 below 24 GiB of video memory."""
CUT_FACTOR = 1.25
"""An estimate proves a truncation only if it exceeds the context by this factor: estimates of English are too high."""


def context_size(request: Request) -> int:
    """`num_ctx` for a request."""
    spec = request.model
    usual = spec.endpoint.quirks.context_size or USUAL_SIZE
    largest = spec.window if spec.known else min(spec.window, usual)
    size = min(usual, largest)
    needed = estimate(request) + request.max_tokens
    while size < needed and size < largest:
        size = min(size * 2, largest)
    return size


def was_cut(request: Request, counted: int) -> bool:
    """Did the server drop the beginning of the conversation? `counted` is `prompt_eval_count`, counted after the
    truncation: it is the whole context, or far less than was sent (seen: 16,386 of some 50,000 tokens at 32,768)."""
    if counted <= 0:
        return False
    size = context_size(request)
    if counted >= size - 1:
        return True
    sent = estimate(request)
    return sent > size * CUT_FACTOR and counted * CUT_FACTOR < sent
