"""Content codings: gzip and deflate. We ask for neither, but some servers and proxies apply them all the same."""

from __future__ import annotations

import zlib

from yume_shim.net.errors import ProtocolError, TooLarge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def inflater(coding: str, limit: int) -> Callable[[bytes], bytes]:
    """A function that inflates a body piece by piece: flushed blocks come out at once, never more than `limit` bytes
    per piece. `coding` is in lower case."""
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise ProtocolError(f"content coding {coding!r} was not asked for")
    state: list[Any] = [] if coding == "deflate" else [zlib.decompressobj(31)]

    def inflate(data: bytes) -> bytes:
        if not state:  # "deflate" is zlib by the standard, raw deflate in some servers; the first byte decides
            state.append(zlib.decompressobj(15 if data[0] & 0x0F == 8 else -15))
        try:
            content: bytes = state[0].decompress(data, limit)
        except zlib.error:
            raise ProtocolError("the answer's compression is broken") from None
        if state[0].unconsumed_tail:
            raise TooLarge("the answer unpacks to more than is accepted")
        return content

    return inflate
