"""Control requests about MCP servers, in a real process with real servers."""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.mcp_desk import ODD, REFERENCE, is_alive
from tests.helpers.oauth_server import OAuthServer
from tests.helpers.timing import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.helpers.child import Child

PLAIN = {"command": sys.executable, "args": [ODD, "plain"]}
FORMS = {
    "flat": ("--output-format", "flat"),
    "nested": ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"),
}


class Asking:
    """A process without a model, and the answers to its control requests."""

    def __init__(self, folder: Path, form: str, *argv: str, **settings: Any) -> None:
        (folder / ".claude").mkdir()
        (folder / ".claude" / "settings.json").write_text(json.dumps(settings))
        env = child.clean_environment(folder, ANTHROPIC_API_KEY="sk-test")
        (folder / "work").mkdir()
        self.program: Child = child.start([*FORMS[form], *argv], cwd=folder / "work", env=env)
        self.asked = 0

    def ask(self, subtype: str, **body: Any) -> Any:
        """The body of the answer, or its error as text."""
        self.asked += 1
        ask_id = f"r{self.asked}"
        self.program.send({"type": "control_request", "request_id": ask_id, "request": {"subtype": subtype, **body}})
        answer = self.program.wait_for("control_response")["response"]
        assert answer["request_id"] == ask_id
        return answer.get("response") if answer["subtype"] == "success" else answer["error"]

    def statuses(self) -> dict[str, str]:
        return {each["name"]: each["status"] for each in self.ask("mcp_status")["mcpServers"]}


def test_every_request_about_servers(tmp_path: Path) -> None:
    first = json.dumps({"mcpServers": {"base": PLAIN, "wrong": {"command": 5}}})
    host = Asking(tmp_path, "nested", "--mcp-config", first, deniedMcpServers=[{"serverName": "banned"}])
    reference = {"command": sys.executable, "args": [REFERENCE, "stdio"]}
    dead = {"command": sys.executable, "args": ["-c", "raise SystemExit(1)"]}
    problem = "Invalid MCP configuration: server 'odd': it must be an object"
    answer = host.ask("mcp_set_servers", servers={"ref": reference, "dead": dead, "odd": 5, "banned": PLAIN})
    banned = "MCP server banned is not started: deniedMcpServers of the user settings name it"
    assert answer == {
        "added": ["ref", "dead"],
        "removed": [],
        "errors": {"dead": "Connection closed", "odd": problem, "banned": banned},
    }
    assert host.statuses() == {"base": "connected", "wrong": "failed", "ref": "connected", "dead": "failed"}

    assert host.ask("mcp_call", tool="mcp__base__echo", arguments={"a": 1}) == {
        "content": [{"type": "text", "text": 'echo: {"a": 1}'}]
    }
    assert host.ask("mcp_call", tool="mcp__ref__add", arguments={"a": 1, "b": 2})["structuredContent"] == {"result": 3}
    raw = host.ask("mcp_call", tool="mcp__ref__picture", result_not_for_model=True)
    assert [block["type"] for block in raw["content"]] == ["image"]
    assert host.ask("mcp_call", tool="mcp__ref__fail").startswith("Error executing tool fail")
    assert host.ask("mcp_call", tool="mcp__no__echo") == "MCP server not connected: no"
    assert host.ask("mcp_call", tool="mcp__dead__echo") == "MCP server not connected: dead"
    assert "is not supported; the tool was not called" in host.ask(
        "mcp_call", tool="mcp__base__echo", check_permissions=True
    )
    assert "must begin with ui://" in host.ask("mcp_read_resource", serverName="ref", uri="note://hello")
    assert "ui://none" in host.ask("mcp_read_resource", serverName="ref", uri="ui://none")
    assert host.ask("mcp_read_resource", serverName="no", uri="ui://x") == "Server not found: no"

    changed = {"command": sys.executable, "args": [ODD, "plain", "again"]}
    assert host.ask("mcp_set_servers", servers={"ref": reference, "base": changed}) == {
        "added": ["base"],
        "removed": ["dead"],
        "errors": {},
    }
    again = host.ask("mcp_set_servers", servers={"ref": changed, "base": changed})
    assert again == {"added": ["ref"], "removed": [], "errors": {}}
    assert host.ask("mcp_toggle", serverName="ref", enabled=False) is None
    assert "is disabled" in host.ask("mcp_reconnect", serverName="ref")
    assert host.ask("mcp_toggle", serverName="ref", enabled=True) is None
    assert host.ask("mcp_reconnect", serverName="ref") is None
    assert "it needs a `command`" in host.ask("mcp_reconnect", serverName="wrong")
    assert "has no sign-in" in host.ask("mcp_authenticate", serverName="ref")
    assert "has no sign-in" in host.ask("mcp_clear_auth", serverName="ref")
    assert host.ask("mcp_set_servers", servers={}) == {"added": [], "removed": ["base", "ref"], "errors": {}}
    assert host.ask("mcp_set_servers", servers=5) == "mcp_set_servers needs `servers`: an object of servers by name"
    assert host.statuses() == {"wrong": "failed"}
    assert host.program.end().code == 0


@pytest.mark.skipif(os.name == "nt", reason="process groups")
def test_servers_end_when_the_program_is_killed(tmp_path: Path) -> None:
    """A server that ignores the end of its input, and what it started."""
    noted = tmp_path / "pid"
    stubborn = {"command": sys.executable, "args": [ODD, "parent", str(noted)]}
    host = Asking(tmp_path, "flat", "--mcp-config", json.dumps({"mcpServers": {"odd": stubborn}}))
    host.program.wait_for("mcp")
    child_of_server = int(noted.read_text())
    assert is_alive(child_of_server)
    host.program.process.kill()
    wait_until(lambda: not is_alive(child_of_server), "the server's group has ended")
    host.program.kill()


@pytest.mark.parametrize("kind", ["http", "sse"])
def test_the_host_signs_its_user_in_and_out(tmp_path: Path, kind: str) -> None:
    with OAuthServer(kind=kind) as server:
        host = Asking(tmp_path, "flat")
        answer = host.ask("mcp_set_servers", servers={"web": {"type": kind, "url": server.url}})
        assert "run `yume-shim mcp login web`" in answer["errors"]["web"]
        assert host.statuses() == {"web": "needs-auth"}
        opened = host.ask("mcp_authenticate", serverName="web")
        assert opened["requiresUserAction"] is True
        urllib.request.urlopen(opened["authUrl"], timeout=20).close()
        while host.statuses() != {"web": "connected"}:  # the child has a deadline of its own
            host.program.wait_for("mcp")
        assert host.ask("mcp_clear_auth", serverName="web") == {}
        assert host.statuses() == {"web": "needs-auth"}
        assert host.program.end().code == 0
