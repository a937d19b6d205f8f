"""Bytes of a provider: HTTP, frames and decoder of each API, then a whole turn of the engine in both dialects."""

from __future__ import annotations

import gzip
import os
import zlib
from typing import TYPE_CHECKING, Any

from tests.fuzz.harness import Target
from tests.fuzz.target_http import pieces
from tests.helpers.api_facts import FACTS
from tests.helpers.engine_fakes import Bench, FunctionTools, ScriptedProvider, answer, info, says
from tests.helpers.fakes import FakeClock, FakeIds, cancel
from tests.helpers.wire_cases import LOOPBACK, Case, cases
from yume_shim import __version__
from yume_shim.dialects.flat import FlatDialect
from yume_shim.dialects.line_shrinking import shrink
from yume_shim.dialects.nested import NestedDialect
from yume_shim.dialects.stream_check import StreamCheck
from yume_shim.engine.session import Session
from yume_shim.host.event_output import EventOutput
from yume_shim.host.writer import LineWriter
from yume_shim.net.route import Connection
from yume_shim.providers.http.transport import DirectTransport
from yume_shim.providers.load import load_adapter, transport_settings
from yume_shim.providers.pipeline import ApiProvider
from yume_shim.types.blocks import Text, Thinking, ToolCall
from yume_shim.types.commands import EndOfInput, UserInput
from yume_shim.types.events import (
    BlockDelta,
    BlockEnded,
    BlockStarted,
    ResponseEnded,
    ResponseFailed,
    ResponseStarted,
    SessionReady,
    TurnEnded,
)
from yume_shim.types.models import Credential, Endpoint, ModelSpec, Quirks
from yume_shim.types.settings import FLAT_LINE_BYTES, NESTED_LINE_BYTES, Settings, Timeouts
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from yume_shim.types.events import Event, ModelEvent
    from yume_shim.types.models import Request
    from yume_shim.types.ports import Cancel, Dialect

NAMES = tuple(f"provider-{api}" for api in FACTS) + tuple(f"turn-{api}" for api in FACTS)
MAX_SEED = 6_000
SESSION = "5e551011-0000-4000-8000-000000000001"
OPEN_TEXT = {"text": Text, "thinking": Thinking, "json": ToolCall}
WORDS = (
    *(b"data: [DONE]\n\n", b"data: ", b"event: error\n", b'{"error":{"message":"x"}}\n', b"<think>", b"</think>"),
    *(b"<tool_call>", b'"content":', b'"text":', b'"tool_calls":', b'"arguments":', b'"usage":', b'"finish_reason":'),
    *(b'"index":-1', b'"index":1e9', b'"type":"content_block_stop"', b'"stop_reason":"tool_use"', b'"done":true'),
)
HEADS = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n",
    b"HTTP/1.1 429 Too Many\r\nretry-after: 1\r\n",
    b"HTTP/1.1 400 Bad\r\n",
)


class ByteSocket:
    """A peer that sends these bytes, and reads whatever it is sent."""

    def __init__(self, data: bytes) -> None:
        self._reads = pieces(data)

    def settimeout(self, seconds: float) -> None:
        pass

    def gettimeout(self) -> None:
        pass

    def sendall(self, data: bytes) -> None:
        pass

    def recv(self, size: int) -> bytes:
        return next(self._reads, b"")[:size]

    def close(self) -> None:
        pass


class ByteTransport(DirectTransport):
    """The direct transport, with a connection to given bytes in place of the network."""

    response = b""

    def _exchange(self, url: Any, headers: Any, body: Any, deadline: Any, cancel: Any) -> Any:
        connection = Connection(ByteSocket(self.response), url.origin)  # type: ignore[arg-type]  # as much of a socket as is used
        return self._talk(connection, url, headers, body, deadline, cancel)


class Api:
    """One API: a provider that answers with the bytes it is given."""

    def __init__(self, api: str) -> None:
        self.api = api
        self.cases = cases(api)
        self.endpoint = Endpoint(api, api, LOOPBACK, quirks=Quirks())
        self.spec = ModelSpec("model-x", self.endpoint)
        plain = next(case for case in self.cases if case.folder.name == "tool-one")
        self.request = replace(plain.request, model=self.spec)
        self.whole = replace(plain.request, model=replace(self.spec, streaming=False))
        adapter = load_adapter(api)
        settings = Settings()
        given = transport_settings(
            adapter, self.endpoint, Credential("key", "key", "test"), settings, Timeouts(), lambda level, text: None
        )
        self.transport = ByteTransport(given)
        self.errors: list[str] = []
        self.provider = ApiProvider(adapter, self.endpoint, self.transport, FakeIds(), self._log)

    def _log(self, level: str, text: str) -> None:
        if level == "error":
            self.errors.append(text)

    def seeds(self) -> tuple[bytes, ...]:
        """What the goldens answer, with a first byte that says how it is packed."""
        found = [wire_bytes(case) for case in self.cases]
        return tuple(bytes((number % 10,)) + data for number, data in enumerate(found) if len(data) < MAX_SEED)

    def events(self, data: bytes, request: Request) -> list[ModelEvent]:
        """The events of a response with these bytes."""
        self.errors.clear()
        self.transport.response = response_of(data)
        found = list(self.provider.stream(request, cancel()))
        self.transport._idle.clear()
        assert not self.errors, self.errors[0][:80]
        return found


def wire_bytes(case: Case) -> bytes:
    """The first answer of a golden as its API sends it."""
    frames = case.wires()[0]
    framing = FACTS[case.api].framing
    body = ""
    for frame in frames:
        if "!whole" in frame or "!status" in frame:
            return str(frame.get("!whole") or frame.get("body", "")).encode()
        if not any(key.startswith("!") for key in frame):
            body += framing(frame)
    return body.encode("utf-8", "surrogatepass")


def response_of(data: bytes) -> bytes:
    """The bytes of a response. The first one says: status, chunked or counted or to the end, compressed."""
    form, body = (data[0] if data else 0), data[1:]
    head = HEADS[0] if form < 200 else HEADS[1 + form % 2]
    coding = form % 10
    if coding in (3, 4):
        head, body = head + b"Content-Encoding: gzip\r\n", gzip.compress(body, 1, mtime=0)
    if coding == 5:
        head, body = head + b"Content-Encoding: deflate\r\n", zlib.compress(body, 1)
    if coding in (1, 4):
        size = 1 + len(body) // 5
        parts = [body[at : at + size] for at in range(0, len(body), size)]
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
        return head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + (b"" if form == 11 else b"0\r\n\r\n")
    if coding == 2:
        return head + b"Content-Length: %d\r\n\r\n" % (len(body) + (form == 12)) + body
    return head + b"\r\n" + body


def open_target(name: str, folder: Path) -> Target:
    """The target of this name."""
    kind, _, api = name.partition("-")
    made = Api(api)
    if kind == "provider":
        return Target(name, lambda data: check_answer(made, data), made.seeds(), WORDS)
    turns = Turns(made)
    return Target(name, turns.check, made.seeds(), WORDS, turns.close)


def check_answer(api: Api, data: bytes) -> None:
    """One terminal event, at the end; blocks begin, grow and end in order; no failure of our own."""
    request = api.whole if data[:1] and data[0] % 20 == 19 else api.request
    check_order(api.events(data, request))


def check_order(events: list[ModelEvent]) -> None:
    """The order that `types/model_events.py` promises."""
    assert isinstance(events[-1], (ResponseEnded, ResponseFailed)), "no terminal event"
    open_block: int | None = None
    started = False
    seen: set[int] = set()
    for event in events[:-1]:
        assert not isinstance(event, (ResponseEnded, ResponseFailed)), "two terminal events"
        if isinstance(event, ResponseStarted):
            assert not started, "two starts"
            started = True
        elif isinstance(event, BlockStarted):
            assert open_block is None, "a block in a block"
            assert started, "a block before the start"
            assert event.index not in seen, "a block number twice"
            open_block = event.index
            seen.add(event.index)
        elif isinstance(event, BlockDelta):
            assert event.index == open_block, "a piece of another block"
            assert isinstance(event.text, str), "a piece that is no text"
        elif isinstance(event, BlockEnded):
            assert event.index == open_block, "the end of another block"
            open_block = None
    last = events[-1]
    if isinstance(last, ResponseFailed):
        assert last.failure.kind != "internal", f"internal: {last.failure.message[:60]}"
    else:
        assert open_block is None, "the answer ends in a block"


class _Once:
    """The provider of a turn: the fuzzed answer first, then a plain one."""

    def __init__(self, api: Api) -> None:
        self._api, self._plain = api, ScriptedProvider()
        self.data: bytes | None = None

    def stream(self, request: Request, cancel: Cancel) -> Iterator[ModelEvent]:
        data, self.data = self.data, None
        if data is None:
            self._plain.scripts = [answer(says("Done."))]
            return self._plain.stream(request, cancel)
        self._api.errors.clear()
        self._api.transport.response = response_of(data)
        return self._api.provider.stream(replace(self._api.request, messages=request.messages), cancel)

    def close(self) -> None:
        pass


class Turns:
    """Whole turns: events of the engine go through both dialects and the line writer; their lines are checked."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._fds = [os.open(os.devnull, os.O_RDWR)]
        self._files = [os.memfd_create("lines") if hasattr(os, "memfd_create") else _temporary() for _ in range(2)]
        self._writers = [
            LineWriter(self._files[0], FLAT_LINE_BYTES, wide_escapes=False, shrink=_shrink),
            LineWriter(self._files[1], NESTED_LINE_BYTES, wide_escapes=True, shrink=_shrink),
        ]

    def close(self) -> None:
        """Close the files."""
        for fd in (*self._fds, *self._files):
            os.close(fd)

    def check(self, data: bytes) -> None:
        """One result per dialect, lines that are valid and in order, no error that only a defect of ours explains."""
        for fd in self._files:
            os.ftruncate(fd, 0)
            os.lseek(fd, 0, os.SEEK_SET)
        ended = self._run(data)
        assert ended == 1, f"{ended} turns ended"
        for fd, dialect in zip(self._files, ("flat", "stream-json"), strict=True):
            os.lseek(fd, 0, os.SEEK_SET)
            check = StreamCheck(dialect)
            printed = _read_all(fd)
            assert printed.endswith(b"\n")
            for line in printed.split(b"\n")[:-1]:
                problems = check.feed(line + b"\n")
                assert not problems, f"{dialect}: {problems[0][:70]}"
            missing = check.end()
            assert not missing, f"{dialect}: {missing[0][:70]}"
            assert check.results == 1, f"{dialect}: {check.results} results"

    def _run(self, data: bytes) -> int:
        provider = _Once(self._api)
        provider.data = data
        tools = FunctionTools(
            Read=lambda given, _: "text", Bash=lambda given, _: "out", get_weather=lambda given, _: "21"
        )
        bench = Bench(provider, tools, max_turns=3)  # type: ignore[arg-type]  # a Provider, though not a scripted one
        ids, clock = FakeIds(), FakeClock()
        dialects: tuple[Dialect, Dialect] = (
            FlatDialect(__version__, ids, FLAT_LINE_BYTES),
            NestedDialect("2.1.325", ids, partial=True),
        )
        outputs = [EventOutput(clock, ids, one, out) for one, out in zip(dialects, self._writers, strict=True)]
        ended = 0
        defects: list[str] = []

        def emit(event: Event) -> str:
            nonlocal ended
            if isinstance(event, TurnEnded):
                ended += 1
                if event.failure is not None and event.failure.kind == "internal":
                    defects.append(event.failure.message)
            uuids = [output.emit(event) for output in outputs]
            return uuids[0]

        spec = self._api.spec
        services = replace(bench.services, emit=emit)
        session = Session(services, spec, SESSION, lambda _: spec, info)
        emit(SessionReady(info(spec, SESSION)))
        session.submit(UserInput((Text("go"),), "go"))
        session.submit(EndOfInput())
        session.run()
        assert not self._api.errors, self._api.errors[0][:80]
        assert not defects, f"internal: {defects[0][:60]}"
        return ended


def _shrink(line: Any, limit: int) -> Any:
    return shrink(line, limit, "")


def _read_all(fd: int) -> bytes:
    found = []
    while data := os.read(fd, 1 << 20):
        found.append(data)
    return b"".join(found)


def _temporary() -> int:
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
