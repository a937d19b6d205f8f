"""HTTP servers that lose sessions, redirect, break off, refuse or answer with garbage."""

from __future__ import annotations

import json
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.fake_server import Exchange, LoopbackServer
from tests.helpers.mcp_desk import Desk, call, status
from tests.helpers.timing import PATIENCE, soon, wait_until
from yume_shim.engine.cancel import CancelSignal
from yume_shim.extensions.mcp.servers import McpServers
from yume_shim.types.blocks import Text
from yume_shim.types.errors import Cancelled, ToolFailed
from yume_shim.types.settings import McpServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

JSON, STREAM = {"Content-Type": "application/json"}, "Content-Type: text/event-stream"
DONE = {"content": [{"type": "text", "text": "done"}]}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.close()


def answer(exchange: Exchange, result: Any, **headers: str) -> bool:
    body = json.dumps({"jsonrpc": "2.0", "id": exchange.request.json()["id"], "result": result}).encode()
    exchange.reply(200, {**JSON, **{name.replace("_", "-"): text for name, text in headers.items()}}, body)
    return False


class Place:
    """A small MCP server; `on_call` answers `tools/call`, `on_get` GET requests."""

    def __init__(self, on_call: Callable[[Exchange], bool], on_get: Callable[[Exchange], bool] | None = None) -> None:
        self.on_call, self.on_get = on_call, on_get
        self.session = 0
        self.methods: list[str] = []

    def __call__(self, exchange: Exchange) -> bool:
        request = exchange.request
        if request.method != "POST":
            if request.method == "GET" and self.on_get is not None:
                return self.on_get(exchange)
            exchange.reply(405)
            return False
        method = request.json()["method"]
        self.methods.append(method)
        match method:
            case "initialize":
                self.session += 1
                info = {"name": "web", "version": "1"}
                hello = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
                return answer(exchange, hello, Mcp_Session_Id=f"s{self.session}")
            case "tools/list":
                return answer(exchange, {"tools": [{"name": "go", "inputSchema": {"type": "object"}}]})
            case "tools/call":
                return self.on_call(exchange)
        exchange.reply(202)
        return False


def opened(desk: Desk, server: LoopbackServer, path: str = "/mcp", **headers: str) -> McpServers:
    return desk.open(McpServer(name="web", kind="http", url=f"{server.url}{path}", headers=headers, waited_for=True))


def test_a_lost_session_is_replaced_once_and_the_call_repeated(desk: Desk) -> None:
    def on_call(exchange: Exchange) -> bool:
        if exchange.request.headers["mcp-session-id"] == f"s{len(known)}":
            return answer(exchange, DONE)
        exchange.reply(404)
        return False

    known, place = [1, 2], Place(on_call)
    with LoopbackServer(place) as server:
        servers = opened(desk, server)
        assert call(servers, "mcp__web__go").content == (Text("done"),)
        assert [name for name in place.methods if name in ("initialize", "tools/call")] == [
            *("initialize", "tools/call", "initialize", "tools/call")
        ]
        known.append(0)  # from here on every session is lost
        known.append(0)
        with pytest.raises(ToolFailed, match="no longer knows the session"):
            call(servers, "mcp__web__go")
        desk.close()


def test_a_session_is_ended_at_the_server_once_and_not_one_that_it_lost(desk: Desk) -> None:
    def on_call(exchange: Exchange) -> bool:
        if exchange.request.headers["mcp-session-id"] == "s1":
            exchange.reply(404)
            return False
        return answer(exchange, DONE)

    with LoopbackServer(Place(on_call)) as server:
        call(opened(desk, server), "mcp__web__go")
        desk.close()
        ended = [request for request in server.requests if request.method == "DELETE"]
        assert [request.headers["mcp-session-id"] for request in ended] == ["s2"]


def test_a_server_that_is_silent_at_the_start_does_not_delay_the_end(desk: Desk) -> None:
    asked, over = threading.Event(), threading.Event()

    def silent(_: Exchange) -> bool:
        asked.set()
        over.wait()
        return False

    with LoopbackServer(silent) as server:
        servers = McpServers([McpServer(name="web", kind="sse", url=server.url)], desk.services, 25_000)
        servers.start(sdk=False)
        assert asked.wait(PATIENCE)
        servers.close()
        over.set()
        assert [state for state, _ in status(servers)] == ["failed"]  # nothing waits for the address any more
    assert not [line for line in desk.logged if line.startswith("warning")]


def test_a_command_for_headers_that_still_runs_is_ended_by_the_end(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("yume_shim.extensions.mcp.server.CLOSE_S", PATIENCE)  # the end waits for it to be over
    helper = "trap '' TERM; touch begun; sleep 300"
    servers = McpServers([McpServer("web", "http", url="http://127.0.0.1:9", headers_helper=helper)], desk.services, 1)
    servers.start(sdk=False)
    wait_until((tmp_path / "begun").exists, "the command")
    with soon():
        servers.close()
    assert [state for state, _ in status(servers)] == ["failed"]
    assert not [line for line in desk.logged if line.startswith("warning")]
    desk.close()


def test_a_redirect_is_followed_on_the_same_host_only(desk: Desk) -> None:
    seen: list[str] = []

    def elsewhere(exchange: Exchange) -> bool:
        seen.append(exchange.request.headers.get("authorization", ""))
        exchange.reply(500)
        return False

    with LoopbackServer(elsewhere) as other:

        def handle(exchange: Exchange) -> bool:
            match exchange.request.path:
                case "/old":
                    exchange.reply(308, {"Location": "/mcp"})
                case "/loop":
                    exchange.reply(307, {"Location": "/loop"})
                case "/away":
                    exchange.reply(307, {"Location": f"{other.url}/mcp"})
                case _:
                    return place(exchange)
            return False

        place = Place(lambda exchange: answer(exchange, DONE))
        with LoopbackServer(handle) as server:
            assert call(opened(desk, server, "/old"), "mcp__web__go").content == (Text("done"),)
            [(state, error)] = status(opened(desk, server, "/loop"))
            assert (state, error) == ("failed", "the server redirects more than 3 times")
            [(state, error)] = status(opened(desk, server, "/away", Authorization="Bearer secret"))
            assert state == "failed"
            assert error == f"HTTP 307: the server redirects to {other.url}: configure that address if it is right"
            assert seen == []
            desk.close()


def test_a_stream_that_breaks_off_goes_on_after_its_last_event(desk: Desk) -> None:
    asked: list[str] = []
    calls: list[int] = []

    def on_call(exchange: Exchange) -> bool:
        calls.append(exchange.request.json()["id"])
        head = f"HTTP/1.1 200 OK\r\n{STREAM}\r\nConnection: close\r\n\r\n"
        exchange.send(f"{head}id: e1\r\nretry: 1\r\ndata:\r\n\r\n".encode())
        return False

    def on_get(exchange: Exchange) -> bool:
        last = exchange.request.headers.get("last-event-id")
        if last is None:
            exchange.reply(405)
            return False
        asked.append(last)
        reply = json.dumps({"jsonrpc": "2.0", "id": calls[-1], "result": DONE})
        half, rest = reply[:18], reply[18:]
        exchange.send(f"HTTP/1.1 200 OK\r\n{STREAM}\r\n\r\nid: e2\ndata: {half}\ndata: {rest}\n\n".encode())
        exchange.wait_for_close()
        return False

    with LoopbackServer(Place(on_call, on_get)) as server:
        assert call(opened(desk, server), "mcp__web__go").content == (Text("done"),)
        assert asked == ["e1"]
        desk.close()


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (b"HTTP/1.1 500 X\r\nContent-Length: 4\r\n\r\noops", "HTTP 500: oops"),
        (b"HTTP/1.1 202 X\r\nContent-Length: 0\r\n\r\n", "the server ended its answer without a result"),
        (b"HTTP/1.1 200 X\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\n<p>x", "not JSON (text/html)"),
        (b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}", "chunk"),
        (b"HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\n\r\ndata: {oops\n\n", "not JSON"),
        (b"nonsense\r\n\r\n", "does not speak HTTP"),
        (b"", "the connection was lost"),
    ],
)
def test_a_broken_answer_fails_its_call_only(desk: Desk, reply: bytes, error: str) -> None:
    answers = [reply]

    def on_call(exchange: Exchange) -> bool:
        if not answers:
            return answer(exchange, DONE)
        exchange.send(answers.pop())
        return False

    with LoopbackServer(Place(on_call)) as server:
        servers = opened(desk, server)
        with pytest.raises(ToolFailed) as failed:
            call(servers, "mcp__web__go")
        assert error in failed.value.message
        assert call(servers, "mcp__web__go").content == (Text("done"),)
        desk.close()


def test_a_call_that_is_refused_for_want_of_a_sign_in_says_what_to_do(desk: Desk) -> None:
    def on_call(exchange: Exchange) -> bool:
        exchange.reply(401)
        return False

    with LoopbackServer(Place(on_call)) as server:
        servers = opened(desk, server)
        with pytest.raises(ToolFailed, match="run `yume-shim mcp login web`"):
            call(servers, "mcp__web__go")
        [(state, error)] = status(servers)
        assert state == "needs-auth"
        assert "yume-shim mcp login web" in error
        desk.close()


def test_a_cancelled_call_closes_its_connection_and_tells_the_server(desk: Desk) -> None:
    closed = threading.Event()

    def on_call(exchange: Exchange) -> bool:
        exchange.send(f"HTTP/1.1 200 OK\r\n{STREAM}\r\n\r\n".encode())
        cancel.set()
        exchange.wait_for_close()
        closed.set()
        return False

    cancel, place = CancelSignal(), Place(on_call)
    with LoopbackServer(place) as server:
        servers = opened(desk, server)
        with pytest.raises(Cancelled):
            call(servers, "mcp__web__go", cancel)
        assert closed.wait(20)
        wait_until(lambda: "notifications/cancelled" in place.methods, "the server is told")
        desk.close()


def test_an_address_for_messages_on_another_host_is_refused(desk: Desk) -> None:
    def handle(exchange: Exchange) -> bool:
        exchange.send(f"HTTP/1.1 200 OK\r\n{STREAM}\r\n\r\nevent: endpoint\ndata: http://127.0.0.1:9/x\n\n".encode())
        exchange.wait_for_close()
        return False

    with LoopbackServer(handle) as server:
        servers = desk.open(
            McpServer(name="web", kind="sse", url=f"{server.url}/sse", headers={"Authorization": "x"}, waited_for=True)
        )
        [(state, error)] = status(servers)
        assert state == "failed"
        assert error == "the server names an address for messages on another host (http://127.0.0.1:9)"
        desk.close()


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ('print(\'{"X-Key": "k"}\')', ""),
        ("print('nothing')", "headersHelper must print a JSON object of headers (exit code 0)"),
        ("raise SystemExit(3)", "headersHelper must print a JSON object of headers (exit code 3)"),
        ("print('x' * 10_000_000)", "headersHelper printed more than 64 KB"),
        ("import time; time.sleep(60)", "headersHelper did not end within 0.5 s"),
    ],
)
def test_a_command_that_prints_headers(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, error: str
) -> None:
    if "sleep" in script:
        monkeypatch.setattr("yume_shim.extensions.mcp.headers_helper.HELPER_S", 0.5)
    (tmp_path / "helper.py").write_text(script)
    with LoopbackServer(Place(lambda exchange: answer(exchange, DONE))) as server:
        servers = desk.open(
            McpServer(
                name="web",
                kind="http",
                url=f"{server.url}/mcp",
                headers_helper=f"{sys.executable} helper.py",
                waited_for=True,
            )
        )
        assert status(servers) == [("failed", error) if error else ("connected", "")]
        assert {request.headers.get("x-key") for request in server.requests} == (set() if error else {"k"})
        desk.close()
