"""`yume-shim mcp login` against a real authorization server on the loopback interface, and what later connects send."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.oauth_server import OAuthServer
from tests.helpers.timing import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.helpers.child import Child, Ended

OPEN = re.compile(rb"\n\s+(http://\S+/authorize\?\S+)\n")


class Desk:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = child.clean_environment(folder)

    def run(self, *argv: str) -> Ended:
        return child.run(("mcp", *argv), (), cwd=self.folder, env=self.env)

    def login(self, *argv: str) -> Child:
        return child.start(("mcp", "login", "web", *argv), cwd=self.folder, env=self.env)

    @property
    def tokens(self) -> Path:
        return self.folder / ".yume" / "mcp-tokens.json"

    def kept(self, server: OAuthServer) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.tokens.read_text())[server.url]
        return found

    def change(self, server: OAuthServer, **fields: Any) -> None:
        self.tokens.write_text(json.dumps({server.url: {**self.kept(server), **fields}}))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def sign_in(desk: Desk, server: OAuthServer) -> Ended:
    """Add the server, sign in, and be the browser."""
    assert desk.run("add", "-s", "user", "-t", "http", "web", server.url).code == 0
    program = desk.login()
    visit(asked_address(program))
    return program.end()


def asked_address(program: Child) -> str:
    wait_until(lambda: OPEN.search(b"".join(program.out)) is not None, "the address")
    found = OPEN.search(b"".join(program.out))
    assert found is not None
    return found[1].decode()


def visit(url: str) -> str:
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        return f"{error.code}"


@pytest.mark.parametrize("kind", ["http", "sse"])
def test_the_whole_flow_and_the_token_is_used_afterwards(desk: Desk, kind: str) -> None:
    with OAuthServer(kind=kind) as server:
        assert desk.run("add", "-s", "user", "-t", kind, "web", server.url).code == 0
        before = desk.run("get", "web").stdout.decode()
        assert "Status: ! Needs authentication\n  Issue: run: yume-shim mcp login web\n" in before
        program = desk.login()
        assert "Signed in" in visit(asked_address(program))
        ended = program.end()
        assert (ended.code, ended.stderr) == (0, b"")
        assert ended.stdout.decode().endswith('Signed in to "web".\nweb: ✔ Connected\n')
        assert b"access-" not in ended.stdout
        assert (server.count("register"), server.count("authorize"), server.count("token")) == (1, 1, 1)
        kept = desk.kept(server)
        assert (kept["access_token"], kept["refresh_token"], kept["client_id"]) == ("access-1", "refresh-1", "client-1")
        assert (kept["token_endpoint"], kept["resource"]) == (f"{server.base}/token", server.url)
        if os.name == "posix":
            assert stat.S_IMODE(desk.tokens.stat().st_mode) == 0o600
        assert desk.run("list").stdout.decode().endswith(f"web: {server.url} ({kind.upper()}) - ✔ Connected\n")
        assert server.count("token") == 1  # not renewed: it has not expired
        assert desk.run("logout", "web").code == 0
        assert desk.run("list").stdout.decode().endswith(" - ! Needs authentication\n")


def test_an_expired_token_is_renewed_once_for_several_processes(desk: Desk) -> None:
    with OAuthServer() as server:
        assert sign_in(desk, server).code == 0
        desk.change(server, expires_at=int(time.time()) - 5)
        both = [child.start(("mcp", "list"), cwd=desk.folder, env=desk.env) for _ in range(2)]
        assert all(b"Connected" in program.end().stdout for program in both)
        assert server.count("refresh_token") == 1
        kept = desk.kept(server)
        assert (kept["access_token"], kept["refresh_token"]) == ("access-2", "refresh-2")
        assert kept["expires_at"] > time.time() + 1_000


def test_a_refused_token_is_renewed_and_the_request_repeated(desk: Desk) -> None:
    with OAuthServer() as server:
        assert sign_in(desk, server).code == 0
        server.revoke()
        assert b"Connected" in desk.run("list").stdout
        assert server.count("refresh_token") == 1


def test_a_sign_in_that_ended_says_what_to_do(desk: Desk) -> None:
    with OAuthServer() as server:
        assert sign_in(desk, server).code == 0
        server.revoke()
        server.refresh = "another"
        assert b"Issue: run: yume-shim mcp login web" in desk.run("get", "web").stdout
        assert desk.kept(server)["access_token"] == "access-1"


def test_the_token_goes_to_its_own_address_only(desk: Desk) -> None:
    with OAuthServer() as server, OAuthServer() as other:
        assert sign_in(desk, server).code == 0
        other.valid = server.valid
        assert desk.run("remove", "web").code == 0
        assert desk.run("add", "-s", "user", "-t", "http", "web", other.url).code == 0
        assert b"Needs authentication" in desk.run("list").stdout


def test_only_the_answer_to_the_question_is_accepted(desk: Desk) -> None:
    with OAuthServer() as server:
        assert desk.run("add", "-s", "user", "-t", "http", "web", server.url).code == 0
        program = desk.login()
        url = asked_address(program)
        port = re.search(r"localhost%3A(\d+)", url)
        assert port is not None
        for path in ("callback?code=stolen&state=wrong", "callback?code=stolen", "callback", "other"):
            assert visit(f"http://127.0.0.1:{port[1]}/{path}") == "404"
        assert "Signed in" in visit(url)
        assert program.end().code == 0


def test_a_refused_sign_in_is_an_error(desk: Desk) -> None:
    with OAuthServer(refuse="access_denied") as server:
        ended = sign_in(desk, server)
        assert ended.code == 1
        assert ended.stderr == b'Couldn\'t complete authentication for "web": the sign-in was refused: access_denied\n'
        assert not desk.tokens.exists()


@pytest.mark.skipif(os.name == "nt", reason="$BROWSER is for POSIX")
def test_the_browser_of_the_user_is_opened(desk: Desk) -> None:
    visitor = desk.folder / "visit.py"
    visitor.write_text("import sys, urllib.request\nurllib.request.urlopen(sys.argv[1]).read()\n")
    with OAuthServer() as server:
        assert desk.run("add", "-s", "user", "-t", "http", "web", server.url).code == 0
        desk.env["BROWSER"] = f"{sys.executable} {visitor} %s"
        ended = desk.login().end()
        assert (ended.code, server.count("token")) == (0, 1), ended.stderr


def test_servers_that_cannot_be_signed_in_to(desk: Desk) -> None:
    assert desk.run("add", "-s", "user", "local", "--", "some-command").code == 0
    refused = desk.run("login", "local")
    assert refused.code == 1
    assert "doesn't support OAuth login" in refused.stderr.decode()
    unknown = desk.run("login", "nope")
    assert (unknown.code, unknown.stderr) == (1, b'No MCP server named "nope". Configured servers: local\n')


def test_a_server_that_is_not_there(desk: Desk) -> None:
    with OAuthServer() as server:
        url = server.url
    assert desk.run("add", "-s", "user", "-t", "http", "web", url).code == 0
    ended = desk.login().end()
    assert ended.code == 1
    assert ended.stderr.startswith(b"Couldn't complete authentication")
    assert b"Traceback" not in ended.stderr


def test_only_the_sign_in_loads_the_package(tmp_path: Path) -> None:
    code = (
        "import sys, yume_shim.extensions.mcp.http_channel, yume_shim.extensions.mcp.tokens, yume_shim.cli.commands, "
        "yume_shim.extensions.mcp.login; print(sorted({'mcp', 'anyio', 'pydantic', 'asyncio'} & set(sys.modules)))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], cwd=os.getcwd(), text=True) == "[]\n"
