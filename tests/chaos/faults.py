"""Faults of an answer: in the connection, in HTTP, in its coding, in the frames, or at one place inside the content.

Each takes the answer as a list of frames in the form of its API, and sends it its own way.
"""

from __future__ import annotations

import gzip
import json
import socket
import struct
import time
import zlib
from functools import cache
from typing import TYPE_CHECKING

from tests.chaos.connection_faults import CONNECTION_FAULTS
from tests.chaos.vendor_answers import VendorAnswer
from tests.helpers.fake_server import frame_bytes
from tests.helpers.scripted_model import call, cut, hold, say, think
from tests.helpers.wire_writers import Call, Say, Think

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from tests.helpers.fake_server import Exchange
    from tests.helpers.scripted_model import Answer
    from yume_shim.types.blocks import Json

    Sender = Callable[[Exchange, list[bytes], random.Random], bool]

GIANT = 3_000_000
"""Characters of an oversized frame that is accepted."""
OVER_CAP = 34_000_000
"""Of one that is larger than any that is accepted."""
BOMB = 36_000_000
MANY_HEADERS = 20_000
COMMENT_PAUSE = 0.02
INTERIM = 40
PIECE = 37
PAUSE = 0.002
STREAM = "text/event-stream"


def _head(kind: str = STREAM, *more: str, status: str = "200 OK") -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", f"Content-Type: {kind}", "Connection: close", *more, "", ""]).encode()


# ---------------------------------------------------------------- slow, cut, silent


def _none(exchange: Exchange, pieces: list[bytes], _: random.Random) -> bool:
    exchange.send(_head() + b"".join(pieces))
    return False


def _late(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    time.sleep(chance.uniform(0.05, 0.3))
    return _none(exchange, pieces, chance)


def _trickle(exchange: Exchange, pieces: list[bytes], _: random.Random) -> bool:
    exchange.send(_head())
    whole = b"".join(pieces)
    for place in range(0, len(whole), PIECE):
        exchange.send(whole[place : place + PIECE])
        time.sleep(PAUSE)
    return False


def _trickled_head(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    for byte in _head():
        exchange.send(bytes((byte,)))
    exchange.send(b"".join(pieces))
    return False


def _cut_body(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    return cut_at(exchange, pieces, chance.randrange(sum(map(len, pieces))))


def cut_at(exchange: Exchange, pieces: list[bytes], place: int) -> bool:
    """The first bytes of the answer, and the end of the connection."""
    exchange.send(_head(STREAM, "Transfer-Encoding: chunked"))
    part = b"".join(pieces)[:place]
    exchange.send(b"%x\r\n%s\r\n" % (len(part), part) if part else b"")
    return False


def _cut_head(exchange: Exchange, _: list[bytes], chance: random.Random) -> bool:
    head = _head()
    exchange.send(head[: chance.randrange(1, len(head) - 2)])
    return False


def _reset(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    whole = b"".join(pieces)
    exchange.send(_head(STREAM, f"Content-Length: {len(whole)}") + whole[: chance.randrange(len(whole))])
    exchange.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False


def _half_closed(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    """The server has closed its way out and goes on listening."""
    whole = b"".join(pieces)
    exchange.send(_head(STREAM, f"Content-Length: {len(whole)}") + whole[: chance.randrange(len(whole))])
    exchange.sock.shutdown(socket.SHUT_WR)
    exchange.wait_for_close()
    return False


def _deaf(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    """The server has closed its way in, and answers all the same."""
    exchange.sock.shutdown(socket.SHUT_RD)
    return _none(exchange, pieces, chance)


def _silent(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    exchange.send(_head() + b"".join(pieces[: chance.randrange(len(pieces))]))
    exchange.wait_for_close()
    return False


def _no_answer(exchange: Exchange, _: list[bytes], __: random.Random) -> bool:
    exchange.wait_for_close()
    return False


def _no_head(_: Exchange, __: list[bytes], ___: random.Random) -> bool:
    return False


def _comments(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    """Comments until the client has had enough."""
    exchange.send(_head() + b"".join(pieces[: chance.randrange(len(pieces))]))
    while True:
        exchange.send(b": keep-alive\n\n")
        time.sleep(COMMENT_PAUSE)


# ---------------------------------------------------------------- not what was asked for


def _garbage(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    whole = bytearray(b"".join(pieces))
    place = chance.randrange(len(whole))
    whole[place:place] = chance.randbytes(chance.randrange(1, 400))
    exchange.send(_head() + bytes(whole))
    return False


def _only_garbage(exchange: Exchange, _: list[bytes], chance: random.Random) -> bool:
    exchange.send(_head() + b"\xff" + chance.randbytes(4_000))
    return False


def _not_http(exchange: Exchange, _: list[bytes], chance: random.Random) -> bool:
    exchange.send(chance.randbytes(500) + b"\r\n\r\n")
    return False


def _web_page(exchange: Exchange, _: list[bytes], __: random.Random) -> bool:
    exchange.send(_head("text/html") + b"<html><body>Please sign in</body></html>")
    return False


def _wrong_type(exchange: Exchange, pieces: list[bytes], _: random.Random) -> bool:
    """The right body under a wrong name."""
    exchange.send(_head("application/pdf") + b"".join(pieces))
    return False


def _empty(exchange: Exchange, _: list[bytes], __: random.Random) -> bool:
    exchange.reply(200, {"Content-Type": STREAM})
    return True


def _no_content(exchange: Exchange, _: list[bytes], __: random.Random) -> bool:
    exchange.send(b"HTTP/1.1 204 No Content\r\n\r\n")
    return True


def _wrong_json(exchange: Exchange, _: list[bytes], __: random.Random) -> bool:
    exchange.reply(200, {"Content-Type": "application/json"}, b'{"status":"ok","items":[1,2]}')
    return True


# ---------------------------------------------------------------- heads, lengths, redirects


def _endless_headers(exchange: Exchange, _: list[bytes], __: random.Random) -> bool:
    exchange.send(b"HTTP/1.1 200 OK\r\n")
    for number in range(MANY_HEADERS):
        exchange.send(b"X-More-%d: %s\r\n" % (number, b"x" * 100))
    return False


def _endless_header(exchange: Exchange, _: list[bytes], __: random.Random) -> bool:
    exchange.send(b"HTTP/1.1 200 OK\r\nX-Long: ")
    for _number in range(2_000):
        exchange.send(b"x" * 1_000)
    return False


def _interim(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    kinds = (b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
    exchange.send(chance.choice(kinds) * chance.randrange(1, 4))
    return _none(exchange, pieces, chance)


def _endless_interim(exchange: Exchange, _: list[bytes], __: random.Random) -> bool:
    for _number in range(INTERIM):
        exchange.send(b"HTTP/1.1 100 Continue\r\n\r\n")
    exchange.wait_for_close()
    return False


def _switched(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    exchange.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n")
    return _none(exchange, pieces, chance)


def _redirect(exchange: Exchange, _: list[bytes], __: random.Random) -> bool:
    exchange.reply(302, {"Location": "http://127.0.0.1:9/elsewhere"})
    return True


def _redirect_loop(exchange: Exchange, _: list[bytes], __: random.Random) -> bool:
    exchange.reply(307, {"Location": exchange.request.path})
    return True


def _redirect_nowhere(exchange: Exchange, _: list[bytes], __: random.Random) -> bool:
    exchange.reply(308, {"Location": "http://127.0.0.1:9/elsewhere"})
    return True


def _redirect_no_place(exchange: Exchange, _: list[bytes], __: random.Random) -> bool:
    exchange.reply(307, {})
    return True


def _short_length(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    whole = b"".join(pieces)
    exchange.send(_head(STREAM, f"Content-Length: {len(whole) - chance.randrange(1, len(whole) // 2)}") + whole)
    return False


def _long_length(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    whole = b"".join(pieces)
    exchange.send(_head(STREAM, f"Content-Length: {len(whole) + chance.randrange(1, 900)}") + whole)
    return False


def _bad_chunks(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    whole = b"".join(pieces)
    part = whole[: chance.randrange(1, len(whole))]
    exchange.send(_head(STREAM, "Transfer-Encoding: chunked") + b"%x\r\n%s\r\nZZ\r\n" % (len(part), part))
    return False


# ---------------------------------------------------------------- sizes and codings


def _giant_frame(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    giant = b"data: " + b'{"x":"' + b"y" * GIANT + b'"}\n\n'
    if pieces[0].startswith(b"{"):
        giant = b'{"x":"' + b"y" * GIANT + b'"}\n'
    place = chance.randrange(len(pieces))
    exchange.send(_head() + b"".join([*pieces[:place], giant, *pieces[place:]]))
    return False


def _over_cap(exchange: Exchange, pieces: list[bytes], _: random.Random) -> bool:
    """A frame without an end."""
    exchange.send(_head() + pieces[0] + (b'{"x":"' if pieces[0].startswith(b"{") else b'data: {"x":"'))
    block = b"y" * 1_000_000
    for _number in range(OVER_CAP // len(block)):
        exchange.send(block)
    return False


def _coded(name: str, packed: bytes) -> bytes:
    return _head(STREAM, f"Content-Encoding: {name}", f"Content-Length: {len(packed)}") + packed


def _gzip(exchange: Exchange, pieces: list[bytes], _: random.Random) -> bool:
    exchange.send(_coded("gzip", gzip.compress(b"".join(pieces), 1)))
    return False


def _deflate(exchange: Exchange, pieces: list[bytes], _: random.Random) -> bool:
    exchange.send(_coded("deflate", zlib.compress(b"".join(pieces))))
    return False


def _raw_deflate(exchange: Exchange, pieces: list[bytes], _: random.Random) -> bool:
    packer = zlib.compressobj(wbits=-15)
    exchange.send(_coded("deflate", packer.compress(b"".join(pieces)) + packer.flush()))
    return False


def _brotli(exchange: Exchange, pieces: list[bytes], _: random.Random) -> bool:
    """Nobody asked for it. (Brotli of stored blocks: a valid stream of an empty text.)"""
    exchange.send(_coded("br", b"\x06"))
    return False


def _unknown_coding(exchange: Exchange, pieces: list[bytes], _: random.Random) -> bool:
    exchange.send(_coded("x-packed", b"".join(pieces)))
    return False


def _broken_gzip(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    packed = bytearray(gzip.compress(b"".join(pieces), 1))
    place = chance.randrange(12, len(packed) - 8)
    packed[place : place + 8] = bytes(255 - byte for byte in packed[place : place + 8])
    exchange.send(_coded("gzip", bytes(packed)))
    return False


def _cut_gzip(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    packed = gzip.compress(b"".join(pieces), 1)
    exchange.send(_coded("gzip", packed[: chance.randrange(11, len(packed) // 2)]))
    return False


def _bomb(exchange: Exchange, pieces: list[bytes], _: random.Random) -> bool:
    exchange.send(_coded("gzip", _packed_bomb()))
    return False


@cache
def _packed_bomb() -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    parts = [packer.compress(b"data: ")]
    block = b"y" * 1_000_000
    parts += [packer.compress(block) for _ in range(BOMB // len(block))]
    return b"".join([*parts, packer.flush()])


# ---------------------------------------------------------------- frames


def _doubled(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    place = chance.randrange(len(pieces))
    return _none(exchange, [*pieces[: place + 1], *pieces[place:]], chance)


def _swapped(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    place = chance.randrange(max(1, len(pieces) - 1))
    mixed = [*pieces[:place], *reversed(pieces[place : place + 2]), *pieces[place + 2 :]]
    return _none(exchange, mixed, chance)


def _shuffled(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    return _none(exchange, chance.sample(pieces, len(pieces)), chance)


def _missing(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    place = chance.randrange(len(pieces))
    return _none(exchange, [*pieces[:place], *pieces[place + 1 :]], chance)


def _twice(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    """The whole answer, and once more in the same body."""
    return _none(exchange, [*pieces, *pieces], chance)


def _no_end(exchange: Exchange, pieces: list[bytes], _: random.Random) -> bool:
    """Everything but the frames that end an answer, and a clean end of the body."""
    whole = b"".join(pieces[:1])
    exchange.reply(200, {"Content-Type": STREAM}, whole)
    return False


def _bad_json(exchange: Exchange, pieces: list[bytes], _: random.Random) -> bool:
    broken = b'{"broken": \n' if pieces[0].startswith(b"{") else b'data: {"broken": \n\n'
    return _none(exchange, [*pieces[:1], broken, *pieces[1:]], _)


def _refused_inside(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    """401 in mid-stream: the key was revoked."""
    error = {"type": "error", "error": {"type": "authentication_error", "message": "the key was revoked", "code": 401}}
    packed = json.dumps(error).encode()
    frame = packed + b"\n" if pieces[0].startswith(b"{") else b"event: error\ndata: " + packed + b"\n\n"
    return _none(exchange, [*pieces[: max(1, chance.randrange(len(pieces)))], frame], chance)


FAULTS: dict[str, Sender] = {
    "none": _none,
    "late": _late,
    "trickle": _trickle,
    "trickled-head": _trickled_head,
    "cut-body": _cut_body,
    "cut-head": _cut_head,
    "reset": _reset,
    "half-closed": _half_closed,
    "deaf": _deaf,
    "silent": _silent,
    "no-answer": _no_answer,
    "no-head": _no_head,
    "comments": _comments,
    "garbage": _garbage,
    "only-garbage": _only_garbage,
    "not-http": _not_http,
    "web-page": _web_page,
    "wrong-type": _wrong_type,
    "empty": _empty,
    "no-content": _no_content,
    "wrong-json": _wrong_json,
    "endless-headers": _endless_headers,
    "endless-header": _endless_header,
    "interim": _interim,
    "endless-interim": _endless_interim,
    "switched": _switched,
    "redirect": _redirect,
    "redirect-loop": _redirect_loop,
    "redirect-nowhere": _redirect_nowhere,
    "redirect-no-place": _redirect_no_place,
    "short-length": _short_length,
    "long-length": _long_length,
    "bad-chunks": _bad_chunks,
    "giant-frame": _giant_frame,
    "over-cap": _over_cap,
    "gzip": _gzip,
    "deflate": _deflate,
    "raw-deflate": _raw_deflate,
    "brotli": _brotli,
    "unknown-coding": _unknown_coding,
    "broken-gzip": _broken_gzip,
    "cut-gzip": _cut_gzip,
    "bomb": _bomb,
    "doubled": _doubled,
    "swapped": _swapped,
    "shuffled": _shuffled,
    "missing": _missing,
    "twice": _twice,
    "no-end": _no_end,
    "bad-json": _bad_json,
    "refused-inside": _refused_inside,
    **CONNECTION_FAULTS,
}
"""Name → how the answer is sent."""
STATUSES = ("400", "401", "429", "500", "529")
"""These are faults, too: the answer is a refusal with that status."""
_KINDS = {"text": Say, "thinking": Think, "call": Call}
_SAMPLES = {
    "text": say("Half of a text. "),
    "thinking": think("Half of a thought."),
    "call": call("Read", file_path="a"),
}
PLACES = tuple(f"{what}-{kind}" for what in ("cut-in", "silent-in", "cut-after") for kind in _KINDS)
"""The answer ends inside a block of that kind, falls silent there, or ends behind one."""
ALL_FAULTS = (*FAULTS, *STATUSES, *PLACES)


def ended_inside(answer: Answer | list[VendorAnswer], fault: str) -> Answer:
    """The answer up to the place that `fault` names, and the cut or silence there."""
    what, _, kind = fault.rpartition("-")
    steps: Answer = []
    for step in [each for each in answer if not isinstance(each, VendorAnswer)]:
        if isinstance(step, _KINDS[kind]):
            break
        steps.append(step)
    else:
        step = _SAMPLES[kind]
    steps.append(step)
    if what == "cut-after":  # the block is finished, the next one is not
        steps.append(say("And then"))
    return [*steps, hold() if what == "silent-in" else cut()]


def send_cues(exchange: Exchange, api: str, wire: list[Json]) -> bool:
    """An answer that ends in a cut or a silence, as one chunk."""
    body = b"".join(frame_bytes(api, frame) for frame in wire[:-1])
    exchange.send(_head(STREAM, "Transfer-Encoding: chunked") + (b"%x\r\n%s\r\n" % (len(body), body) if body else b""))
    if "!hold" in wire[-1]:
        exchange.wait_for_close()
    return False
