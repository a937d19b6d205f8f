"""`yume-shim mcp`, run as users and hosts run it: the Claude CLI's words, layout and files."""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child

if TYPE_CHECKING:
    from tests.helpers.child import Ended

GOOD = (sys.executable, str(Path(__file__).parents[2] / "helpers" / "odd_mcp_server.py"), "plain")


class Desk:
    """A home with a project folder in it."""

    def __init__(self, home: Path) -> None:
        self.home, self.work = home, home / "work"
        self.work.mkdir()
        self.env = child.clean_environment(home)
        del self.env["CLAUDE_CONFIG_DIR"]

    def run(self, *argv: str, **env: str) -> Ended:
        return child.run(argv, (), cwd=self.work, env={**self.env, **env})

    def mcp(self, *argv: str) -> str:
        """stdout of a command that succeeds without a word on stderr."""
        ended = self.run("mcp", *argv)
        assert (ended.code, ended.stderr) == (0, b"")
        return ended.stdout.decode()

    def refusal(self, *argv: str) -> str:
        ended = self.run("mcp", *argv)
        assert (ended.code, ended.stdout) == (1, b"")
        return ended.stderr.decode()

    @property
    def state(self) -> Path:
        return self.home / ".claude.json"

    @property
    def shared(self) -> Path:
        return self.work / ".mcp.json"

    def trust(self) -> None:
        self.state.write_text(json.dumps({"projects": {str(self.work): {"hasTrustDialogAccepted": True}}}))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def test_nothing_is_configured(desk: Desk) -> None:
    assert desk.mcp("list") == "No MCP servers configured. Use `yume-shim mcp add` to add a server.\n"
    missing = 'No MCP server named "nope". Run `yume-shim mcp add` to add one.\n'
    assert desk.refusal("get", "nope") == desk.refusal("remove", "nope") == missing
    assert not desk.state.exists()


def test_each_scope_has_its_file(desk: Desk) -> None:
    local = f"File modified: {desk.state} [project: {desk.work}]\n"
    assert desk.mcp("add", "one", "--", "python3", "x.py", "--flag") == (
        f"Added stdio MCP server one with command: python3 x.py --flag to local config\n{local}"
    )
    assert desk.mcp("add", "-s", "user", "two", "-e", "A=1", "B=2=3", "-e", "C=", "--", "cmd").splitlines() == [
        "Added stdio MCP server two with command: cmd  to user config",
        f"File modified: {desk.state}",
    ]
    assert desk.mcp("add", "--scope", "project", "three", "cmd") == (
        f"Added stdio MCP server three with command: cmd  to project config\nFile modified: {desk.shared}\n"
    )
    headers = ("--header", "X-A: b", "-H", "Authorization: Bearer hidden")
    web = desk.mcp("add", "--transport", "http", "web", "http://127.0.0.1:1/mcp", *headers)
    assert web.splitlines()[:5] == [
        "Added HTTP MCP server web with URL: http://127.0.0.1:1/mcp to local config",
        "Headers: {",
        '  "X-A": "b",',
        '  "Authorization": "[REDACTED]"',
        "}",
    ]
    stdio = {"type": "stdio", "command": "cmd", "args": [], "env": {}}
    assert read(desk.state) == {
        "projects": {
            str(desk.work): {
                "mcpServers": {
                    "one": {**stdio, "command": "python3", "args": ["x.py", "--flag"]},
                    "web": {
                        "type": "http",
                        "url": "http://127.0.0.1:1/mcp",
                        "headers": {"X-A": "b", "Authorization": "Bearer hidden"},
                    },
                }
            }
        },
        "mcpServers": {"two": {**stdio, "env": {"A": "1", "B": "2=3", "C": ""}}},
    }
    assert read(desk.shared) == {"mcpServers": {"three": stdio}}
    if os.name == "posix":
        assert stat.S_IMODE(desk.state.stat().st_mode) == 0o600


def test_everything_else_in_the_file_stays(desk: Desk) -> None:
    others: dict[str, Any] = {
        "big": 2**70,
        "text": "Ünïcode \ud800",
        "projects": {"/x": {"a": [1, None, 1.5]}},
        "z": {},
    }
    desk.state.write_text(json.dumps({**others, "mcpServers": {"kept": {"command": "k", "own": 1}}}))
    desk.state.chmod(0o640)
    desk.mcp("add", "-s", "user", "new", "cmd")
    desk.mcp("remove", "new")
    found = read(desk.state)
    assert found == {**others, "mcpServers": {"kept": {"command": "k", "own": 1}}}
    assert list(found) == ["big", "text", "projects", "z", "mcpServers"]
    if os.name == "posix":
        assert stat.S_IMODE(desk.state.stat().st_mode) == 0o640
    assert [path.name for path in desk.home.iterdir() if path.name.startswith(".claude.json")] == [".claude.json"]


@pytest.mark.parametrize("content", ["{broken", "[]", '{"mcpServers": []}'])
def test_a_broken_file_is_refused_and_left_alone(desk: Desk, content: str) -> None:
    for path in (desk.state, desk.shared):
        path.write_text(content)
    assert str(desk.state) in desk.refusal("add", "-s", "user", "new", "cmd")
    assert desk.refusal("add", "-s", "project", "new", "cmd").startswith(".mcp.json is malformed")
    assert (desk.state.read_text(), desk.shared.read_text()) == (content, content)


def test_writers_at_the_same_time_lose_nothing(desk: Desk) -> None:
    names = [f"server-{number}" for number in range(5)]
    running = [child.start(("mcp", "add", "-s", "user", name, "cmd"), cwd=desk.work, env=desk.env) for name in names]
    assert [program.end().code for program in running] == [0] * len(names)
    assert sorted(read(desk.state)["mcpServers"]) == names


def test_a_lock_that_a_killed_writer_left_is_removed(desk: Desk) -> None:
    lock = desk.home / ".claude.json.lock"
    lock.mkdir()
    os.utime(lock, (time.time() - 60, time.time() - 60))
    desk.mcp("add", "-s", "user", "new", "cmd")
    assert not lock.exists()


@pytest.mark.skipif(os.name == "nt", reason="links")
def test_links(desk: Desk) -> None:
    real = desk.home / "dotfiles.json"
    real.write_text("{}")
    desk.state.symlink_to(real)
    desk.mcp("add", "-s", "user", "new", "cmd")
    assert desk.state.is_symlink()
    assert "new" in read(real)["mcpServers"]
    desk.shared.symlink_to(real)
    assert "is a link" in desk.refusal("add", "-s", "project", "new", "cmd")


def test_the_entry_of_a_project_is_that_of_its_repository(desk: Desk) -> None:
    (desk.work / ".git").mkdir()
    top, desk.work = desk.work, desk.work / "sub"
    desk.work.mkdir()
    assert f"[project: {top}]" in desk.mcp("add", "one", "--", *GOOD)
    assert "one: " in desk.mcp("list")
    assert "✓ one            Connected" in desk.run("doctor", ANTHROPIC_API_KEY="k").stdout.decode()


def test_the_folder_that_the_environment_names(desk: Desk) -> None:
    folder = desk.home / "elsewhere"
    desk.env["CLAUDE_CONFIG_DIR"] = str(folder)
    desk.mcp("add", "-s", "user", "one", "cmd")
    assert "one" in read(folder / ".claude.json")["mcpServers"]
    assert not desk.state.exists()


REFUSED = {
    ("add", "--transport", "bogus", "x", "y"): "Invalid transport type: bogus.",
    ("add", "--scope", "bogus", "x", "y"): "Invalid scope: bogus.",
    ("add", "bad name", "y"): "Invalid name bad name. Names can only contain letters, numbers, hyphens, and",
    ("add", "x", "y", "-e", "BROKEN"): "Invalid environment variable format: BROKEN,",
    ("add", "x", "-t", "http", "http://127.0.0.1:1/", "-H", "broken"): 'Invalid header format: "broken".',
    ("add", "x", "-t", "http", "not an address"): "Invalid URL not an address",
    ("add-json", "x", "{nope"): "Invalid configuration: not a JSON object.",
    ("add-json", "x", '{"type":"http"}'): "Invalid configuration: url: expected string, received undefined",
    ("add-json", "x", '{"command":1}'): "Invalid configuration: command: expected string, received number",
    ("add-json", "x", '{"command":"x","args":"y"}'): "Invalid configuration: args: expected array, received string",
    ("add-json", "x", '{"type":"odd","command":"x"}'): 'Invalid configuration: unknown "type".',
    ("add-json", "x", '{"url":"http://a/"}'): 'Invalid configuration: it has a "url" but no "type".',
    ("remove", "x", "-s", "user"): 'No MCP server named "x" in user scope',
    ("remove", "x", "-s", "project"): 'No MCP server named "x" in .mcp.json',
}


def test_what_is_wrong_is_said_in_the_words_of_the_claude_cli(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from yume_shim.cli.commands import run_command

    monkeypatch.chdir(desk.work)
    monkeypatch.setenv("HOME", str(desk.home))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    for argv, words in REFUSED.items():
        assert run_command(("mcp", *argv)) == 1, argv
        assert capfd.readouterr().err.startswith(words), argv
    assert not desk.state.exists()
    assert not desk.shared.exists()


def test_json_and_removing(desk: Desk) -> None:
    table = '{"type":"stdio","command":"x","args":["y"],"env":{"Q":"1"}}'
    assert desk.mcp("add-json", "js", table) == "Added stdio MCP server js to local config\n"
    assert desk.refusal("add-json", "js", table) == "MCP server js already exists in local config\n"
    assert desk.mcp("add-json", "js", table, "--scope", "user") == "Added stdio MCP server js to user config\n"
    several = desk.refusal("remove", "js")
    assert several.startswith('MCP server "js" exists in multiple scopes:\n  - Local config (private to you in this ')
    assert several.endswith("use:\n  yume-shim mcp remove js -s local\n  yume-shim mcp remove js -s user\n")
    assert desk.mcp("remove", "js", "-s", "user") == (
        f"Removed MCP server js from user config\nFile modified: {desk.state}\n"
    )
    assert desk.mcp("remove", "js").startswith('Removed MCP server "js" from local config\n')
    assert read(desk.state) == {"projects": {str(desk.work): {"mcpServers": {}}}, "mcpServers": {}}


def test_the_list_shows_the_health_of_each_server(desk: Desk) -> None:
    tables = {
        "good": {"command": GOOD[0], "args": GOOD[1:]},
        "dead": {"type": "http", "url": "http://127.0.0.1:1/x"},
        "gone": {"command": "no-such-command-here"},
        "loud": {"command": sys.executable, "args": ["-c", "import sys; sys.exit('\\033[2Jbad\\033]0;t\\007 end')"]},
    }
    desk.state.write_text(json.dumps({"mcpServers": tables}))
    desk.shared.write_text(json.dumps({"mcpServers": {"sh\033[2Jared": {"command": "touch", "args": ["started"]}}}))
    lines = desk.mcp("list").splitlines()
    assert lines[:2] == ["Checking MCP server health…", ""]
    states = {line.split(": ", 1)[0]: line.rsplit(" - ", 1)[1] for line in lines[2:]}
    assert list(states) == [*tables, "shared"]
    assert lines[2] == f"good: {' '.join(GOOD)} - ✔ Connected"
    assert lines[3].startswith("dead: http://127.0.0.1:1/x (HTTP) - ✘ Failed to connect — ")
    assert states["gone"].startswith("✘ Failed to connect — cannot start no-such-command-here")
    assert states["loud"] == "✘ Failed to connect — Connection closed (bad end)"
    assert states["shared"] == "⏸ Pending approval (this folder is not trusted)"
    assert not (desk.work / "started").exists()


def test_servers_that_hang_are_waited_for_together(desk: Desk) -> None:
    table = {"command": sys.executable, "args": ["-c", "import time; time.sleep(600)"]}
    desk.state.write_text(json.dumps({"mcpServers": {f"hung-{number}": table for number in range(8)}}))
    ended = desk.run("mcp", "list", MCP_TIMEOUT="1000")
    assert ended.stdout.decode().count(" - ✘ Failed to connect — no answer within 1 s\n") == 8


def test_servers_of_the_folder_are_started_where_the_user_approved(desk: Desk) -> None:
    table = {"command": GOOD[0], "args": GOOD[1:]}
    desk.shared.write_text(json.dumps({"mcpServers": {"a": table, "b": table, "c": table}}))
    (desk.home / ".claude").mkdir()
    settings = {"enabledMcpjsonServers": ["a"], "disabledMcpjsonServers": ["c"]}
    (desk.home / ".claude" / "settings.json").write_text(json.dumps(settings))
    (desk.work / ".claude").mkdir()
    (desk.work / ".claude" / "settings.json").write_text(json.dumps({"enabledMcpjsonServers": ["b"]}))
    states = [line.rsplit(" - ", 1)[1][:1] for line in desk.mcp("list").splitlines()[2:]]
    assert states == ["✔", "⏸"]  # a folder cannot approve itself; what was rejected is not listed
    assert "Status: ✘ Rejected (see disabledMcpjsonServers in settings)\n" in desk.mcp("get", "c")
    desk.trust()
    states = [line.rsplit(" - ", 1)[1][:1] for line in desk.mcp("list").splitlines()[2:]]
    assert states == ["✔", "✔"]


def test_get_shows_one_server(desk: Desk) -> None:
    desk.mcp("add", "one", "-e", "A=1", "--", *GOOD)
    assert desk.mcp("get", "one").splitlines() == [
        "one:",
        "  Scope: Local config (private to you in this project)",
        "  Status: ✔ Connected",
        "  Type: stdio",
        f"  Command: {GOOD[0]}",
        f"  Args: {GOOD[1]} plain",
        "  Environment:",
        "    A=1",
        "",
        "To remove this server, run: yume-shim mcp remove one -s local",
    ]


def test_doctor_starts_the_servers_once(desk: Desk) -> None:
    count = f"import os; open('starts', 'a').write('x'); os.execv({GOOD[0]!r}, {list(GOOD)!r})"
    desk.mcp("add", "good", "--", sys.executable, "-c", count)
    desk.mcp("add", "-s", "user", "bad", "no-such-command-here")
    desk.shared.write_text(json.dumps({"mcpServers": {"shared": {"command": "x"}}}))
    ended = desk.run("doctor", ANTHROPIC_API_KEY="not-a-key")
    rows = ended.stdout.decode().partition("\nMCP servers\n")[2].splitlines()
    assert ended.code == 1, ended.stderr
    assert rows[0] == "  ✓ good           Connected"
    assert rows[1].startswith("  ✗ bad            Failed to connect — cannot start no-such-command-here")
    assert rows[2] == "  – shared         Pending approval (this folder is not trusted)"
    assert ended.stdout.decode().endswith("Do this next: repair or remove it: yume-shim mcp get bad\n")
    assert (desk.work / "starts").read_text() == "x"


def test_an_address_without_a_transport_is_pointed_out(desk: Desk) -> None:
    ended = desk.run("mcp", "add", "urlish", "http://x.y/z")
    assert ended.code == 0
    assert "use: yume-shim mcp add --transport http urlish http://x.y/z" in ended.stderr.decode()
