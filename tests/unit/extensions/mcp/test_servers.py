"""MCP servers as real processes: the official package's, and ones that misbehave."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.timing import wait_until
from yume_shim.engine.cancel import CancelSignal
from yume_shim.extensions.mcp.server import McpServices
from yume_shim.extensions.mcp.servers import McpServers
from yume_shim.host.host_requests import HostRequests
from yume_shim.host.ids import CountedIds
from yume_shim.tools.shell.orphan_watcher import OrphanWatcher
from yume_shim.types.blocks import Image, Text, ToolCall
from yume_shim.types.errors import Cancelled, ToolFailed
from yume_shim.types.outputs import ToolContext, ToolOutput
from yume_shim.types.settings import McpServer
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from collections.abc import Iterator

HELPERS = Path(__file__).parents[3] / "helpers"
REFERENCE, ODD = str(HELPERS / "mcp_server.py"), str(HELPERS / "odd_mcp_server.py")
pytestmark = pytest.mark.skipif(os.name == "nt", reason="process groups")


class Desk:
    """Servers with everything that they need, and what they logged."""

    def __init__(self, folder: Path) -> None:
        self.logged: list[str] = []
        self.changes = 0
        self.saved: dict[str, bytes] = {}
        self.lifetime = CancelSignal()
        self.watcher = OrphanWatcher(self.log)
        self.services = McpServices(
            cwd=str(folder),
            env={"PATH": os.environ["PATH"], "HOME": str(folder)},
            roots=lambda: (str(folder),),
            host=HostRequests(lambda _: "", CountedIds()),
            watcher=self.watcher,
            log=self.log,
            changed=self.changed,
            elicit=lambda server, params, cancel: {"action": "accept", "content": {"to": server}},
            save=self.save,
            connect_s=20.0,
            call_s=20.0,
            lifetime=self.lifetime,
        )
        self.servers: list[McpServers] = []

    def log(self, level: str, message: str) -> None:
        self.logged.append(f"{level}: {message}")

    def changed(self) -> None:
        self.changes += 1

    def save(self, name: str, data: bytes, ending: str) -> str:
        self.saved[f"{name}{ending}"] = data
        return f"saved/{name}{ending}"

    def open(self, *configs: McpServer, **limits: float) -> McpServers:
        made = McpServers(configs, replace(self.services, **limits), 25_000)
        self.servers.append(made)
        made.start(sdk=False)
        made.wait(CancelSignal())
        return made

    def odd(self, *behaviour: str, **limits: float) -> McpServers:
        return self.open(config("odd", ODD, *behaviour), **limits)

    def close(self) -> None:
        for made in self.servers:
            made.close()
        self.lifetime.set()
        self.watcher.close()


def config(name: str, *args: str) -> McpServer:
    return McpServer(name=name, command=sys.executable, args=args, waited_for=True)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.close()


def call(servers: McpServers, name: str, cancel: CancelSignal | None = None, **given: Any) -> ToolOutput:
    spec = servers.find(name)
    assert spec is not None, servers.specs()
    prepared = servers.prepare(ToolCall("c1", name, given), spec)
    return servers.run(prepared, ToolContext("c1", cancel or CancelSignal()))


def only_text(output: ToolOutput) -> str:
    assert isinstance(output.content, tuple)
    [content] = output.content
    assert isinstance(content, Text)
    return content.text


def status(servers: McpServers) -> list[tuple[str, str]]:
    return [(server.status, server.error) for server in servers.all()]


# ---------------------------------------------------------------- the official package


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


@pytest.fixture(params=["stdio", "http", "sse"])
def reference(request: pytest.FixtureRequest, desk: Desk) -> Iterator[McpServers]:
    """The package's own server, over each transport."""
    if request.param == "stdio":
        yield desk.open(config("ref", REFERENCE, "stdio"))
        return
    port = free_port()
    child = subprocess.Popen([sys.executable, REFERENCE, request.param, str(port)], stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: _accepts(port), "the server listens")
        path = "mcp" if request.param == "http" else "sse"
        yield desk.open(
            McpServer(name="ref", kind=request.param, url=f"http://127.0.0.1:{port}/{path}", waited_for=True)
        )
        desk.close()
    finally:
        child.kill()
        child.wait()


def _accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1.0).close()
    except OSError:
        return False
    return True


def test_the_reference_server(reference: McpServers, desk: Desk) -> None:
    assert status(reference) == [("connected", "")]
    names = [spec.name for spec in reference.specs()]
    tools = ["mcp__ref__add", "mcp__ref__fail", "mcp__ref__picture", "mcp__ref__long"]
    assert names == [*tools, "ListMcpResourcesTool", "ReadMcpResourceTool"]
    assert call(reference, "mcp__ref__add", a=2, b=3).content == '{"result":5}'
    failed = call(reference, "mcp__ref__fail")
    assert failed.is_error
    assert str(failed.content).startswith("Error executing tool fail")
    assert isinstance(call(reference, "mcp__ref__picture").content[0], Image)
    assert "note://hello" in str(call(reference, "ListMcpResourcesTool").content)
    read = call(reference, "ReadMcpResourceTool", server="ref", uri="note://hello").content
    assert read == (Text("[Resource from note://hello]\nHello from a resource."),)
    missing = call(reference, "ReadMcpResourceTool", server="ref", uri="note://none")
    assert not missing.is_error
    with pytest.raises(ToolFailed, match=r'Server "nope" not found\. Available servers: ref'):
        call(reference, "ReadMcpResourceTool", server="nope", uri="x")
    assert "Preview" in str(call(reference, "mcp__ref__long", size=60_000).content)
    assert "exceeds maximum allowed tokens" in str(call(reference, "mcp__ref__long", size=300_000).content)
    assert len(desk.saved["c1.txt"]) == 300_000


# ---------------------------------------------------------------- servers that misbehave


def test_a_call_that_hangs_ends_at_its_limit_and_by_cancel(desk: Desk) -> None:
    servers = desk.odd("plain", call_s=0.2)
    with pytest.raises(ToolFailed, match=r'MCP server "odd" tool "hang" timed out after 0.2s'):
        call(servers, "mcp__odd__hang")
    patient = desk.odd("plain")
    cancel = CancelSignal()
    threading.Timer(0.1, cancel.set).start()
    with pytest.raises(Cancelled):
        call(patient, "mcp__odd__hang", cancel)
    assert call(patient, "mcp__odd__echo", word="still here").content == (Text('echo: {"word": "still here"}'),)


def test_progress_restarts_the_limit(desk: Desk) -> None:
    servers = desk.odd("plain", call_s=0.7)  # the call takes 1 s in all, 0.2 s between two notifications
    assert call(servers, "mcp__odd__progress").content == (Text("progress: {}"),)


def test_a_crash_fails_the_call_and_the_next_one_restarts_the_server(desk: Desk) -> None:
    servers = desk.odd("plain")
    for _ in range(2):
        with pytest.raises(ToolFailed, match="Connection closed"):
            call(servers, "mcp__odd__crash")
        assert call(servers, "mcp__odd__echo").content == (Text("echo: {}"),)
    for _ in range(4):
        with pytest.raises(ToolFailed):
            call(servers, "mcp__odd__crash")
    with pytest.raises(ToolFailed, match="is not started again"):
        call(servers, "mcp__odd__echo")


def test_new_tools_are_offered_when_the_server_says_so(desk: Desk) -> None:
    servers = desk.odd("plain")
    before = desk.changes
    call(servers, "mcp__odd__grow")
    wait_until(lambda: servers.find("mcp__odd__new") is not None, "the new tool")
    wait_until(lambda: desk.changes > before, "the change was reported")


def test_pages_are_read_to_the_end_and_endless_ones_are_cut_off(desk: Desk) -> None:
    assert len(desk.odd("pages").specs()) == 6
    endless = desk.odd("endless")
    assert status(endless)[0][0] == "failed"
    assert "pages" in status(endless)[0][1]


@pytest.mark.parametrize("behaviour", ["garbage", "flood"])
def test_noise_does_no_harm(desk: Desk, behaviour: str) -> None:
    servers = desk.odd(behaviour)
    assert call(servers, "mcp__odd__echo").content == (Text("echo: {}"),)


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        ("silent", "no answer within 0.5 s"),
        ("deaf", "no answer within 0.5 s"),
        ("words", "Connection closed (the database is locked)"),
        ("ancient", "the server speaks protocol version '1999-01-01', which this program does not know"),
    ],
)
def test_a_server_that_does_not_start_has_failed(desk: Desk, behaviour: str, error: str) -> None:
    limit = 20.0 if behaviour in ("words", "ancient") else 0.5
    servers = desk.odd(behaviour, connect_s=limit)
    assert status(servers) == [("failed", error)]
    assert servers.specs() == ()
    assert servers.why_missing("mcp__odd__echo") == f"MCP server odd: {error}"


def test_a_message_without_end_is_cut_off(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yume_shim.extensions.mcp.stdio.MAX_MESSAGE_BYTES", 4 << 20)
    [(state, error)] = status(desk.odd("huge"))
    assert (state, error) == ("failed", "the server sent a message of more than 4 MB")


def test_a_program_that_does_not_exist(desk: Desk) -> None:
    servers = desk.open(McpServer(name="no", command="/does/not/exist", waited_for=True))
    [(state, error)] = status(servers)
    assert state == "failed"
    assert error.startswith("cannot start /does/not/exist")


def test_what_a_server_started_ends_with_it(desk: Desk, tmp_path: Path) -> None:
    servers = desk.odd("parent", str(tmp_path / "pid"))
    child = int((tmp_path / "pid").read_text())
    servers.close()
    wait_until(lambda: not _alive(child), "the server's own child has ended")


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def test_servers_end_side_by_side(desk: Desk) -> None:
    servers = desk.open(*(config(f"s{n}", ODD, "deaf") for n in range(4)), connect_s=0.3)
    begun = time.monotonic()
    servers.close()
    assert time.monotonic() - begun < 20


# ---------------------------------------------------------------- requests of the server


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("ping", "{}"),
        ("elicitation/create", '{"action": "accept", "content": {"to": "odd"}}'),
        ("sampling/createMessage", "this client does not let servers use the model"),
        ("no/such", "unknown method: no/such"),
    ],
)
def test_requests_of_the_server_are_answered(desk: Desk, method: str, answer: str) -> None:
    servers = desk.odd("plain", method)
    assert answer in only_text(call(servers, "mcp__odd__ask"))


def test_the_server_learns_the_folders(desk: Desk, tmp_path: Path) -> None:
    servers = desk.odd("plain", "roots/list")
    assert tmp_path.as_uri() in only_text(call(servers, "mcp__odd__ask"))
