"""The proxy of the sandbox: which hosts it connects to, and that a sandboxed command reaches nothing else."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers.fakes import cancel
from tests.helpers.tool_cases import toolbox
from yume_shim.engine.toolbox import Toolbox
from yume_shim.tools.shell.filter_proxy import FilterProxy, read_request
from yume_shim.types.blocks import ToolCall
from yume_shim.types.confinement import Confinement
from yume_shim.types.errors import ToolFailed
from yume_shim.types.outputs import ToolContext
from yume_shim.types.settings import SandboxSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

PYTHON = "/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("example.com", True),
        ("www.example.com", False),
        ("a.npmjs.org", True),
        ("a.b.npmjs.org", True),
        ("npmjs.org", False),
        ("xnpmjs.org", False),
        ("bad.npmjs.org", False),
        ("example.com.evil.org", False),
    ],
)
def test_hosts(host: str, allowed: bool) -> None:
    assert FilterProxy(("Example.com.", "*.npmjs.org"), ("bad.npmjs.org",)).allows(host) is allowed


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"CONNECT Example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n", ("example.com", 443, b"")),
        (
            b"GET http://a.b:81/x?y HTTP/1.1\r\nHost: a.b\r\nProxy-Connection: k\r\nConnection: keep-alive\r\n\r\nbody",
            ("a.b", 81, b"GET /x?y HTTP/1.1\r\nHost: a.b\r\nConnection: close\r\n\r\nbody"),
        ),
        (b"GET http://a.b HTTP/1.0\r\n\r\n", ("a.b", 80, b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")),
        (b"GET /x HTTP/1.1\r\n\r\n", None),
        (b"CONNECT a.b HTTP/1.1\r\n\r\n", None),
        (b"CONNECT a.b:0 HTTP/1.1\r\n\r\n", None),
        (b"CONNECT a.b:99999 HTTP/1.1\r\n\r\n", None),
        (b"CONNECT user@a.b:1 HTTP/1.1\r\n\r\n", None),
        (b"GET http://user@a.b/ HTTP/1.1\r\n\r\n", None),
        (b"CONNECT [::1]:1 HTTP/1.1\r\n\r\n", None),
        ("CONNECT ｌocalhost:1 HTTP/1.1\r\n\r\n".encode(), None),
        (b"GET http://a.b/ HTTP/1.1\r\nHost: x", None),
        (b"\x16\x03\x01 TLS\r\n\r\n", None),
    ],
)
def test_requests(data: bytes, found: tuple[str, int, bytes] | None) -> None:
    assert read_request(data) == found


class Page(BaseHTTPRequestHandler):
    """Answers every request with its path."""

    def do_GET(self) -> None:
        body = self.path.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""


@pytest.fixture
def port() -> Iterator[int]:
    server = HTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def run(script: str, sandbox: SandboxSettings) -> str:
    base = Path(tempfile.mkdtemp(prefix="yume-proxy-", dir="/var/tmp"))
    (base / "ws").mkdir()
    tools = toolbox(base / "ws", base / "scratch", claude_sandbox=sandbox)
    box = Toolbox((tools,))
    prepared = box.prepare(box.complete_for_host(ToolCall("c", "Bash", {"command": script, "timeout": 20_000})))
    try:
        return str(box.run(prepared, ToolContext("c", cancel(), confinement=Confinement("sandbox"))).content)
    except ToolFailed as failed:
        return failed.message
    finally:
        tools.close()
        shutil.rmtree(base)


def fetch(address: str) -> str:
    return f"{PYTHON} -c \"import urllib.request as u; print(u.urlopen('{address}').read().decode())\" 2>&1 | tail -1"


@pytest.mark.bubblewrap
@pytest.mark.landlock
def test_a_sandboxed_command_reaches_allowed_hosts_only(port: int) -> None:
    one = SandboxSettings(enabled=True, domains=("localhost",))
    assert run(fetch(f"http://localhost:{port}/page"), one) == "/page"
    assert "403" in run(fetch(f"http://127.0.0.1:{port}/page"), one)
    assert "403" in run(fetch(f"http://example.com:{port}/page"), one)
    tunnel = (
        f"{PYTHON} -c \"import socket; s=socket.create_connection(('127.0.0.1',3128)); "
        f"s.sendall(b'CONNECT localhost:{port} HTTP/1.1\\r\\n\\r\\n'); print(s.recv(99)); "
        "s.sendall(b'GET /in HTTP/1.0\\r\\n\\r\\n'); print(b'/in' in s.makefile('rb').read())\""
    )
    assert run(tunnel, one) == "b'HTTP/1.1 200 Connection established\\r\\n\\r\\n'\nTrue"


@pytest.mark.bubblewrap
@pytest.mark.landlock
def test_nothing_else_of_the_network_is_reachable(port: int) -> None:
    for sandbox in (SandboxSettings(enabled=True), SandboxSettings(enabled=True, domains=("localhost",))):
        assert "refused" in run(f"exec 2>&1; echo x > /dev/tcp/127.0.0.1/{port}", sandbox)
        assert "denied" in run(f"{PYTHON} -c 'import socket; socket.socket(socket.AF_UNIX)' 2>&1 | tail -1", sandbox)
    unix = SandboxSettings(enabled=True, unix_sockets=True)
    assert run(f"{PYTHON} -c 'import socket; socket.socket(socket.AF_UNIX); print(1)'", unix) == "1"


@pytest.mark.bubblewrap
@pytest.mark.landlock
def test_a_pattern_does_not_reach_this_machine(port: int) -> None:
    proxy = FilterProxy(("*.localhost",), ())
    with pytest.raises(OSError, match="loopback"):
        proxy._connect("localhost", port)


@pytest.mark.bubblewrap
@pytest.mark.landlock
def test_the_users_own_proxy_gets_everything() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            client, _ = server.accept()
            with client:
                client.recv(4_096)
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmine")

        threading.Thread(target=answer, daemon=True).start()
        sandbox = SandboxSettings(enabled=True, proxy_port=server.getsockname()[1])
        assert run(fetch("http://anything.example/"), sandbox) == "mine"


@pytest.mark.bubblewrap
@pytest.mark.landlock
def test_files_of_the_sandbox(tmp_path: Path) -> None:
    base = Path(tempfile.mkdtemp(prefix="yume-files-", dir="/var/tmp"))
    try:
        for name in ("open", "closed", "open/kept"):
            (base / name).mkdir()
        (base / "secret").write_text("canary")
        sandbox = SandboxSettings(
            enabled=True,
            write=(str(base / "open"),),
            deny_write=(str(base / "open" / "kept"), str(base / "open" / "later")),
            deny_read=(str(base / "secret"),),
        )
        script = f"cd {base}; touch here open/x closed/x open/kept/x open/later; cat secret; cat $(mktemp)"
        output = run(script, sandbox)
        assert "canary" not in output
        assert output.count("Read-only file system") == 3
        found = {str(path.relative_to(base)) for path in base.rglob("*")}
        assert found == {"open", "closed", "open/kept", "open/x", "secret"}
        assert subprocess.run(["cat", str(base / "secret")], capture_output=True, check=True).stdout == b"canary"
    finally:
        shutil.rmtree(base)
