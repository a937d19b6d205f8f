"""`yume-shim acp` line by line: bad input, odd moments, the end. Every request gets one answer, whatever came."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.host_world import ANTHROPIC, HostWorld
from tests.helpers.scripted_model import call, hold, pause, say
from yume_shim.host.reader import MAX_INPUT_LINE
from yume_shim.types.exit_codes import CODES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NEW = "11111111-2222-4333-8444-555555555555"


class Wire:
    """The program behind its two pipes."""

    def __init__(self, world: HostWorld, *flags: str) -> None:
        self.world = world
        self.program = child.start(["acp", *flags], cwd=world.cwd, env=world.env)
        self._count = 0

    def send(self, method: str, **params: Any) -> int:
        """A request; returns its id."""
        self._count += 1
        self.program.send({"jsonrpc": "2.0", "id": self._count, "method": method, "params": params})
        return self._count

    def notify(self, method: str, **params: Any) -> None:
        self.program.send({"jsonrpc": "2.0", "method": method, "params": params})

    def messages(self) -> list[dict[str, Any]]:
        with self.program.changed:
            return [json.loads(line) for line in self.program.out]

    def answers(self, id: object) -> list[dict[str, Any]]:
        return [one for one in self.messages() if "method" not in one and one.get("id") == id]

    def wait(self, found: Any) -> dict[str, Any]:
        """The first message that `found` accepts, as soon as it is there."""
        with self.program.changed:
            while True:
                for line in self.program.out:
                    message: dict[str, Any] = json.loads(line)
                    if found(message):
                        return message
                if self.program.finished or time.monotonic() > self.program.deadline:
                    raise AssertionError(self.program.transcript())
                self.program.changed.wait(0.05)

    def answer(self, id: object) -> dict[str, Any]:
        return self.wait(lambda one: "method" not in one and one.get("id") == id)

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        return self.answer(self.send(method, **params))

    def hello(self) -> dict[str, Any]:
        return self.ask("initialize", protocolVersion=1)

    def new(self) -> str:
        opened = self.ask("session/new", cwd=str(self.world.cwd), mcpServers=[])
        return str(opened["result"]["sessionId"])

    def prompt(self, session: str, text: str) -> int:
        return self.send("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])

    def until(self, kind: str) -> dict[str, Any]:
        return self.wait(lambda one: one.get("params", {}).get("update", {}).get("sessionUpdate") == kind)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[HostWorld]:
    made = HostWorld(tmp_path, ANTHROPIC)
    yield made
    assert made.strays() == []
    made.close()


def code(answer: dict[str, Any]) -> int:
    return int(answer["error"]["code"])


def test_bad_messages_get_errors_and_the_session_goes_on(world: HostWorld) -> None:
    world.serve([say("Fine.")])
    wire = Wire(world)
    assert code(wire.ask("session/new", cwd=str(world.cwd))) == -32600  # before initialize
    assert wire.hello()["result"]["protocolVersion"] == 1
    for line in (b"{not json\n", b"[]\n", b"3\n", b'{"jsonrpc":"2.0","id":{},"method":"x"}\n', b"[" * 5000 + b"\n"):
        wire.program.send(line)
    wire.wait(lambda one: one.get("error", {}).get("code") == -32700)
    wire.program.send({"id": "old", "method": "initialize"})
    assert code(wire.answer("old")) == -32600
    wire.program.send({"jsonrpc": "2.0", "id": "p", "method": "session/new", "params": [1]})
    assert code(wire.answer("p")) == -32602
    assert code(wire.ask("session/teleport")) == -32601
    assert code(wire.ask("authenticate", methodId="x")) == -32602
    assert code(wire.ask("session/new", cwd="relative", mcpServers=[])) == -32602
    assert code(wire.ask("session/new", cwd="/no/such/folder", mcpServers=[])) == -32602
    assert code(wire.ask("session/new", cwd=str(world.cwd), mcpServers=[{"name": "a", "type": "acp"}])) == -32602
    assert code(wire.ask("session/load", cwd=str(world.cwd), sessionId=NEW, mcpServers=[])) == -32002
    assert code(wire.ask("session/resume", cwd=str(world.cwd), sessionId="../x", mcpServers=[])) == -32002
    assert code(wire.ask("session/prompt", sessionId=NEW, prompt=[{"type": "text", "text": "x"}])) == -32002
    assert code(wire.ask("session/list", cursor="x")) == -32602
    session = wire.new()
    for bad in ("x", [], [3], [{"type": "text"}], [{"type": "video"}], [{"type": "resource", "resource": {}}]):
        assert code(wire.ask("session/prompt", sessionId=session, prompt=bad)) == -32602
    assert code(wire.ask("session/set_mode", sessionId=session, modeId="fly")) == -32602
    assert code(wire.ask("session/set_mode", sessionId=session, modeId="bypassPermissions")) == -32602
    assert code(wire.ask("session/set_config_option", sessionId=session, configId="size", value="x")) == -32602
    assert code(wire.ask("session/set_config_option", sessionId=session, configId="effort", value="x")) == -32602
    changed = wire.ask("session/set_config_option", sessionId=session, configId="effort", value="low")["result"]
    assert [option["currentValue"] for option in changed["configOptions"]][2] == "low"
    wire.notify("session/cancel", sessionId=session)  # nothing runs
    wire.notify("session/cancel", sessionId="unknown")
    wire.notify("$/cancel_request", requestId=99)
    wire.notify("unheard/of")
    wire.program.send({"jsonrpc": "2.0", "id": "nobody", "result": {}})
    assert wire.answer(wire.prompt(session, "Go."))["result"] == {"stopReason": "end_turn"}
    assert code(wire.ask("session/load", cwd=str(world.cwd), sessionId=session, mcpServers=[])) == -32600
    assert "configOptions" in wire.ask("session/resume", cwd=str(world.cwd), sessionId=session, mcpServers=[])["result"]
    ended = wire.program.end()
    assert (ended.code, ended.stderr) == (0, b"")
    assert all(len(wire.answers(id)) == 1 for id in range(1, wire._count + 1))


def test_requests_need_not_wait_for_answers(world: HostWorld) -> None:
    """Both threads import while the first answers are on their way: that must not lock them."""
    world.serve()
    for _ in range(2):
        wire = Wire(world)
        hello, opened = wire.send("initialize", protocolVersion=1), wire.send("session/new", cwd=str(world.cwd))
        assert "result" in wire.answer(opened)
        assert "result" in wire.answer(hello)
        assert wire.program.end().code == 0


def test_a_line_over_the_limit_is_answered(world: HostWorld) -> None:
    world.serve()
    wire = Wire(world)
    wire.hello()
    wire.program.send(b'{"jsonrpc":"2.0","id":77,"method":"session/prompt","x":"' + b"a" * MAX_INPUT_LINE + b'"}\n')
    assert code(wire.answer(77)) == -32600
    assert "result" in wire.ask("session/list")
    assert wire.program.end().code == 0


def test_cancels_at_odd_moments(world: HostWorld) -> None:
    """Before the turn starts, while prompts wait, by the request's id, while a call waits for its permission."""
    world.serve(
        [say("One", 1), hold()],
        [say("Two", 1), hold()],
        [call("Write", file_path="a.txt", content="a")],
        [say("Last.")],
    )
    wire = Wire(world)
    wire.hello()
    session = wire.new()
    at_once = wire.prompt(session, "at once")
    wire.notify("session/cancel", sessionId=session)
    assert wire.answer(at_once)["result"] == {"stopReason": "cancelled"}
    served = len(world.requests())
    if not served:  # it was stopped before it was sent: use up its answer
        spare = wire.prompt(session, "spare")
        wire.until("agent_message_chunk")
        wire.notify("session/cancel", sessionId=session)
        assert wire.answer(spare)["result"] == {"stopReason": "cancelled"}
    first = wire.prompt(session, "first")
    second, third = wire.prompt(session, "second"), wire.prompt(session, "third")
    wire.wait(lambda one: "Two" in json.dumps(one))
    wire.notify("$/cancel_request", requestId=third)
    assert wire.answer(third)["result"] == {"stopReason": "cancelled"}
    assert wire.answers(first) == wire.answers(second) == []
    wire.notify("$/cancel_request", requestId=first)
    assert wire.answer(first)["result"] == {"stopReason": "cancelled"}
    asked = wire.wait(lambda one: one.get("method") == "session/request_permission")
    wire.notify("session/cancel", sessionId=session)
    assert wire.answer(second)["result"] == {"stopReason": "cancelled"}
    withdrawn = wire.wait(lambda one: one.get("method") == "$/cancel_request")
    assert withdrawn["params"] == {"requestId": asked["id"]}
    late = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
    wire.program.send({"jsonrpc": "2.0", "id": asked["id"], "result": late})
    assert wire.answer(wire.prompt(session, "again"))["result"] == {"stopReason": "end_turn"}
    assert not (world.cwd / "a.txt").exists()
    assert wire.program.end().code == 0
    assert all(len(wire.answers(id)) == 1 for id in range(1, wire._count + 1))


def test_the_end_in_the_middle(world: HostWorld) -> None:
    """Close, two sessions side by side, end of input: all that is open is answered."""
    world.serve([say("One", 1), hold()], [say("Two", 1), hold()], [pause(1), say("x")])
    wire = Wire(world)
    wire.hello()
    left, right = wire.new(), wire.new()
    running = wire.prompt(left, "left")
    wire.wait(lambda one: "One" in json.dumps(one))
    other = wire.prompt(right, "right")
    wire.wait(lambda one: "Two" in json.dumps(one))
    closed = wire.send("session/close", sessionId=left)
    assert wire.answer(running)["result"] == {"stopReason": "cancelled"}
    assert wire.answer(closed)["result"] == {}
    assert code(wire.ask("session/prompt", sessionId=left, prompt=[{"type": "text", "text": "x"}])) == -32002
    assert code(wire.ask("session/delete", sessionId=right)) == -32600  # it is open
    assert wire.ask("session/delete", sessionId=left)["result"] == {}
    assert code(wire.ask("session/delete", sessionId=left)) == -32002
    assert left not in [one["sessionId"] for one in wire.ask("session/list")["result"]["sessions"]]
    ended = wire.program.end()
    assert ended.code == 0
    assert wire.answers(other)[0]["result"] == {"stopReason": "cancelled"}


def test_failures_are_errors_of_the_prompt(world: HostWorld) -> None:
    """No key, a provider that refuses, wrong flags."""
    wire = Wire(world)
    wire.hello()
    opened = wire.ask("session/new", cwd=str(world.cwd), mcpServers=[])
    assert code(opened) == -32000
    assert "ANTHROPIC_API_KEY" in opened["error"]["message"]
    assert wire.program.end().code == 0
    world.serve()  # every request is refused with 400
    wire = Wire(world)
    wire.hello()
    failed = wire.answer(wire.prompt(wire.new(), "Go."))
    assert (code(failed), failed["error"]["data"]["status"]) == (-32603, 400)
    wire.program.signal("TERM")
    assert wire.program.end().code == 143
    for flags in (["--print"], ["--resume", "x"], ["word"], ["--no-such-flag"]):
        ended = child.start(["acp", *flags], cwd=world.cwd, env=world.env).end()
        assert (ended.code, ended.stdout, ended.stderr.startswith(b"error: ")) == (2, b"", True)


def test_the_deadline_ends_running_prompts_and_the_process(world: HostWorld) -> None:
    world.serve([say("Half an"), hold()])
    wire = Wire(world, "--deadline", "6", "--exit-codes", "detailed")
    wire.hello()
    asked = wire.prompt(wire.new(), "Hi")
    assert "Reached the deadline (6 s)" in wire.answer(asked)["error"]["message"]
    wire.program.process.wait(30)
    assert wire.program.end().code == CODES["limit"]
    wrong = Wire(world, "--deadline", "soon").program.end()
    assert (wrong.code, b"--deadline must be a number" in wrong.stderr) == (2, True)
