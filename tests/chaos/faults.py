"""A server that answers as an API would, with one fault per answer: in the connection, in HTTP, or in the frames.

By hand: `python -m tests.chaos.faults cut-body` serves that fault until it is stopped.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import socket
import struct
import sys
import threading
import time
from typing import TYPE_CHECKING

from tests.helpers.fake_server import LoopbackServer, frame_bytes
from tests.helpers.scripted_model import SHOWN, api_of, refuse, say, wire_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.helpers.fake_server import Exchange
    from tests.helpers.scripted_model import Answer

GIANT = 3_000_000
"""Characters of an oversized frame."""
MANY_HEADERS = 20_000
COMMENTS = 400
PIECE = 37
PAUSE = 0.002


class FaultServer(LoopbackServer):
    """Plays `answers` in order, the answer number N with `faults[N]`; beyond both it says "Done." without a fault."""

    def __init__(self, answers: list[Answer], faults: list[str], seed: int) -> None:
        self._answers, self._faults = list(answers), list(faults)
        self._random = random.Random(seed)
        self._turn = threading.Lock()
        self._count = 0
        super().__init__(self._answer)

    def _answer(self, exchange: Exchange) -> bool:
        path = exchange.request.path
        if path.endswith("/api/show"):
            exchange.reply(200, {"Content-Type": "application/json"}, json.dumps(SHOWN).encode())
            return True
        api = api_of(path)
        if not api:
            exchange.reply(404, {"Content-Type": "application/json"}, b'{"error":{"message":"no such path"}}')
            return True
        with self._turn:
            self._count += 1
            fault = self._faults.pop(0) if self._faults else "none"
            refused = fault.isdigit()
            answer = [refuse(int(fault))] if refused else self._answers.pop(0) if self._answers else [say("Done.")]
            chance = random.Random(self._random.random())
            number = self._count
        frames = wire_of(api, answer, number)
        if refused:
            cue = frames[0]
            exchange.reply(cue["!status"], {"Content-Type": "application/json"}, json.dumps(cue["body"]).encode())
            return True
        pieces = [frame_bytes(api, frame) for frame in frames]
        return FAULTS[fault](exchange, pieces, chance)


def _head(kind: str = "text/event-stream", *more: str) -> bytes:
    return "\r\n".join(["HTTP/1.1 200 OK", f"Content-Type: {kind}", "Connection: close", *more, "", ""]).encode()


def _none(exchange: Exchange, pieces: list[bytes], _: random.Random) -> bool:
    exchange.send(_head() + b"".join(pieces))
    return False


def _late(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    time.sleep(chance.uniform(0.05, 0.4))
    return _none(exchange, pieces, chance)


def _trickle(exchange: Exchange, pieces: list[bytes], _: random.Random) -> bool:
    exchange.send(_head())
    whole = b"".join(pieces)
    for place in range(0, len(whole), PIECE):
        exchange.send(whole[place : place + PIECE])
        time.sleep(PAUSE)
    return False


def _cut_body(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    whole = b"".join(pieces)
    exchange.send(_head("text/event-stream", "Transfer-Encoding: chunked"))
    part = whole[: chance.randrange(len(whole))]
    exchange.send(b"%x\r\n%s\r\n" % (len(part), part) if part else b"")
    return False


def _reset(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    whole = b"".join(pieces)
    exchange.send(_head() + whole[: chance.randrange(len(whole))])
    exchange.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False


def _half_closed(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    whole = b"".join(pieces)
    exchange.send(_head("text/event-stream", f"Content-Length: {len(whole)}") + whole[: chance.randrange(len(whole))])
    exchange.sock.shutdown(socket.SHUT_WR)
    exchange.wait_for_close()
    return False


def _silent(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    exchange.send(_head() + b"".join(pieces[: chance.randrange(len(pieces))]))
    exchange.wait_for_close()
    return False


def _no_answer(exchange: Exchange, _: list[bytes], __: random.Random) -> bool:
    exchange.wait_for_close()
    return False


def _no_head(_: Exchange, __: list[bytes], ___: random.Random) -> bool:
    return False


def _garbage(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    whole = bytearray(b"".join(pieces))
    place = chance.randrange(len(whole))
    whole[place:place] = chance.randbytes(chance.randrange(1, 400))
    exchange.send(_head() + bytes(whole))
    return False


def _not_http(exchange: Exchange, _: list[bytes], chance: random.Random) -> bool:
    exchange.send(chance.randbytes(500))
    return False


def _wrong_type(exchange: Exchange, _: list[bytes], __: random.Random) -> bool:
    exchange.send(_head("text/html") + b"<html><body>Please sign in</body></html>")
    return False


def _endless_headers(exchange: Exchange, _: list[bytes], __: random.Random) -> bool:
    exchange.send(b"HTTP/1.1 200 OK\r\n")
    for number in range(MANY_HEADERS):
        exchange.send(b"X-More-%d: %s\r\n" % (number, b"x" * 100))
    return False


def _giant_frame(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    giant = b"data: " + b'{"x":"' + b"y" * GIANT + b'"}\n\n'
    place = chance.randrange(len(pieces))
    exchange.send(_head() + b"".join([*pieces[:place], giant, *pieces[place:]]))
    return False


def _compressed(exchange: Exchange, pieces: list[bytes], _: random.Random) -> bool:
    exchange.send(_head("text/event-stream", "Content-Encoding: gzip") + gzip.compress(b"".join(pieces)))
    return False


def _doubled(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    place = chance.randrange(len(pieces))
    return _none(exchange, [*pieces[: place + 1], *pieces[place:]], chance)


def _swapped(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    place = chance.randrange(max(1, len(pieces) - 1))
    mixed = [*pieces[:place], *reversed(pieces[place : place + 2]), *pieces[place + 2 :]]
    return _none(exchange, mixed, chance)


def _missing(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    place = chance.randrange(len(pieces))
    return _none(exchange, [*pieces[:place], *pieces[place + 1 :]], chance)


def _comments(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    exchange.send(_head() + b"".join(pieces[: chance.randrange(len(pieces))]))
    for _ in range(COMMENTS):
        exchange.send(b": keep-alive\n\n")
        time.sleep(0.02)
    return False


def _interim(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    exchange.send(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * chance.randrange(1, 4))
    return _none(exchange, pieces, chance)


def _redirect(exchange: Exchange, _: list[bytes], __: random.Random) -> bool:
    exchange.reply(302, {"Location": "http://127.0.0.1:9/elsewhere"})
    return True


def _wrong_length(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    whole = b"".join(pieces)
    length = max(0, len(whole) + chance.choice((-40, -1, 1, 500)))
    exchange.send(_head("text/event-stream", f"Content-Length: {length}") + whole)
    return False


def _refused_inside(exchange: Exchange, pieces: list[bytes], chance: random.Random) -> bool:
    error = {"type": "error", "error": {"type": "authentication_error", "message": "the key was revoked", "code": 401}}
    frame = b"event: error\ndata: " + json.dumps(error).encode() + b"\n\n"
    return _none(exchange, [*pieces[: chance.randrange(len(pieces))], frame], chance)


FAULTS: dict[str, Callable[[Exchange, list[bytes], random.Random], bool]] = {
    "none": _none,
    "late": _late,
    "trickle": _trickle,
    "cut-body": _cut_body,
    "reset": _reset,
    "half-closed": _half_closed,
    "silent": _silent,
    "no-answer": _no_answer,
    "no-head": _no_head,
    "garbage": _garbage,
    "not-http": _not_http,
    "wrong-type": _wrong_type,
    "endless-headers": _endless_headers,
    "giant-frame": _giant_frame,
    "compressed": _compressed,
    "doubled": _doubled,
    "swapped": _swapped,
    "missing": _missing,
    "comments": _comments,
    "interim": _interim,
    "redirect": _redirect,
    "wrong-length": _wrong_length,
    "refused-inside": _refused_inside,
}
"""Name → how the answer is sent. Besides these, a status such as "429" is a fault."""
STATUSES = ("400", "401", "429", "500", "529")


def main() -> int:
    """Serve one fault for ever."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fault", choices=[*FAULTS, *STATUSES])
    parser.add_argument("--text", default="The scripted answer.")
    given = parser.parse_args()
    with FaultServer([[say(given.text)]] * 10_000, [given.fault] * 10_000, seed=0) as server:
        sys.stderr.write(f"{server.url}\n")
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
