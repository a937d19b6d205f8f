"""The whole program in a folder whose files configure a hook and an MCP server: trusted, untrusted, asked about."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.fake_server import FakeServer
from tests.test_startup import WIRE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FORMS = {
    "flat": ("--output-format", "flat"),
    "claude": ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"),
}
ASKING = {"flat": ("--permission-mode", "interactive"), "claude": ("--permission-prompt-tool", "stdio")}
"""How the host says that it answers questions."""
SERVER = """
import json, sys
open("server-started", "w").close()
for line in sys.stdin:
    request = json.loads(line)
    if request["method"] == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "w"}}
    elif request["method"] == "tools/list":
        result = {"tools": [{"name": "say", "inputSchema": {"type": "object"}}]}
    elif "id" in request:
        result = {}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""


class Folder:
    """The program in a home and a workspace of its own, with a model that says hello."""

    def __init__(self, base: Path, server: FakeServer) -> None:
        self.home, self.cwd, self._server = base / "home", base / "ws", server
        self.home.mkdir()
        (self.cwd / ".claude").mkdir(parents=True)
        hook = {"type": "command", "command": "touch hook-ran"}
        settings = {"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}, "permissions": {"allow": ["Bash"]}}
        (self.cwd / ".claude" / "settings.json").write_text(json.dumps(settings))
        (self.cwd / "server.py").write_text(SERVER)
        servers = {"words": {"command": sys.executable, "args": ["server.py"]}}
        (self.cwd / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))

    def start(self, form: str, *argv: str, trust: str = "") -> child.Child:
        more = {"YUME_TRUST": trust} if trust else {}
        env = child.clean_environment(
            self.home, ANTHROPIC_BASE_URL=self._server.url, ANTHROPIC_API_KEY="not-a-key", **more
        )
        return child.start((*FORMS[form], *argv), cwd=self.cwd, env=env)

    def run(self, form: str, *argv: str, trust: str = "", answer: Any = None) -> child.Ended:
        """One prompt; `answer` is the host's to the question about the folder."""
        program = self.start(form, *argv, trust=trust)
        try:
            program.send(prompt(form))
            if answer is not None:
                asked = program.wait_for("trust_folder")
                reply = {"subtype": "success", "request_id": asked["request_id"], "response": answer}
                program.send({"type": "control_response", "response": reply})
            program.wait_for("result")
            return program.end()
        finally:
            program.kill()

    @property
    def started(self) -> set[str]:
        """What was started since the last look."""
        marks = {name for name in ("hook-ran", "server-started") if (self.cwd / name).exists()}
        for name in marks:
            (self.cwd / name).unlink()
        return marks


def prompt(form: str) -> dict[str, Any]:
    if form == "flat":
        return {"type": "user", "content": "Hello"}
    return {"type": "user", "message": {"role": "user", "content": "Hello"}}


def left_out(ended: child.Ended) -> list[tuple[str, str, str]] | None:
    """What the last init line names."""
    init = [line for line in ended.lines if line.get("subtype") == "init"][-1]
    entries = init.get("left_out")
    return None if entries is None else [(entry["kind"], entry["name"], entry["reason"]) for entry in entries]


def questions(ended: child.Ended) -> list[dict[str, Any]]:
    return [line["request"] for line in ended.lines if line["type"] == "control_request"]


BOTH = {"hook-ran", "server-started"}
GRANT = ("setting", "permissions.allow", "untrusted")


def waiting(reason: str) -> list[tuple[str, str, str]]:
    return [
        ("setting", "permissions.allow", reason),
        ("mcp_server", "words", reason),
        ("hooks", "UserPromptSubmit", reason),
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    with FakeServer("anthropic-messages", [WIRE] * 4) as server:
        yield Folder(tmp_path, server)


@pytest.mark.parametrize("form", FORMS)
def test_a_trusted_folder(folder: Folder, form: str) -> None:
    ended = folder.run(form, "--trust", trust="strict")
    assert (folder.started, left_out(ended), ended.stderr) == (BOTH, None, b"")


@pytest.mark.parametrize("form", FORMS)
def test_strict_starts_nothing_and_names_it(folder: Folder, form: str) -> None:
    ended = folder.run(form, trust="strict")
    assert (folder.started, left_out(ended)) == (set(), waiting("untrusted"))
    said = ended.stderr.decode()
    assert "permissions.allow of its .claude/settings files is ignored" in said
    assert "hooks of its project settings are not run" in said
    assert "servers of its .mcp.json are not started (words)" in said


def test_the_default_of_each_form(folder: Folder) -> None:
    ended = folder.run("flat")
    assert (folder.started, left_out(ended)) == (set(), waiting("untrusted"))
    ended = folder.run("claude")
    assert (folder.started, left_out(ended)) == (BOTH, [GRANT])


@pytest.mark.parametrize("form", FORMS)
def test_a_yes_starts_it_and_is_remembered(folder: Folder, form: str) -> None:
    ended = folder.run(form, *ASKING[form], trust="ask", answer={"trusted": True})
    [question] = questions(ended)
    assert question["cwd"] == str(folder.cwd)
    assert [entry["name"] for entry in question["left_out"]] == ["permissions.allow", "words", "UserPromptSubmit"]
    assert folder.started == BOTH
    assert left_out(ended) == (waiting("asking") if form == "flat" else None)
    again = folder.run(form, *ASKING[form], trust="ask")
    assert (folder.started, questions(again), left_out(again)) == (BOTH, [], None)


@pytest.mark.parametrize("form", FORMS)
def test_a_no_is_remembered(folder: Folder, form: str) -> None:
    ended = folder.run(form, *ASKING[form], trust="ask", answer={"trusted": False})
    assert (folder.started, len(questions(ended))) == (set(), 1)
    again = folder.run(form, *ASKING[form], trust="ask")
    assert (folder.started, questions(again), left_out(again)) == (set(), [], waiting("untrusted"))


@pytest.mark.parametrize("answer", [{}, {"trusted": "yes"}, {"behavior": "allow"}])
def test_an_answer_that_is_none_starts_nothing_and_is_not_remembered(folder: Folder, answer: Any) -> None:
    folder.run("claude", *ASKING["claude"], trust="ask", answer=answer)
    assert folder.started == set()
    assert not (folder.home / ".yume" / "trust.json").exists()


@pytest.mark.parametrize("form", FORMS)
def test_without_a_host_ask_is_strict(folder: Folder, form: str) -> None:
    ended = folder.run(form, trust="ask")
    assert (folder.started, questions(ended)) == (set(), [])
    assert not (folder.home / ".yume" / "trust.json").exists()


def test_a_host_that_ends_instead_of_answering(folder: Folder) -> None:
    program = folder.start("flat", *ASKING["flat"], trust="ask")
    program.send(prompt("flat"))
    program.wait_for("trust_folder")
    ended = program.end()
    assert (ended.code, folder.started) == (0, set())
    assert [line["type"] for line in ended.lines][-2:] == ["result", "message_stop"]


def test_an_interrupted_question_is_asked_again(folder: Folder) -> None:
    program = folder.start("flat", *ASKING["flat"], trust="ask")
    try:
        program.send(prompt("flat"))
        first = program.wait_for("trust_folder")
        program.send({"type": "interrupt"})
        assert program.wait_for("control_cancel_request")["request_id"] == first["request_id"]
        program.wait_for("message_stop")
        program.send(prompt("flat"))
        assert program.wait_for("trust_folder")["request_id"] != first["request_id"]
    finally:
        program.kill()


def test_managed_settings_by_flag(folder: Folder) -> None:
    policy = {"allowManagedHooksOnly": True, "deniedMcpServers": [{"serverName": "words"}]}
    ended = folder.run("claude", "--trust", "--managed-settings", json.dumps(policy))
    assert (folder.started, left_out(ended)) == (
        set(),
        [("mcp_server", "words", "managed"), ("hooks", "UserPromptSubmit", "managed")],
    )
