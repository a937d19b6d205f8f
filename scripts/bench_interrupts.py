"""By hand: how long an interrupt takes at each point of a turn, and whether the next request is accepted afterwards.

    python scripts/bench_interrupts.py [--runs 3] [--only tool,hook] [--api anthropic|openai|openrouter|google|ollama]

The program runs with a scripted model on loopback that refuses what its API would refuse. At each point the host sends
`interrupt`; measured is the time to the line `result`. Then it sends a further prompt, which must succeed: the history
is valid. Promise: 200 ms. A line per point: the slowest run, without the time in which the program waited for a
processor and with it, and what went wrong, if anything.
"""

from __future__ import annotations

import argparse
import json
import shutil
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from tests.chaos.fair_clock import FairClock  # noqa: E402
from tests.helpers import child  # noqa: E402
from tests.helpers.fake_server import LoopbackServer  # noqa: E402
from tests.helpers.scripted_model import call, hold, refuse, say, think  # noqa: E402
from tests.helpers.session_cases import FORMATS  # noqa: E402
from tests.helpers.strict_model import StrictModel  # noqa: E402

if TYPE_CHECKING:
    from tests.helpers.child import Child
    from tests.helpers.scripted_model import Answer

PROMISE_MS = 200
SETTLE_S = 0.15
"""Pause between the sign that the point was reached and the interrupt."""
PROVIDERS = {
    "anthropic": ("anthropic/claude-sonnet-4-5", "ANTHROPIC_BASE_URL", "", "ANTHROPIC_API_KEY"),
    "openai": ("openai/gpt-5.4", "OPENAI_BASE_URL", "/v1", "OPENAI_API_KEY"),
    "openrouter": ("openrouter/m", "OPENROUTER_BASE_URL", "/v1", "OPENROUTER_API_KEY"),
    "google": ("google/gemini-3.5-flash", "GOOGLE_GEMINI_BASE_URL", "", "GEMINI_API_KEY"),
    "ollama": ("ollama/m", "OLLAMA_BASE_URL", "", "OLLAMA_API_KEY"),
}
SILENT = """
import json, sys, time
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    if message["method"] == "initialize":
        %s
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "s", "version": "1"}}
    elif message["method"] == "tools/list":
        result = {"tools": [{"name": "wait", "inputSchema": {"type": "object"}}]}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
ALLOWED = ("--allowedTools", "Bash,Agent,Task,mcp__s__wait")
SLEEP = "sleep 30"
STUBBORN = "trap '' TERM INT; while true; do sleep 0.1; done"
HELD_HOOK = {"matcher": "", "hooks": [{"type": "command", "command": SLEEP}]}
AGENT = {"description": "look", "prompt": "Look.", "subagent_type": "general-purpose", "run_in_background": False}
INIT = {"type": "control_request", "request_id": "i", "request": {"subtype": "initialize"}}


class Point(NamedTuple):
    """One point of a turn: what leads there, and the sign that it was reached."""

    answers: list[Answer]
    sign: str
    """A line of the program, or `request N` at the model."""
    argv: tuple[str, ...] = ALLOWED
    settings: dict[str, Any] = {}  # noqa: RUF012
    before: tuple[dict[str, Any], ...] = ()
    """Lines before the prompt."""
    first: str = "hi"
    prelude: int = 0
    """Prompts that run before."""
    address: str = ""
    """Where the first model lives: `full` (does not accept), `tls` (does not answer the handshake)."""


def points(folder: Path) -> dict[str, Point]:
    """All points. Each list of answers ends with the one to the further prompt."""
    fine: Answer = [say("fine")]

    def hooked(event: str, hook: dict[str, Any], *answers: Answer, sign: str = "") -> Point:
        return Point([*answers, fine], sign or "hook_started", settings={"hooks": {event: [hook]}})

    shows = (*ALLOWED, "--include-hook-events")
    bash = [call("Bash", command=SLEEP)]
    callback = {"hooks": {"PreToolUse": [{"matcher": None, "hookCallbackIds": ["h1"]}]}}
    asks = {**INIT, "request": {"subtype": "initialize", **callback}}
    schema = json.dumps({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
    for name, pause in (("tool", "pass"), ("start", "time.sleep(60)")):
        (folder / f"{name}.py").write_text(SILENT % pause)

    def server(name: str) -> tuple[str, ...]:
        command = {"command": sys.executable, "args": ["-I", str(folder / f"{name}.py")]}
        config = json.dumps({"mcpServers": {"s": command}})
        return (*ALLOWED, "--mcp-config", config, "--strict-mcp-config")

    return {
        "connect": Point([fine], "connected", address="full"),
        "connect-tls": Point([fine], "connected", address="tls"),
        "first-byte": Point([[hold()], fine], "request 1"),
        "text": Point([[say("Half an answer"), hold()], fine], "assistant-or-request 1"),
        "thinking": Point([[think("Let me see"), hold()], fine], "request 1"),
        "arguments": Point([[say("I call"), call("Bash", command="echo 1"), hold()], fine], "request 1"),
        "tool": Point([bash, fine], "assistant"),
        "tool-ignores-term": Point([[call("Bash", command=STUBBORN)], fine], "assistant"),
        "tools-side-by-side": Point(
            [[call("Agent", **AGENT), call("Agent", **AGENT)], [hold()], [hold()], fine], "request 3"
        ),
        "approval": Point(
            [[call("Bash", command="touch x")], fine], "can_use_tool", ("--permission-prompt-tool", "stdio")
        ),
        "hook-command": hooked("PreToolUse", HELD_HOOK, bash, sign="assistant"),
        "hook-prompt-submit": Point([fine], "pause", settings={"hooks": {"UserPromptSubmit": [HELD_HOOK]}}),
        "hook-stop": hooked("Stop", HELD_HOOK, [say("done")], sign="assistant"),
        "hook-http": Point([bash, fine], "assistant", shows),
        "hook-prompt": hooked(
            "PreToolUse", {"hooks": [{"type": "prompt", "prompt": "ok? $ARGUMENTS"}]}, bash, [hold()], sign="request 2"
        ),
        "hook-callback": Point([bash, fine], "hook_callback", before=(asks,)),
        "mcp-call": Point([[call("mcp__s__wait")], fine], "assistant", server("tool")),
        "mcp-connecting": Point([fine], "pause", server("start")),
        "compaction": Point([[say("one")], [hold()], fine], "request 2", first="/compact", prelude=1),
        "retry-wait": Point([[refuse(529, 30)], fine], "request 1"),
        "key-helper": Point([fine], "pause", settings={"apiKeyHelper": SLEEP}),
        "agent": Point([[call("Agent", **AGENT)], [hold()], fine], "request 2"),
        "agent-tool": Point([[call("Agent", **AGENT)], bash, fine], "request 2"),
        "agent-behind": Point(
            [[call("Agent", **{**AGENT, "run_in_background": True})], [hold()], [hold()], fine], "request 3"
        ),
        "structured": Point(
            [[say("no")], [hold()], [call("StructuredOutput", n=1)], fine], "request 2", ("--json-schema", schema)
        ),
        "between": Point([[call("Bash", command="true")] for _ in range(60)], "request 3"),
    }


class Run:
    """One session at one point."""

    def __init__(self, point: Point, provider: str, folder: Path) -> None:
        self.point, self.model = point, StrictModel(*point.answers)
        name, variable, path, key = PROVIDERS[provider]
        home = folder / "home"
        (home / ".claude").mkdir(parents=True)
        (folder / "ws").mkdir()
        self.silent = LoopbackServer(lambda exchange: exchange.wait_for_close() < 0)
        settings = dict(point.settings)
        if "--include-hook-events" in point.argv:
            hook = {"hooks": [{"type": "http", "url": f"{self.silent.url}/hook"}]}
            settings = {"hooks": {"PreToolUse": [hook]}, "allowedHttpHookUrls": ["*"]}
        (home / ".claude" / "settings.json").write_text(json.dumps(settings))
        self.full = socket.socket()
        self.fillers: list[socket.socket] = []
        address = self.model.url + path
        if point.address:
            address = self._full() if point.address == "full" else f"https://127.0.0.1:{self._silent_tls()}"
        env = child.clean_environment(home, **{variable: address})
        if "apiKeyHelper" not in settings:
            env[key] = "sk-bench"
        self.other, variable, path, key = PROVIDERS["openai" if provider == "openrouter" else "openrouter"]
        env |= {variable: self.model.url + path, key: "sk-bench"}
        argv = [*FORMATS["nested"], "--model", name, *point.argv]
        program = [sys.executable, "-m", "yume_shim"]
        env["PYTHONPATH"] = str(CHECKOUT)
        self.child: Child = child.start(argv, cwd=folder / "ws", env=env, program=program, deadline=15)

    def _full(self) -> str:
        """An address whose queue is full: connecting takes for ever."""
        self.full.bind(("127.0.0.1", 0))
        self.full.listen(0)
        for _ in range(4):
            sock = socket.socket()
            sock.setblocking(False)
            sock.connect_ex(self.full.getsockname())
            self.fillers.append(sock)
        return f"http://127.0.0.1:{self.full.getsockname()[1]}"

    def _silent_tls(self) -> int:
        """A port that accepts and never answers the handshake."""
        self.full.bind(("127.0.0.1", 0))
        self.full.listen(8)
        return int(self.full.getsockname()[1])

    def play(self) -> tuple[float, float, str]:
        """(milliseconds to the result, those in which the program did not wait for a processor, what went wrong)."""
        run, point = self.child, self.point
        for line in point.before:
            run.send(line)
        for _ in range(point.prelude):
            run.send(_prompt("hi"))
            run.wait_for("result")
        run.send(_prompt(point.first))
        self._await(point.sign)
        time.sleep(SETTLE_S)
        clock, over = FairClock(run.process.pid), threading.Event()
        counting = threading.Thread(target=clock.run, args=(over,))
        counting.start()
        begun = time.perf_counter()
        run.send({"type": "control_request", "request_id": "stop", "request": {"subtype": "interrupt"}})
        ended = run.wait_for("result")
        took = (time.perf_counter() - begun) * 1000
        over.set()
        counting.join()
        fair = min(took, clock.seconds * 1000)
        if ended.get("subtype") != "error_during_execution":
            return took, fair, f"the turn was not interrupted: {str(ended)[:300]}"
        if point.address or "apiKeyHelper" in point.settings:
            request = {"subtype": "set_model", "model": self.other}
            run.send({"type": "control_request", "request_id": "model", "request": request})
        if point.settings or "start.py" in str(point.argv):
            return took, fair, "; ".join(self.model.refused)  # what held the first prompt would hold the next
        run.send(_prompt("again"))
        if point.answers[-1] == [say("fine")]:
            result = run.wait_for("result")
            wrong = "" if not result.get("is_error") else f"the next prompt failed: {str(result.get('result'))[:300]}"
            return took, fair, "; ".join([*self.model.refused, *([wrong] if wrong else [])])
        run.wait_for("assistant")
        return took, fair, "; ".join(self.model.refused)

    def _await(self, sign: str) -> None:
        if sign == "pause" or sign == "connected":
            time.sleep(1.5)
            return
        kind, _, number = sign.rpartition(" ")
        if kind:
            end = time.monotonic() + 20
            while sum("/api/show" not in each.path for each in self.model.requests) < int(number):
                if time.monotonic() > end:
                    raise AssertionError(f"request {number} did not come; {self.child.transcript()}")
                time.sleep(0.01)
            return
        self.child.wait_for(sign)

    def close(self) -> None:
        self.child.kill()
        self.model.close()
        self.silent.close()
        for sock in (self.full, *self.fillers):
            sock.close()


def _prompt(text: str) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": text}}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--api", choices=sorted(PROVIDERS), default="anthropic")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="interrupts-"))
    late = 0
    for name, point in points(folder).items():
        if name == "key-helper" and given.api != "anthropic":  # the helper's key is for this API
            continue
        if given.only and not name.startswith(tuple(given.only.split(","))):
            continue
        times: list[tuple[float, float]] = []
        wrong: list[str] = []
        for number in range(given.runs):
            place = folder / f"{name}-{number}"
            place.mkdir()
            run = Run(point, given.api, place)
            try:
                took, fair, trouble = run.play()
                times.append((fair, took))
                wrong += [trouble] if trouble else []
            except AssertionError as error:
                wrong.append(str(error)[-1500:])
            finally:
                run.close()
        slowest, wall = max(times, default=(float("nan"), float("nan")))
        late += slowest > PROMISE_MS or bool(wrong)
        print(f"{name:20} {slowest:8.0f} ms  ({wall:.0f} ms)  {' | '.join(wrong)}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    print(f"{late} of the points were late or went wrong" if late else "every point within the promise")


if __name__ == "__main__":
    main()
