"""The body of a refusal, within the limits of the direct transport: an SDK reads all of it, whatever its size."""

from __future__ import annotations

import time

from yume_shim.net.inflate import inflater
from yume_shim.net.message import MAX_INFLATED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MAX_ERROR_BODY = 262_144
BODY_S = 10.0
"""How long the body of a refusal may take."""


def shorten(response: Any) -> None:
    """Have the SDK read the beginning of the body, without its content coding, as UTF-8: google's client fails at other
    bytes."""
    import httpx2

    source, coding = response.stream, coding_of(response.headers)

    class Beginning(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            yield _beginning(source, coding).decode("utf-8", "replace").encode()

        def close(self) -> None:
            source.close()

    response.stream = Beginning()
    response.headers = httpx2.Headers(
        [(name, text) for name, text in response.headers.multi_items() if name.lower() != "content-encoding"]
    )


def _beginning(source: Any, coding: str) -> bytes:
    """What has arrived when the body breaks off or cannot be unpacked: the status says what happened, the body only
    words it."""
    held, until = bytearray(), time.monotonic() + BODY_S
    try:
        for piece in uncoded(coding, source):
            held += piece
            if len(held) >= MAX_ERROR_BODY or time.monotonic() > until:
                break
    except Exception:  # whatever httpx2 raises; the SDK is about to raise the status
        pass
    return bytes(held[:MAX_ERROR_BODY])


def coding_of(headers: Any) -> str:
    """The content coding that the headers name."""
    return str(headers.get("content-encoding", "")).lower().strip()


def uncoded(coding: str, pieces: Any) -> Iterator[bytes]:
    """A body without its content coding, undone by the same rules and limits as on the direct transport."""
    if coding in ("", "identity"):
        return iter(pieces)
    return map(inflater(coding, MAX_INFLATED), filter(None, pieces))
