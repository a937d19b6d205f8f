"""Faults of a connection that is kept for the next request or lost at the end, and of a stream or refusal that goes on:
each sends an answer its way.

A sender gets the frames of the answer; it returns True if the connection stays open.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tests.helpers.scripted_model import api_of

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from tests.helpers.fake_server import Exchange

    Sender = Callable[[Exchange, list[bytes], random.Random], bool]

OTHERS_END = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
"""What some servers send on a connection that they have kept for too long."""
KEEP_ALIVES = {
    "anthropic-messages": b'event: ping\ndata: {"type": "ping"}\n\n',
    "ollama-chat": b"\n",
}
"""What an API sends between its frames; the others send a comment."""
KEEP_ALIVE_PAUSE = 0.02
REFUSAL_PIECE = 65_536
PACED = 0.6
"""Seconds in which a paced answer is sent."""


def _head(*more: str) -> bytes:
    return "\r\n".join(["HTTP/1.1 200 OK", "Content-Type: text/event-stream", *more, "", ""]).encode()


def _kept(exchange: Exchange, pieces: list[bytes], _: random.Random) -> bool:
    """The whole answer; the next request comes over the same connection."""
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces if piece)
    exchange.send(_head("Transfer-Encoding: chunked") + chunks + b"0\r\n\r\n")
    return True


def _kept_then_closed(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    """A connection that is said to be kept, and is closed."""
    _kept(exchange, pieces, chance)
    return False


def _kept_then_ended(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    """A response that nobody asked for lies on the kept connection."""
    _kept(exchange, pieces, chance)
    exchange.send(OTHERS_END)
    return False


def _kept_then_noise(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    """So does something that is no HTTP."""
    _kept(exchange, pieces, chance)
    exchange.send(chance.randbytes(64))
    return True


def _keep_alives(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    """The keep-alives of the API, until the client hangs up."""
    exchange.send(_head("Connection: close") + b"".join(pieces[: chance.randrange(len(pieces))]))
    beat = KEEP_ALIVES.get(api_of(exchange.request.path), b": keep-alive\n\n")
    while True:
        exchange.send(beat)
        time.sleep(KEEP_ALIVE_PAUSE)


def _paced(exchange: Exchange, pieces: list[bytes], _: random.Random) -> bool:
    """Frame by frame, as a model writes."""
    exchange.send(_head("Connection: close"))
    for piece in pieces:
        exchange.send(piece)
        time.sleep(PACED / len(pieces))
    return False


def _lost_at_end(exchange: Exchange, pieces: list[bytes], _: random.Random) -> bool:
    """The whole answer, and the end of the connection where the last chunk should be."""
    whole = b"".join(pieces)
    exchange.send(_head("Transfer-Encoding: chunked") + b"%x\r\n%s\r\n" % (len(whole), whole))
    return False


def _endless_refusal(exchange: Exchange, _: list[bytes], __: random.Random) -> bool:
    """A refusal whose body goes on until the client hangs up, and is no text."""
    exchange.send(b"HTTP/1.1 500 Internal Server Error\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n")
    while True:
        exchange.send(b"\xff" * REFUSAL_PIECE)


def _redirect_to_none(exchange: Exchange, _: list[bytes], __: random.Random) -> bool:
    """A redirect to what is no address."""
    exchange.reply(307, {"Location": "javascript:alert(1)"})
    return True


CONNECTION_FAULTS: dict[str, Sender] = {
    "kept": _kept,
    "kept-then-closed": _kept_then_closed,
    "kept-then-ended": _kept_then_ended,
    "kept-then-noise": _kept_then_noise,
    "keep-alives": _keep_alives,
    "paced": _paced,
    "lost-at-end": _lost_at_end,
    "endless-refusal": _endless_refusal,
    "redirect-to-none": _redirect_to_none,
}
"""Name → how the answer is sent."""
