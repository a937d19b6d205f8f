"""Start-up is the product's speed: which modules are loaded at the first line and at the first delta."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bench_parts.extensions import configure

from tests.helpers import child, listening_shim
from tests.helpers.fake_server import FakeServer
from tests.helpers.timing import soon

if TYPE_CHECKING:
    from yume_shim.types.blocks import Json

WIRE: list[Json] = [
    {
        "type": "message_start",
        "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": {}},
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
    {"type": "message_stop"},
]
NEVER = [
    "anthropic",
    "asyncio",
    "bs4",
    "claude_agent_sdk",
    "click",
    "concurrent.futures",
    "email",
    "ftfy",
    "genai_prices",
    "google",
    "grpc",
    "h11",
    "httpx",
    "httpx2",
    "logging",
    "markdownify",
    "mcp",
    "openai",
    "opentelemetry",
    "pathspec",
    "PIL",
    "pypdf",
    "pydantic",
    "requests",
    "ssl",
    "subprocess",
    "tempfile",
    "tiktoken",
    "tomllib",
    "tree_sitter",
    "unittest",
    "urllib.request",
]
"""Not in a turn that needs no tool, no TLS and no price."""
NOT_BEFORE_FIRST_LINE = [
    *NEVER,
    "dataclasses",
    "datetime",
    "decimal",
    "glob",
    "http.client",
    "inspect",
    "orjson",
    "pathlib",
    "shutil",
    "typing",
    "uuid",
]
"""Besides: what may be loaded while waiting for the model's answer."""
PLAIN_SERVER = str(Path(__file__).parent / "helpers" / "odd_mcp_server.py")
CONFIGURED_ONLY = [
    "yume_shim.app.trust_question",
    "yume_shim.config.claude_settings",
    "yume_shim.config.hook_settings",
    "yume_shim.config.managed_settings",
    "yume_shim.config.mcp_admission",
    "yume_shim.config.mcp_settings",
    "yume_shim.config.plugin_settings",
    "yume_shim.config.prompt_settings",
    "yume_shim.config.settings_check",
    "yume_shim.config.trust",
    "yume_shim.engine.command_table",
    "yume_shim.engine.slash_commands",
    "yume_shim.extensions",
    "yume_shim.telemetry",
]
QUESTIONS_ONLY = [
    "yume_shim.app.model_requests",
    "yume_shim.app.pages",
    "yume_shim.app.session_requests",
    "yume_shim.app.tool_list",
    "yume_shim.dialects.line_order",
    "yume_shim.dialects.records.control_request_records",
    "yume_shim.dialects.records.index",
    "yume_shim.dialects.records.input_records",
    "yume_shim.dialects.schema_check",
    "yume_shim.dialects.stream_check",
    "yume_shim.engine.title",
    "yume_shim.store.changes",
    "yume_shim.store.stored_messages",
    "yume_shim.store.titles",
    "yume_shim.types.answer_records",
]
"""What only questions of the host and checks of streams need."""
FORMS = {
    "flat": ("--output-format", "flat"),
    "nested": ("-p", "Hello", "--output-format", "stream-json", "--verbose"),
}


def environment(home: Path, server: FakeServer, **more: str) -> dict[str, str]:
    return child.clean_environment(home, ANTHROPIC_BASE_URL=server.url, ANTHROPIC_API_KEY="not-a-key", **more)


def loaded(path: Path) -> dict[str, set[str]]:
    """Moment → names of the modules that were loaded then."""
    found = {}
    for line in path.read_text("utf-8").splitlines():
        moment, *names = line.split(" ")
        found[moment] = set(names)
    return found


def hits(names: set[str], banned: list[str]) -> set[str]:
    return {ban for ban in banned if any(name == ban or name.startswith(f"{ban}.") for name in names)}


@pytest.mark.parametrize(("form", "telemetry"), [(form, False) for form in FORMS] + [("flat", True)])
def test_nothing_heavy_is_loaded_before_the_answer(form: str, telemetry: bool, tmp_path: Path) -> None:
    report = tmp_path / "modules"
    more = {"CLAUDE_CODE_ENABLE_TELEMETRY": "1", "OTEL_LOGS_EXPORTER": "console"} if telemetry else {}
    with FakeServer("anthropic-messages", [WIRE]) as server:
        env = environment(tmp_path, server, **more)
        watched = listening_shim.modules_reported(report)
        program = child.start(FORMS[form], cwd=tmp_path, env=env, program=watched)
        if form == "flat":
            program.send({"type": "user", "content": "Hello"})
        ended = program.end()
    assert ended.code == 0, ended.stderr
    assert (b"claude_code.user_prompt" in ended.stderr) == telemetry
    moments = loaded(report)
    assert set(moments) == {"first", "request", "delta"}
    assert hits(moments["first"], NOT_BEFORE_FIRST_LINE) == set()
    assert hits(moments["delta"], [*NEVER, *QUESTIONS_ONLY]) == set()


@pytest.mark.parametrize("form", FORMS)
def test_a_turn_with_an_mcp_server_loads_no_mcp_package(form: str, tmp_path: Path) -> None:
    report = tmp_path / "modules"
    table = {"command": sys.executable, "args": [PLAIN_SERVER, "plain"]}
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": {"s": table}}))
    with FakeServer("anthropic-messages", [WIRE]) as server:
        env = environment(tmp_path, server)
        watched = listening_shim.modules_reported(report)
        argv = (*FORMS[form], "--mcp-config", "servers.json")
        program = child.start(argv, cwd=tmp_path, env=env, program=watched)
        if form == "flat":
            program.send({"type": "user", "content": "Hello"})
        ended = program.end()
    assert ended.code == 0, ended.stderr
    assert b"MCP server s" not in ended.stderr  # it was ended by us: nothing is lost
    names = loaded(report)["delta"]
    assert "yume_shim.extensions.mcp.stdio" in names
    assert hits(names, ["mcp", "anyio", "pydantic", "asyncio", "httpx2", "yume_shim.extensions.mcp.login"]) == set()


@pytest.mark.parametrize("form", FORMS)
def test_extensions_load_nothing_heavy(form: str, tmp_path: Path) -> None:
    """Three servers, two hooks, ten skills and five agents, as the bench configures them."""
    report = tmp_path / "modules"
    servers = configure(tmp_path)
    with FakeServer("anthropic-messages", [WIRE]) as server:
        env = environment(tmp_path, server, CLAUDE_CONFIG_DIR=str(tmp_path / ".claude"))
        argv = (*FORMS[form], "--mcp-config", str(servers))
        program = child.start(argv, cwd=tmp_path, env=env, program=listening_shim.modules_reported(report))
        if form == "flat":
            program.send({"type": "user", "content": "Hello"})
        ended = program.end()
    assert ended.code == 0, ended.stderr
    moments = loaded(report)
    if form == "flat":
        assert hits(moments["first"], ["enum", "fnmatch", "re", "yume_shim.extensions.mcp"]) == set()
    names = moments["delta"]
    needed = {f"yume_shim.extensions.{name}" for name in ("agents", "hooks", "mcp", "skills")}
    assert needed <= names
    assert hits(names, [name for name in NEVER if name != "subprocess"]) == set()
    assert hits(names, ["shutil", "lzma", "random", "yaml", "yume_shim.extensions.mcp.login"]) == set()


@pytest.mark.parametrize("form", FORMS)
def test_nothing_about_trust_is_loaded_without_files(form: str, tmp_path: Path) -> None:
    """No hooks, no servers, no settings files: none of their modules."""
    report = tmp_path / "modules"
    with FakeServer("anthropic-messages", [WIRE]) as server:
        watched = listening_shim.modules_reported(report)
        program = child.start(FORMS[form], cwd=tmp_path, env=environment(tmp_path, server), program=watched)
        if form == "flat":
            program.send({"type": "user", "content": "Hello"})
        assert program.end().code == 0
    names = loaded(report)["delta"]
    assert hits(names, CONFIGURED_ONLY) == set()


def test_the_first_answer_of_acp_loads_less_than_a_first_line(tmp_path: Path) -> None:
    """`initialize` needs the reader, the writer and JSON; sessions load while the client reads the answer."""
    hello = b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'
    code = "import sys; import yume_shim.cli.acp_command, yume_shim.host.signals; from yume_shim.app.acp import server"
    code += f"; server.AcpServer({{}}, {{}}).take_line({hello!r}); sys.stderr.write(' '.join(sorted(sys.modules)))"
    program = child.start(["-c", code], cwd=tmp_path, env=child.clean_environment(tmp_path), program=(sys.executable,))
    ended = program.end()
    assert json.loads(ended.stdout)["result"]["protocolVersion"] == 1
    rooms = [f"yume_shim.{name}" for name in ("app.start", "app.program", "config", "engine", "providers", "tools")]
    assert hits(set(ended.stderr.decode().split(" ")), [*NOT_BEFORE_FIRST_LINE, *rooms]) == set()


def test_a_turn_of_acp_loads_nothing_heavy(tmp_path: Path) -> None:
    report = tmp_path / "modules"
    with FakeServer("anthropic-messages", [WIRE]) as server:
        env = environment(tmp_path, server)
        program = child.start(["acp"], cwd=tmp_path, env=env, program=listening_shim.modules_reported(report))
        program.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}})
        opening = {"cwd": str(tmp_path), "mcpServers": []}
        program.send({"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": opening})
        with program.changed:
            opened = program.changed.wait_for(lambda: len(program.out) > 1, timeout=child.DEADLINE)
        assert opened, program.transcript()
        session = json.loads(program.out[1])["result"]["sessionId"]
        prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "Hello"}]}
        program.send({"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": prompt})
        with program.changed:
            answered = program.changed.wait_for(lambda: b'"id":2' in program.out[-1], timeout=child.DEADLINE)
        assert answered, program.transcript()
        assert program.end().code == 0
    names = loaded(report)["delta"]
    needed = {"yume_shim.engine.command_table"}  # clients are told what each command does
    assert hits(names, [*NEVER, *CONFIGURED_ONLY]) <= needed


def test_the_version_is_printed_without_loading_the_program(tmp_path: Path) -> None:
    code = "import sys; sys.argv = ['yume-shim', '--version']; from yume_shim.cli.main import main; main(['--version'])"
    code += "; sys.stderr.write(' '.join(sorted(sys.modules)))"
    program = child.start(["-c", code], cwd=tmp_path, env=child.clean_environment(tmp_path), program=(sys.executable,))
    ended = program.end()
    names = set(ended.stderr.decode().split(" "))
    assert ended.stdout.startswith(b"2.")
    assert hits(names, [*NOT_BEFORE_FIRST_LINE, "yume_shim.app", "yume_shim.engine", "yume_shim.providers"]) == set()


def test_the_first_line_comes_before_any_request(tmp_path: Path) -> None:
    with FakeServer("anthropic-messages", [WIRE]) as server:
        program = child.start(FORMS["flat"], cwd=tmp_path, env=environment(tmp_path, server))
        try:
            with soon():  # the bench measures the figure itself
                program.wait_for("init")
            assert server.connections == 0
        finally:
            assert program.end().code == 0
