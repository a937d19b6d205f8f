"""Third-party programs that start a Claude CLI or read its transcripts, with ours in its place."""

from __future__ import annotations

import json
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.client_packages import from_npm, from_pypi, node
from tests.helpers.host_world import program
from tests.helpers.scripted_model import call, say
from tests.helpers.sdk_host import SdkHost

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.helpers.host_world import HostWorld

STORIES = Path(__file__).parent / "ts"
DEADLINE = 60


class AcpClient:
    """The editor's side of the Agent Client Protocol: JSON-RPC lines over the pipes of claude-agent-acp."""

    def __init__(self, world: HostWorld, modules: Path) -> None:
        script = modules / "node_modules" / "@agentclientprotocol" / "claude-agent-acp" / "dist" / "index.js"
        self.process = subprocess.Popen(
            [node(), str(script)],
            env={**world.env, "CLAUDE_CODE_EXECUTABLE": program()},
            cwd=world.cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )
        self._watch = threading.Timer(DEADLINE, self.process.kill)
        self._watch.start()
        self._ids = 0
        self.updates: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []

    def request(self, method: str, **params: Any) -> Any:
        """Send a request, allow every permission asked meanwhile, return the answer."""
        self._ids += 1
        self._send({"id": self._ids, "method": method, "params": params})
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            match message:
                case {"method": "session/update"}:
                    self.updates.append(message["params"]["update"])
                case {"method": "session/request_permission"}:
                    self.asked.append(message["params"]["toolCall"])
                    chosen = next(o["optionId"] for o in message["params"]["options"] if o["kind"] == "allow_once")
                    outcome = {"outcome": "selected", "optionId": chosen}
                    self._send({"id": message["id"], "result": {"outcome": outcome}})
                case {"id": self._ids, "result": result}:
                    return result
                case {"id": self._ids}:
                    raise AssertionError(message)
        raise AssertionError(f"claude-agent-acp ended before it answered {method}")

    def text(self) -> str:
        """The agent's words so far."""
        chunks = [update for update in self.updates if update["sessionUpdate"] == "agent_message_chunk"]
        return "".join(chunk["content"]["text"] for chunk in chunks)

    def close(self) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        code = self.process.wait(DEADLINE)
        self.process.stdout.close()
        self._watch.cancel()
        return code

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()


@pytest.fixture(scope="session")
def acp_modules() -> Path:
    return from_npm("@agentclientprotocol/claude-agent-acp@0.99.1")


@pytest.fixture
def acp(world: HostWorld, acp_modules: Path) -> Iterator[AcpClient]:
    (world.cwd / "a.txt").write_text("alpha\n", "utf-8")
    world.serve(
        [say("Looking."), call("Read", file_path=str(world.cwd / "a.txt"))],
        [call("Write", file_path=str(world.cwd / "b.txt"), content="beta\n")],
        [say("Done.")],
        [say("You are welcome.")],
    )
    client = AcpClient(world, acp_modules)
    yield client
    if client.process.poll() is None:
        client.process.kill()
        client.close()


@pytest.mark.node
def test_claude_agent_acp(acp: AcpClient, world: HostWorld) -> None:
    assert acp.request("initialize", protocolVersion=1, clientCapabilities={})["protocolVersion"] == 1
    session = acp.request("session/new", cwd=str(world.cwd), mcpServers=[])["sessionId"]
    prompt = [{"type": "text", "text": "Copy a to b"}]
    ended = acp.request("session/prompt", sessionId=session, prompt=prompt)
    assert (ended["stopReason"], acp.text()) == ("end_turn", "Looking.Done.")
    assert [asked["name"] for asked in acp.asked] == ["Write"]
    done = [u["toolCallId"] for u in acp.updates if u.get("status") == "completed"]
    assert len(set(done)) == 2
    assert (world.cwd / "b.txt").read_text("utf-8") == "beta\n"
    acp.request("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "Thanks"}])
    assert acp.text() == "Looking.Done.You are welcome."
    assert session in [entry["sessionId"] for entry in acp.request("session/list", cwd=str(world.cwd))["sessions"]]
    assert acp.close() == 0


@pytest.mark.node
def test_claude_agent_acp_knows_how_full_the_context_is(acp: AcpClient, world: HostWorld) -> None:
    acp.request("initialize", protocolVersion=1, clientCapabilities={})
    session = acp.request("session/new", cwd=str(world.cwd), mcpServers=[])["sessionId"]
    acp.request("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "Copy a to b"}])
    sizes = [update["size"] for update in acp.updates if update["sessionUpdate"] == "usage_update"]
    assert sizes[-1] > 200_000  # the bridge's own guess
    assert acp.close() == 0


@pytest.mark.node
def test_ai_sdk_provider_with_settings_in_a_file(world: HostWorld) -> None:
    """This client passes on only ANTHROPIC_, CLAUDE_, AWS_ and GOOGLE_ variables: the file must be enough."""
    ai_sdk(world, in_file=True)


@pytest.mark.node
def test_ai_sdk_provider_with_settings_in_the_environment(anthropic_world: HostWorld) -> None:
    ai_sdk(anthropic_world, in_file=False)


def ai_sdk(world: HostWorld, *, in_file: bool) -> None:
    modules = from_npm("ai-sdk-provider-claude-code@3.6.0", "ai@6.0.326", "zod@4.6.7")
    world.serve([call("Write", file_path="hello.txt", content="hello\n")], [say("Written, as you wished.")])
    if in_file:
        world.settle_in_file()
    env = {**world.env, "HOST_MODULES": str(modules), "HOST_PROGRAM": program(), "HOST_CWD": str(world.cwd)}
    done = subprocess.run(
        [node(), str(STORIES / "ai_sdk.mjs")],
        env=env,
        cwd=world.cwd,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=DEADLINE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["asked"], report["finish"]) == (["Write"], "stop")
    assert report["tools"] == [["tool-call", "Write"], ["tool-result", "Write"]]
    assert "".join(report["pieces"]) == report["text"] == "Written, as you wished."
    assert len(report["pieces"]) > 1
    assert report["usage"]["outputTokens"] == 14
    assert (world.cwd / "hello.txt").read_text("utf-8") == "hello\n"


# ---------------------------------------------------------------- readers of transcripts


def write_transcript(world: HostWorld) -> Path:
    """A turn with a tool, as the SDK asks for it; the folder of transcripts."""
    (world.cwd / "a.txt").write_text("alpha\n", "utf-8")
    world.serve([say("Looking."), call("Read", file_path="a.txt")], [say("It says **alpha**.")])
    SdkHost(world).ask("What does a.txt say?")
    return world.home / ".claude" / "projects"


def ccusage(world: HostWorld) -> Any:
    """The totals that ccusage finds."""
    modules = from_npm("ccusage@18.0.11")
    write_transcript(world)
    script = modules / "node_modules" / "ccusage" / "dist" / "index.js"
    words = [node(), str(script), "session", "--json", "--offline"]
    done = subprocess.run(
        words, env=world.env, cwd=world.cwd, capture_output=True, text=True, timeout=DEADLINE, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["totals"]


@pytest.mark.node
def test_ccusage_counts_our_transcripts(world: HostWorld) -> None:
    """An answer of several blocks is several lines there, but its tokens count once."""
    totals = ccusage(world)
    assert (totals["inputTokens"], totals["outputTokens"]) == (24, 14)


@pytest.mark.node
def test_ccusage_knows_what_any_model_cost(world: HostWorld) -> None:
    """Models that it has no price for are counted by the price on the line."""
    assert ccusage(world)["totalCost"] > 0


def test_claude_code_log_renders_our_transcripts(world: HostWorld) -> None:
    command = from_pypi("claude-code-log==1.7.0", "claude-code-log")
    projects = write_transcript(world)
    (transcript,) = projects.glob("*/*.jsonl")
    page = world.home / "page.html"
    done = subprocess.run(
        [str(command), str(transcript), "-o", str(page)],
        env=world.env,
        cwd=world.cwd,
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    shown = page.read_text("utf-8")
    assert "What does a.txt say?" in shown
    assert "<strong>alpha</strong>" in shown
    assert "Read" in shown
