"""A server that answers as an API would, with one fault per answer, on all five wire APIs.

By hand: `python -m tests.chaos.fault_server` serves until it is stopped. The first part of an address names the faults:
`http://127.0.0.1:PORT/cut-in-text` breaks off inside every text, `/500+none` refuses the first request and answers the
others (the last name holds for all further requests).
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import threading
from typing import TYPE_CHECKING

from tests.chaos.faults import ALL_FAULTS, FAULTS, PLACES, ended_inside, send_cues
from tests.helpers.fake_server import LoopbackServer, frame_bytes
from tests.helpers.scripted_model import SHOWN, api_of, refuse, say, think, wire_of

if TYPE_CHECKING:
    import ssl

    from tests.helpers.fake_server import Exchange
    from tests.helpers.scripted_model import Answer

ANSWER: Answer = [think("Considering it. "), say("The scripted answer, in several pieces.", 6)]


class FaultServer(LoopbackServer):
    """Plays `answers` in order, the answer number N with `faults[N]`; beyond both it says "Done." without a fault.
    A request whose address names faults gets `ANSWER` with those instead."""

    def __init__(
        self, answers: list[Answer], faults: list[str], seed: int, tls: ssl.SSLContext | None = None, port: int = 0
    ) -> None:
        self._answers, self._faults = list(answers), list(faults)
        self._random = random.Random(seed)
        self._turn = threading.Lock()
        self._count = 0
        self.played: list[str] = []
        """The faults of the requests so far."""
        self._left: dict[str, list[str]] = {}
        super().__init__(self.answer, tls, port=port)

    def answer(self, exchange: Exchange) -> bool:
        """Answer one request; False closes the connection."""
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
            number = self._count
            fault, answer = self._next(path.split("/")[1])
            chance = random.Random(self._random.random())
        return _play(exchange, api, fault, answer, number, chance)

    def _next(self, named: str) -> tuple[str, Answer]:
        """The fault and the answer of the next request."""
        names = named.split("+")
        if all(name in ALL_FAULTS for name in names):
            left = self._left.setdefault(named, names)
            return left.pop(0) if len(left) > 1 else left[0], ANSWER
        fault = self._faults.pop(0) if self._faults else "none"
        self.played.append(fault)
        if fault.isdigit():  # the answer waits for the next request
            return fault, []
        return fault, self._answers.pop(0) if self._answers else [say("Done.")]


def _play(exchange: Exchange, api: str, fault: str, answer: Answer, number: int, chance: random.Random) -> bool:
    if fault.isdigit():
        [cue] = wire_of(api, [refuse(int(fault))], number)
        exchange.reply(cue["!status"], {"Content-Type": "application/json"}, json.dumps(cue["body"]).encode())
        return True
    if fault in PLACES:
        return send_cues(exchange, api, wire_of(api, ended_inside(answer, fault), number))
    return FAULTS[fault](exchange, [frame_bytes(api, frame) for frame in wire_of(api, answer, number)], chance)


def main() -> int:
    """Serve for ever."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--list", action="store_true", help="print the names of the faults")
    given = parser.parse_args()
    if given.list:
        sys.stdout.write("\n".join(ALL_FAULTS) + "\n")
        return 0
    with FaultServer([], [], seed=0, port=given.port) as server:
        sys.stderr.write(f"{server.url}\n")
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
