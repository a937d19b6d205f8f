"""MCP servers as real processes: the official package's, and ones that misbehave."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers.mcp_desk import ODD, REFERENCE, Desk, call, config, is_alive, only_text, status
from tests.helpers.timing import wait_until
from yume_shim.engine.cancel import CancelSignal
from yume_shim.extensions.mcp.servers import McpServers
from yume_shim.types.blocks import Image, Text
from yume_shim.types.errors import Cancelled, ToolFailed
from yume_shim.types.events import ProgressReport
from yume_shim.types.settings import McpServer

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(os.name == "nt", reason="process groups")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.close()


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
    reports: list[ProgressReport] = []
    assert call(servers, "mcp__odd__progress", reports=reports).content == (Text("progress: {}"),)
    assert reports == [ProgressReport(step, 5, f"step {step}") for step in range(5)]


def test_progress_without_end_ends_at_a_limit(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yume_shim.extensions.mcp.peer.MAX_EXTENDED", 1)
    with pytest.raises(ToolFailed, match="timed out"):
        call(desk.odd("plain", call_s=0.7), "mcp__odd__progress")


def test_answers_that_are_wrong_harm_no_other_call(desk: Desk) -> None:
    servers = desk.odd("plain")
    with pytest.raises(ToolFailed, match="the server's answer is not JSON"):
        call(servers, "mcp__odd__broken")
    with pytest.raises(ToolFailed, match="the server's answer is malformed: it has no result object"):
        call(servers, "mcp__odd__null")
    assert "for " in only_text(call(servers, "mcp__odd__twice"))
    assert call(servers, "mcp__odd__noisy").content == (Text("noisy: {}"),)
    assert sum("not JSON" in line for line in desk.logged) <= 51
    assert call(servers, "mcp__odd__echo").content == (Text("echo: {}"),)


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
    assert len(desk.odd("pages").specs()) == 10
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
    wait_until(lambda: not is_alive(child), "the server's own child has ended")


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
