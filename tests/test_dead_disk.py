"""Work that no signal can stop, in an agent, behind an MCP server, in an ACP session and before a compaction: the turn
ends all the same, says what goes on, and the session serves the next prompt."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child, dead_disk_shim
from tests.helpers.engine_fakes import SPEC, Bench, ScriptedProvider, answer, info, says
from tests.helpers.host_world import processes_of
from tests.helpers.scripted_model import ModelServer, call, say
from tests.helpers.timing import wait_until
from yume_shim.engine.session import Session
from yume_shim.types.blocks import Text
from yume_shim.types.commands import Compact, EndOfInput, UserInput
from yume_shim.types.events import Notice, TurnEnded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.helpers.child import Child

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="paths and signals of POSIX")

SERVER = Path(__file__).parent / "helpers" / "odd_mcp_server.py"
LARGE = "x" * 400_000
"""A result that is saved to a file."""
AGENT = call("Agent", description="Look", prompt="Read it.", subagent_type="general-purpose")
READ = call("Read", file_path="dead.txt")


def begin(folder: Path, server: ModelServer, name: str, *argv: str, hooks: dict[str, Any] | None = None) -> Child:
    work, home = folder / "ws", folder / "home"
    work.mkdir()
    (work / "dead.txt").write_text("nobody reads this\n")
    (home / ".claude").mkdir(parents=True)
    (home / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks or {}}))
    env = child.clean_environment(home, ANTHROPIC_BASE_URL=server.url, ANTHROPIC_API_KEY="sk-x", IS_SANDBOX="1")
    words = [*argv, "--model", "anthropic/claude-sonnet-4-5"]
    return child.start(words, cwd=work, env=env, program=dead_disk_shim.command(name))


def stop_and_go_on(program: Child) -> list[dict[str, Any]]:
    """Interrupt, wait for the result, prompt again; the lines of both turns."""
    begun = len(program.out)
    program.send({"type": "interrupt"})
    program.wait_for("message_stop")
    program.send({"type": "user", "content": "And now?"})
    program.wait_for("message_stop")
    ended = program.end()
    assert (ended.code, ended.stderr.count(b"Traceback")) == (0, 0)
    return ended.lines[begun:]


def check(lines: list[dict[str, Any]], *, abandoned: str) -> None:
    results = [(line["subtype"], line["is_error"]) for line in lines if line["type"] == "result"]
    assert len(results) == 2
    assert results[1] == ("success", False)
    [warning] = [line for line in lines if line.get("code") == "abandoned"]
    assert abandoned in json.dumps(warning)


def test_a_call_of_an_agent(tmp_path: Path) -> None:
    with ModelServer([AGENT], [READ], [say("I am here.")]) as server:
        program = begin(tmp_path, server, "dead.txt", "--permission-mode", "bypassPermissions")
        program.send({"type": "user", "content": "go"})
        wait_until((tmp_path / "home" / "stuck").exists, "the agent's call")
        lines = stop_and_go_on(program)
    check(lines, abandoned="The call of Read did not stop")
    ended = [line["tool_use_id"] for line in lines if line["type"] == "tool_result"]
    assert len(ended) == len(set(ended)) == 2


def test_the_result_of_a_server(tmp_path: Path) -> None:
    config = {"mcpServers": {"odd": {"command": sys.executable, "args": ["-S", "-E", str(SERVER), "fine"]}}}
    with ModelServer([call("mcp__odd__echo", words=LARGE)], [say("I am here.")]) as server:
        argv = ("--permission-mode", "bypassPermissions", "--mcp-config", json.dumps(config))
        program = begin(tmp_path, server, "toolu_", *argv)
        program.send({"type": "user", "content": "go"})
        wait_until((tmp_path / "home" / "stuck").exists, "the result that is saved")
        lines = stop_and_go_on(program)
    check(lines, abandoned="The call of mcp__odd__echo did not stop")
    assert [line["is_error"] for line in lines if line["type"] == "tool_result"] == [True]


def test_a_call_in_an_acp_session(tmp_path: Path) -> None:
    with ModelServer([READ], [say("I am here.")]) as server:
        program = begin(tmp_path, server, "dead.txt", "acp")

        def ask(id: int, method: str, **params: Any) -> None:
            program.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})

        def answer_to(id: int) -> dict[str, Any]:
            found: list[dict[str, Any]] = []

            def came() -> bool:
                lines = map(json.loads, program.out)
                found[:] = [line for line in lines if line.get("id") == id and "method" not in line]
                return bool(found)

            wait_until(came, f"the answer to {id}")
            return dict(found[0]["result"])

        def prompt(id: int, text: str) -> None:
            ask(id, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])

        ask(1, "initialize", protocolVersion=1, clientCapabilities={})
        ask(2, "session/new", cwd=str(tmp_path / "ws"), mcpServers=[])
        session = answer_to(2)["sessionId"]
        prompt(3, "go")
        wait_until((tmp_path / "home" / "stuck").exists, "the call")
        program.send({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}})
        assert answer_to(3)["stopReason"] == "cancelled"
        prompt(4, "And now?")
        assert answer_to(4)["stopReason"] == "end_turn"
        ended = program.end()
    assert ended.code == 0
    states = [line["params"]["update"].get("status") for line in ended.lines if line.get("method") == "session/update"]
    assert "failed" in states
    assert b"The call of Read did not stop" in ended.stderr


def test_a_stubborn_hook_before_a_compaction(tmp_path: Path) -> None:
    """It ignores every signal that can be ignored, and so do its children."""
    command = "touch begun; trap '' TERM INT HUP; (sleep 300; sleep 300) & sleep 300; sleep 300"
    hooks = {"PreCompact": [{"hooks": [{"type": "command", "command": command}]}]}
    with ModelServer([say("A first answer.")], [say("I am here.")]) as server:
        program = begin(tmp_path, server, "no such name", hooks=hooks)
        program.send({"type": "user", "content": "go"})
        program.wait_for("message_stop")
        program.send({"type": "user", "content": "/compact"})
        wait_until((tmp_path / "ws" / "begun").exists, "the hook")
        lines = stop_and_go_on(program)
    assert len([line for line in lines if line["type"] == "result"]) == 2
    assert processes_of(tmp_path / "home") == []


def test_a_summary_that_does_not_end() -> None:
    """The request of a compaction that no signal stops: the history stays, and the next prompt is answered."""
    begun, go = threading.Event(), threading.Event()

    class Deaf(ScriptedProvider):
        def stream(self, request: Any, cancel: Any) -> Iterator[Any]:
            if len(self.requests) == 1:
                self.requests.append(request)
                begun.set()
                assert go.wait(60)
            yield from super().stream(request, cancel)

    bench = Bench(Deaf(answer(says("A first answer.")), answer(says("I am here."))))
    session = Session(bench.services, SPEC, "s-1", lambda _: SPEC, info)

    def host() -> None:
        assert begun.wait(60)
        assert session.interrupt("user")
        assert session.interrupt("user")
        session.submit(UserInput((Text("And now?"),), "And now?"))
        session.submit(EndOfInput())

    threading.Thread(target=host, daemon=True).start()
    session.submit(UserInput((Text("go"),), "go"))
    session.submit(Compact())
    session.run()
    go.set()
    assert any(notice.code == "abandoned" for notice in bench.of(Notice))
    assert [end.outcome for end in bench.of(TurnEnded)][-1] == "success"
    assert "A first answer." in str(bench.provider.requests[-1].messages)
