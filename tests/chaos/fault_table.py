"""Every fault against every wire API and transport: many turns in one process, each with its own endpoint."""

from __future__ import annotations

import json
import os
import select
import signal
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.chaos.fault_server import FaultServer
from tests.chaos.faults import ALL_FAULTS, PLACES, STATUSES
from tests.chaos.launcher import Start
from tests.chaos.routes import ROADS, Roads
from tests.helpers.child import clean_environment
from yume_shim.engine.model_client import FAILOVER_KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.chaos.launcher import Launcher

APIS = {
    "anthropic-messages": "",
    "google-genai": "",
    "ollama-chat": "",
    "openai-chat": "/v1",
    "openai-responses": "/v1",
}
"""API → path of its address."""
TIMEOUTS = "connect = 0.8\nfirst_byte = 0.8\nidle = 0.8\ntotal = 2.5\nshutdown = 2\n"
PATIENT = "connect = 20\nfirst_byte = 20\nidle = 20\ntotal = 40\nshutdown = 5\n"
"""Where no fault is waited for."""
WAITED_FOR = frozenset(
    {
        *("silent", "no-answer", "comments", "keep-alives", "endless-interim", "bomb"),
        *("silent-in-text", "silent-in-thinking", "silent-in-call"),
        *("connect-stall", "tls-stall", "proxy-silent", "proxy-then-silent", "proxy-trickle"),
    }
)
"""These end by a time limit, or cost much processor time."""
SPARE = "spare"
"""The endpoint of the fallback model."""
TURN_LIMIT = 60.0
"""Seconds that a turn may take: two attempts with those limits, on a busy machine."""
READ = 65_536
CUT = "stream_interrupted network fine"
CHANGED = "protocol stream_interrupted fine"
"""What a change of the frames at a random place may lead to."""
EXPECTED = {
    **dict.fromkeys(["none", "late", "trickle", "trickled-head", "deaf", "wrong-type", "interim"], "fine"),
    **dict.fromkeys(["giant-frame", "gzip", "deflate", "raw-deflate", "refused-first", "tls", "tunnel"], "fine"),
    **dict.fromkeys(["cut-body", "reset", "half-closed", "short-length", "long-length", "cut-gzip"], CUT),
    **dict.fromkeys(["cut-head", "no-head", "redirect-nowhere", "refused"], "network"),
    **dict.fromkeys(["proxy-closes", "proxy-403", "proxy-407", "proxy-502", "proxy-then-closes"], "network"),
    **dict.fromkeys(["proxy-then-plain", "proxy-cuts", "tls-cut"], "network tls"),
    "silent": "timeout fine",
    **dict.fromkeys(["no-answer", "connect-stall", "tls-stall"], "timeout"),
    "comments": "timeout protocol fine",
    "keep-alives": "timeout fine",
    "lost-at-end": "fine",
    "endless-refusal": "server",
    "redirect-to-none": "protocol",
    **dict.fromkeys(["kept", "kept-then-closed", "kept-then-ended", "kept-then-noise", "paced"], "fine"),
    **dict.fromkeys(["proxy-silent", "proxy-then-silent", "proxy-trickle"], "timeout"),
    **dict.fromkeys(["garbage", "doubled", "swapped", "shuffled", "missing", "twice"], CHANGED),
    **dict.fromkeys(
        ["web-page", "wrong-json", "redirect-no-place", "redirect-loop", "over-cap", "bad-json"], "protocol"
    ),
    **dict.fromkeys(["brotli", "unknown-coding"], "protocol"),
    "broken-gzip": "protocol stream_interrupted fine",  # damage behind the content need not show
    "bomb": "protocol timeout",
    **dict.fromkeys(["endless-headers", "endless-header", "switched", "not-http"], "protocol network"),
    **dict.fromkeys(["proxy-garbage", "proxy-endless-head"], "protocol network"),
    **dict.fromkeys(["redirect", "bad-chunks"], "protocol network stream_interrupted"),
    **dict.fromkeys(["only-garbage", "empty", "no-content", "no-end"], "stream_interrupted protocol"),
    "endless-interim": "protocol timeout",
    "refused-inside": "auth",
    "dns": "dns",
    **dict.fromkeys(["tls-expired", "tls-not-yet", "tls-wrong-host", "tls-self-signed", "tls-stranger"], "tls"),
    **dict.fromkeys(["tls-plain", "tls-garbage", "proxy-wrong-host"], "tls"),
    **dict(zip(STATUSES, ["bad_request", "auth", "rate_limit", "server", "overloaded"], strict=True)),
    **dict.fromkeys(["cut-in-text", "cut-in-thinking", "cut-after-text", "cut-after-thinking"], "stream_interrupted"),
    **dict.fromkeys(["silent-in-text", "silent-in-thinking"], "timeout"),
    "cut-in-call": "stream_interrupted rounds",
    "cut-after-call": "stream_interrupted rounds",
    "silent-in-call": "timeout rounds",
}
"""Fault → kinds of the error that a turn may end with if every request meets it; "fine" is a success, "rounds" the
limit of rounds: a call that is complete runs, and the model is asked again."""
NO_SECOND_CHANCE = frozenset(
    {
        *(
            "web-page",
            "wrong-json",
            "redirect",
            "redirect-no-place",
            "redirect-to-none",
            "over-cap",
            "not-http",
            "refused-inside",
        ),
        *("400", "401", "bomb"),
    }
)
"""The same request again would not help: one of these is enough to end a turn. Of the others one is got over."""


class Table(NamedTuple):
    """What a process printed."""

    start: list[dict[str, Any]]
    turns: dict[str, list[dict[str, Any]]]
    """The lines of the turn with that fault."""
    stderr: str
    code: int | None
    peak_kb: int


def run_faults(
    launcher: Launcher, api: str, transport: str, faults: Sequence[str], folder: Path, *, spare: bool = False
) -> Table:
    """One process with a turn per fault. "once:NAME" is that fault for the first request only. `spare`: there are a
    second key and a fallback model without a fault."""
    home, work = folder / "home", folder / "work"
    for made in (home / ".yume", work):
        made.mkdir(parents=True)
    with FaultServer([], [], seed=1) as server, Roads(folder, server.answer) as roads:
        addresses = {fault: _address(fault, server.url, roads) + APIS[api] for fault in faults}
        env = clean_environment(home, TABLE_KEY="sk-table", **roads.env)
        words = ["--transport", transport, "--model", f"{_endpoint(faults[0])}/m", "--max-turns", "3"]
        if spare:
            addresses[SPARE] = _address("none", server.url, roads) + APIS[api]
            words += ["--fallback-model", f"{SPARE}/m"]
        _configure(home, api, addresses, spare=spare)
        process = launcher.start(Start(words, work, env, {}))
        told: list[bytes] = []
        listener = threading.Thread(target=_read_all, args=(process.stderr, told), daemon=True)
        listener.start()
        turns: dict[str, list[dict[str, Any]]] = {}
        try:
            reader = _Reader(process.stdout)
            start = reader.until("system")
            for fault in faults:
                roads.begin(fault)
                turns[fault] = _turn(process.stdin, reader, fault)
        finally:
            os.close(process.stdin)
            if not process.ended.wait(TURN_LIMIT):
                process.signal(signal.SIGKILL)
            listener.join(TURN_LIMIT)
            os.close(process.stdout)
    return Table(start, turns, b"".join(told).decode(), process.code, process.peak_kb)


def _read_all(fd: int, into: list[bytes]) -> None:
    while data := os.read(fd, READ):
        into.append(data)
    os.close(fd)


def _turn(stdin: int, reader: _Reader, fault: str) -> list[dict[str, Any]]:
    clear: dict[str, Any] = {"type": "clear"}
    for line in (clear, {"type": "set_model", "model": f"{_endpoint(fault)}/m"}, {"type": "user", "content": fault}):
        os.write(stdin, json.dumps(line).encode() + b"\n")
    return reader.until("message_stop")


def _endpoint(fault: str) -> str:
    return fault.replace(":", "-")


def _address(fault: str, url: str, roads: Roads) -> str:
    once, _, name = fault.rpartition(":")
    if name in ROADS:
        return roads.url(name)
    return f"{url}/{name}+none" if once else f"{url}/{name}"


def _configure(home: Path, api: str, addresses: dict[str, str], *, spare: bool) -> None:
    timeouts = TIMEOUTS if WAITED_FOR & addresses.keys() else PATIENT
    rows = [
        f'[endpoints.{_endpoint(fault)}]\napi = "{api}"\nbase_url = "{url}"\nkey_vars = ["TABLE_KEY"]\n'
        for fault, url in addresses.items()
    ]
    keys = [f'{_endpoint(fault)} = ["sk-one", "sk-two"]\n' for fault in addresses] if spare else []
    text = f"[keys]\n{''.join(keys)}[retry]\ninitial = 0.05\nretries = 1\n[timeouts]\n{timeouts}" + "".join(rows)
    (home / ".yume" / "config.toml").write_text(text, "utf-8")


class _Reader:
    """Lines of a pipe, each within a limit."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._held = b""

    def until(self, kind: str) -> list[dict[str, Any]]:
        """The lines up to the next one of this type."""
        lines: list[dict[str, Any]] = []
        end = time.monotonic() + TURN_LIMIT
        while not lines or lines[-1]["type"] != kind:
            line, gap, rest = self._held.partition(b"\n")
            if gap:
                self._held = rest
                lines.append(json.loads(line))
                continue
            if not select.select([self._fd], [], [], max(0.0, end - time.monotonic()))[0]:
                raise AssertionError(f"no {kind} line within {TURN_LIMIT:.0f} s; {lines}")
            data = os.read(self._fd, READ)
            if not data:
                raise AssertionError(f"the program has ended; {lines}")
            self._held += data
        return lines


def quick_faults() -> list[str]:
    """The faults that need no waiting."""
    return [fault for fault in (*ALL_FAULTS, *ROADS) if fault not in WAITED_FOR]


def faults_of(transport: str) -> list[str]:
    """Every fault for every request, and each fault of an answer once (which the engine gets over, whatever the
    transport)."""
    if transport == "sdk":
        return [*ALL_FAULTS, *ROADS]
    return [name for fault in ALL_FAULTS for name in (fault, f"once:{fault}")] + list(ROADS)


def outcome_of(lines: list[dict[str, Any]]) -> str:
    """How a turn ended: "fine", "rounds", or the kind of its one error."""
    [result] = [line for line in lines if line["type"] == "result"]
    errors = [line["code"] for line in lines if line["type"] == "error"]
    if not result["is_error"]:
        return "fine" if not errors else f"success with {errors}"
    if result["subtype"] == "error_max_turns":
        return "rounds"
    return str(errors[0]) if len(errors) == 1 else f"{len(errors)} errors"


def allowed(fault: str, *, spare: bool = False) -> set[str]:
    """How a turn with this fault may end; `spare` as in `run_faults`."""
    once, _, name = fault.rpartition(":")
    kinds = set(EXPECTED[name].split())
    if once and (name not in NO_SECOND_CHANCE or (spare and name == "401")):
        return {"fine"}
    if spare and kinds <= set(FAILOVER_KINDS) and name not in PLACES:  # nothing was shown
        return {"fine"}
    return kinds | ({"fine"} if once or spare else set())
