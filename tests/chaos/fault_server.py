"""A server that answers as an API would, with one fault per answer, on all five wire APIs.

By hand: `python -m tests.chaos.fault_server` serves until it is stopped. The first part of an address names the faults:
`http://127.0.0.1:PORT/cut-in-text` breaks off inside every text, `/cut-at-100` behind a hundred bytes, `/500+none`
refuses the first request and answers the others (the last name holds for all further requests). With `--roads` it
prints addresses with faults on the way to it, too, and the environment in which they are tried.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from tests.chaos.faults import ALL_FAULTS, FAULTS, PLACES, cut_at, ended_inside, send_cues
from tests.chaos.routes import ROADS, Roads
from tests.chaos.vendor_answers import VendorAnswer, wire_of_vendor
from tests.helpers.api_rules import broken_rules
from tests.helpers.fake_server import LoopbackServer, frame_bytes
from tests.helpers.scripted_model import SHOWN, api_of, refuse, say, think, wire_of
from tests.helpers.strict_model import SCRIPTED_PROOFS

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator

    from tests.helpers.fake_server import Exchange
    from tests.helpers.scripted_model import Answer
    from yume_shim.types.blocks import Json

    Answers = list[Answer | list[VendorAnswer]]

ANSWER: Answer = [think("Considering it. "), say("The scripted answer, in several pieces.", 6)]


CUT_AT = re.compile(r"cut-at-(\d+)")
"""Faults by hand, one for each number of bytes."""
MCP = "/mcp/"
"""Behind this an address names the fault of an MCP server."""
GEMINI_3 = "/gemini-3"
"""Models of this name, and no others, refuse calls without a signature."""
REFUSED_FOR = 10.0
"""Seconds for which `refused-first` refuses by hand."""


class FaultServer(LoopbackServer):
    """Plays `answers` in order, the answer number N with `faults[N]`; beyond both it says "Done." without a fault.
    A request whose address names faults gets `ANSWER` with those instead."""

    def __init__(
        self,
        answers: Answers,
        faults: list[str],
        seed: int,
        tls: ssl.SSLContext | None = None,
        port: int = 0,
        *,
        alike: bool = False,
    ) -> None:
        """`alike`: all answers and their calls have the same names."""
        self._answers, self._faults = list(answers), list(faults)
        self._random = random.Random(seed)
        self._turn = threading.Lock()
        self._count = 0
        self._alike = alike
        self.played: list[str] = []
        """The faults of the requests so far."""
        self.broken: set[str] = set()
        """Rules of their API that requests have broken: the real one would refuse them."""
        self._issued: dict[str, set[str]] = {}
        """API → proofs of its own reasoning that requests may give back."""
        self._left: dict[str, list[str]] = {}
        super().__init__(self.answer, tls, port=port)

    def calm(self) -> None:
        """From now on every answer is "Done."."""
        with self._turn:
            self._answers.clear()
            self._faults.clear()

    def answer(self, exchange: Exchange) -> bool:
        """Answer one request; False closes the connection."""
        path = exchange.request.path
        if path.endswith("/api/show"):
            exchange.reply(200, {"Content-Type": "application/json"}, json.dumps(SHOWN).encode())
            return True
        if path.startswith(MCP):
            return _play_mcp(exchange, path.removeprefix(MCP), random.Random(path))
        api = api_of(path)
        if not api:
            exchange.reply(404, {"Content-Type": "application/json"}, b'{"error":{"message":"no such path"}}')
            return True
        with self._turn:
            issued = self._issued.setdefault(api, set(SCRIPTED_PROOFS))
            rules = broken_rules(api, exchange.request.json(), issued)
            self.broken |= {f"{api}: {rule}" for rule in rules if "thought_signature" not in rule or GEMINI_3 in path}
            self._count += 1
            number = 1 if self._alike else self._count
            fault, answer = self._next(path.split("/")[1])
            chance = random.Random(self._random.random())
            issued |= set(
                _texts(_frames(api, answer, number)) if answer and isinstance(answer[0], VendorAnswer) else ()
            )
        return _play(exchange, api, fault, answer, number, chance)

    def _next(self, named: str) -> tuple[str, Answer | list[VendorAnswer]]:
        """The fault and the answer of the next request."""
        names = named.split("+")
        if all(name in ALL_FAULTS or CUT_AT.fullmatch(name) for name in names):
            left = self._left.setdefault(named, names)
            return left.pop(0) if len(left) > 1 else left[0], ANSWER
        fault = self._faults.pop(0) if self._faults else "none"
        self.played.append(fault)
        if fault.isdigit():  # the answer waits for the next request
            return fault, []
        return fault, self._answers.pop(0) if self._answers else [say("Done.")]


def _play(
    exchange: Exchange,
    api: str,
    fault: str,
    answer: Answer | list[VendorAnswer],
    number: int,
    chance: random.Random,
) -> bool:
    if fault.isdigit():
        [cue] = wire_of(api, [refuse(int(fault))], number)
        exchange.reply(cue["!status"], {"Content-Type": "application/json"}, json.dumps(cue["body"]).encode())
        return True
    if fault in PLACES:
        return send_cues(exchange, api, wire_of(api, ended_inside(answer, fault), number))
    pieces = [frame_bytes(api, frame) for frame in _frames(api, answer, number)]
    if found := CUT_AT.fullmatch(fault):
        return cut_at(exchange, pieces, int(found[1]))
    return FAULTS[fault](exchange, pieces, chance)


def _texts(value: object) -> Iterator[str]:
    """All texts inside a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def _frames(api: str, answer: Answer | list[VendorAnswer], number: int) -> list[Json]:
    match answer:
        case [VendorAnswer() as own]:
            return wire_of_vendor(api, own)
    return wire_of(api, [step for step in answer if not isinstance(step, VendorAnswer)], number)


def _play_mcp(exchange: Exchange, fault: str, chance: random.Random) -> bool:
    """A server with one tool, over streamable HTTP."""
    if exchange.request.method != "POST":
        exchange.reply(405)
        return True
    asked = exchange.request.json()
    if "id" not in asked:
        exchange.reply(202)
        return True
    results: Json = {
        "initialize": {
            "protocolVersion": asked.get("params", {}).get("protocolVersion"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "odd", "version": "1"},
        },
        "tools/list": {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]},
    }
    result = results.get(asked["method"], {"content": [{"type": "text", "text": "echoed"}]})
    told = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result})
    return FAULTS[fault](exchange, [f"event: message\ndata: {told}\n\n".encode()], chance)


def main() -> int:
    """Serve for ever."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--list", action="store_true", help="print the names of the faults")
    parser.add_argument("--roads", action="store_true", help="serve faults of names, connections, TLS and proxies, too")
    given = parser.parse_args()
    if given.list:
        sys.stdout.write("\n".join([*ALL_FAULTS, "cut-at-N", *ROADS]) + "\n")
        return 0
    with FaultServer([], [], seed=0, port=given.port) as server, tempfile.TemporaryDirectory() as folder:
        sys.stderr.write(f"{server.url}\n")
        roads = Roads(Path(folder), server.answer, REFUSED_FOR) if given.roads else None
        try:
            if roads is not None:
                sys.stderr.write("".join(f"export {name}={text}\n" for name, text in roads.env.items()))
                sys.stderr.write("".join(f"{name}: {roads.url(name)}/none\n" for name in ROADS))
                roads.begin("refused-first")
            threading.Event().wait()
        except KeyboardInterrupt:
            pass
        finally:
            if roads is not None:
                roads.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
