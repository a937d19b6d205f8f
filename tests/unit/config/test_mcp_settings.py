"""Where MCP servers come from, which of two wins, and what is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from yume_shim.config.build import build_settings
from yume_shim.config.setting_sources import SettingSources
from yume_shim.types.errors import BadInvocation
from yume_shim.types.settings import McpServer

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.types.settings import McpSettings


class Desk:
    """A home and a working folder with files, and what was logged."""

    def __init__(self, base: Path) -> None:
        self.home, self.cwd = base / "home", base / "work"
        self.home.mkdir()
        self.cwd.mkdir()
        self.logged: list[str] = []

    def user_file(self, **data: Any) -> None:
        (self.home / ".claude.json").write_text(json.dumps(data))

    def project_file(self, **servers: Any) -> None:
        (self.cwd / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))

    def build(self, *given: str, flat: bool = False, env: dict[str, str] | None = None, **flags: Any) -> McpSettings:
        values: dict[str, Any] = {name.replace("_", "-"): text for name, text in flags.items()}
        if given:
            values["mcp-config"] = given
        sources = SettingSources(
            values,
            (),
            flat=flat,
            env={"HOME": str(self.home), "ANTHROPIC_API_KEY": "k", **(env or {})},
            cwd=str(self.cwd),
            log=lambda level, message: self.logged.append(message),
        )
        return build_settings(sources).mcp


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def named(settings: McpSettings) -> list[tuple[str, str, str]]:
    return [(server.name, server.source, server.command or server.url) for server in settings.servers]


def config(**servers: Any) -> str:
    return json.dumps({"mcpServers": servers})


def test_no_server_is_configured(desk: Desk) -> None:
    assert desk.build().servers == ()


def test_sources_and_precedence(desk: Desk) -> None:
    desk.user_file(
        mcpServers={"a": {"command": "user-a"}, "d": {"command": "user-d"}},
        projects={str(desk.cwd): {"mcpServers": {"a": {"command": "local-a"}, "c": {"command": "local-c"}}}},
    )
    desk.project_file(a={"command": "project-a"}, b={"command": "project-b"}, c={"command": "project-c"})
    (desk.cwd / "more.json").write_text(config(a={"command": "flag-a"}))
    assert named(desk.build("more.json")) == [
        ("a", "dynamic", "flag-a"),
        ("c", "local", "local-c"),
        ("b", "project", "project-b"),
        ("d", "user", "user-d"),
    ]
    assert named(desk.build("more.json", strict_mcp_config=True)) == [("a", "dynamic", "flag-a")]
    assert named(desk.build(setting_sources="user")) == [
        ("a", "local", "local-a"),
        ("c", "local", "local-c"),
        ("d", "user", "user-d"),
    ]
    assert [name for name, *_ in named(desk.build(setting_sources="project"))] == ["a", "b", "c"]


def test_kinds_of_servers(desk: Desk) -> None:
    settings = desk.build(
        config(
            one={"command": "x", "args": ["-a", "b"], "env": {"K": "v"}},
            two={"url": "http://h/mcp", "headers": {"Authorization": "Bearer t"}},
            three={"type": "streamable-http", "url": "http://h"},
            four={"type": "sse", "url": "http://h"},
            five={"type": "sdk", "name": "five"},
        )
    )
    assert [(server.kind, server.source) for server in settings.servers] == [
        ("stdio", "dynamic"),
        ("http", "dynamic"),
        ("http", "dynamic"),
        ("sse", "dynamic"),
        ("sdk", "sdk"),
    ]
    assert "Bearer" not in repr(settings.servers)


def test_variables_are_replaced(desk: Desk) -> None:
    table = {"command": "${TOOL}", "args": ["${NO:-default}", "${EMPTY:-x}", "$TOOL"], "env": {"A": "${MISSING}"}}
    [server] = desk.build(config(s=table), env={"TOOL": "run", "EMPTY": ""}).servers
    assert (server.command, server.args, dict(server.env)) == ("run", ("default", "x", "$TOOL"), {"A": "${MISSING}"})
    assert desk.logged == ["MCP server s: the variable MISSING is not set"]


@pytest.mark.parametrize(
    "given",
    [
        "{",
        '{"mcpServers": 5}',
        "{}",
        "nowhere.json",
    ],
)
def test_a_wrong_flag_is_refused(desk: Desk, given: str) -> None:
    with pytest.raises(BadInvocation, match="Invalid MCP configuration"):
        desk.build(given)


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({}, "it needs a `command`, a text that is not empty"),
        (5, "it must be an object"),
        ({"type": "carrier-pigeon"}, "`type` must be one of stdio, http, sse, sdk"),
        ({"type": 5, "command": "x"}, "`type` must be one of stdio, http, sse, sdk"),
        ({"type": "http"}, "it needs a `url`, a text that is not empty"),
        ({"command": 5}, "it needs a `command`, a text that is not empty"),
        ({"command": "x", "args": "-v"}, "`args` must be a list of texts"),
        ({"command": "x", "args": [{}]}, "`args` must be a list of texts"),
        ({"command": "x", "env": ["A=1"]}, "`env` must be an object of texts"),
        ({"url": "http://127.0.0.1", "headers": {"A": None}}, "`headers` must be an object of texts"),
        ({"url": "http://127.0.0.1", "headersHelper": ["x"]}, "`headersHelper` must be a text"),
    ],
)
def test_a_server_that_is_wrongly_described_fails_alone(desk: Desk, table: Any, problem: str) -> None:
    bad, good = desk.build(config(bad=table, good={"command": "x"})).servers
    message = f"Invalid MCP configuration: server 'bad': {problem}"
    assert bad == McpServer(name="bad", source="dynamic", problem=message)
    assert (good.command, good.problem) == ("x", "")
    assert desk.logged == [f"Error: {message}"]


def test_a_wrong_file_is_a_warning(desk: Desk) -> None:
    desk.project_file(bad={}, good={"command": "x"})
    assert named(desk.build()) == [("bad", "project", ""), ("good", "project", "x")]
    assert len(desk.logged) == 1
    (desk.cwd / ".mcp.json").write_text('{"mcpServers": {')
    assert desk.build().servers == ()


def test_a_folder_that_is_not_trusted_starts_nothing_in_flat(desk: Desk) -> None:
    desk.project_file(a={"command": "x"})
    settings = desk.build(flat=True)
    assert (settings.servers, settings.servers_if_trusted) == ((), ())
    assert "not trusted" in desk.logged[0]
    desk.user_file(projects={str(desk.cwd): {"hasTrustDialogAccepted": True}})
    assert named(desk.build(flat=True)) == [("a", "project", "x")]


def test_servers_of_the_folder_can_be_switched_off(desk: Desk) -> None:
    desk.project_file(a={"command": "x"}, b={"command": "y"})
    settings = json.dumps({"disabledMcpjsonServers": ["a"]})
    assert named(desk.build(settings=settings)) == [("b", "project", "y")]


def test_limits(desk: Desk) -> None:
    assert (desk.build().connect_s, desk.build().call_s, desk.build().output_tokens) == (30.0, 600.0, 25_000)
    env = {"MCP_TIMEOUT": "1500", "MCP_TOOL_TIMEOUT": "2000", "MAX_MCP_OUTPUT_TOKENS": "100"}
    limits = desk.build(config(s={"command": "x"}), env=env)
    assert (limits.connect_s, limits.call_s, limits.output_tokens) == (1.5, 2.0, 100)


def test_the_user_approves_servers_of_a_folder_by_name(desk: Desk) -> None:
    desk.project_file(a={"command": "a"}, b={"command": "b"})
    (desk.cwd / ".claude").mkdir()
    (desk.cwd / ".claude" / "settings.json").write_text(json.dumps({"enableAllProjectMcpServers": True}))
    assert named(desk.build(flat=True)) == []  # a folder cannot approve itself
    (desk.home / ".claude").mkdir()
    (desk.home / ".claude" / "settings.json").write_text(json.dumps({"enabledMcpjsonServers": ["b"]}))
    assert named(desk.build(flat=True)) == [("b", "project", "b")]
    assert desk.logged[-1].endswith("(a)")


def test_the_entry_of_a_repository_and_the_folder_of_the_claude_cli(desk: Desk) -> None:
    desk.home = desk.home / "config"
    desk.home.mkdir()
    desk.user_file(projects={str(desk.cwd): {"mcpServers": {"a": {"command": "a"}}}})
    (desk.cwd / ".git").mkdir()
    desk.cwd = desk.cwd / "sub"
    desk.cwd.mkdir()
    env = {"HOME": str(desk.home.parent), "CLAUDE_CONFIG_DIR": str(desk.home)}
    assert named(desk.build(env=env)) == [("a", "local", "a")]
    assert named(desk.build(env={**env, "CLAUDE_CONFIG_DIR": ""})) == []
