"""Runs one planned session against the real program and gathers everything that the judge needs."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.chaos.fair_clock import FairClock
from tests.chaos.fault_server import MCP, FaultServer
from tests.chaos.launcher import Launcher, Start
from tests.chaos.plan import ENDPOINTS, HOOKS, HTTP, JUMPS, afterwards
from tests.chaos.routes import Roads
from tests.chaos.running import SHUTDOWN, Running
from tests.helpers.child import clean_environment
from tests.helpers.host_world import processes_of

if TYPE_CHECKING:
    from tests.chaos.plan import Plan
    from tests.chaos.running import Outcome

TIMEOUTS = (
    f"connect = 1\nfirst_byte = 0.8\nidle = 0.6\ntotal = 4\napproval = 0.6\nshutdown = {SHUTDOWN}\nbackground = 1.2\n"
    "tool_heartbeat = 0.2\n"
)
PATIENT = re.sub(r"\b(connect|first_byte|idle|total) = [0-9.]+", r"\1 = 50", TIMEOUTS)
"""Where there is no fault that must end."""
STRAY_WAIT = 5.0
STRAY_LOOK = 0.05
SESSION = "11111111-2222-4333-8444-555555555555"
LIMITS = {
    "few descriptors": ("RLIMIT_NOFILE", (20, 28, 40, 60)),
    "small address space": ("RLIMIT_AS", (800_000_000, 1_500_000_000)),
    "full disk": ("RLIMIT_FSIZE", (0, 700, 3_000, 30_000)),
}
"""What starts the program with less than usual. A file that may not grow fails like one on a full disk."""
STDERR = 2
ODD_SERVER = Path(__file__).resolve().parents[1] / "helpers" / "odd_mcp_server.py"
SECRET = "sk-chaos-"


class Launchers(NamedTuple):
    """The starters: one has only our modules loaded, the other one the vendors' libraries as well."""

    plain: Launcher
    sdk: Launcher

    @classmethod
    def open(cls, source: Path) -> Launchers:
        """Start both."""
        return cls(Launcher(source), Launcher(source, sdks=True))

    def close(self) -> None:
        """End both."""
        for launcher in self:
            launcher.close()


def run_session(plan: Plan, folder: Path, launchers: Launchers) -> Outcome:
    """Run it in an empty folder."""
    home, work = folder / "home", folder / "work"
    home.mkdir(parents=True)
    work.mkdir()
    (work / "a.txt").write_text("alpha\nbeta\n", "utf-8")
    with FaultServer(plan.answers, plan.faults, plan.seed, alike=plan.alike) as server:
        roads = Roads(folder, server.answer) if plan.road else None
        try:
            url = roads.url(plan.road) if roads is not None else server.url
            if roads is not None:
                roads.begin(plan.road)
            _configure(plan, home, url, server.url)
            start = _start_of(plan, home, work, server.url, roads.env if roads is not None else {})
            launcher = launchers.sdk if plan.sdk else launchers.plain
            outcome = _play(plan, home, launcher, start)
            if plan.resumed and _is_kept(plan, home):
                server.calm()
                _configure(afterwards(plan), home, server.url, server.url, PATIENT)
                again = _start_of(afterwards(plan), home, work, server.url, {})
                outcome.again = _go_on(afterwards(plan), home, launcher, again)
        finally:
            if roads is not None:
                roads.close()
    outcome.faults, outcome.broken = server.played, sorted(server.broken)
    outcome.transcripts = sorted((home / ".claude" / "projects").glob("*/*.jsonl"))
    return outcome


def _play(plan: Plan, home: Path, launcher: Launcher, start: Start) -> Outcome:
    running = Running(plan, launcher.start(start), str(start.cwd))
    if plan.system != "two processes" or plan.dialect == "acp":
        outcome = running.play()
        outcome.strays = _strays(home)
        return outcome
    first = threading.Thread(target=running.play)
    first.start()
    time.sleep(0.1)
    argv = [word for word in start.argv if word not in ("--session-id", SESSION)]
    again = start._replace(argv=[*argv, "--resume", SESSION])
    second = Running(plan, launcher.start(again), str(start.cwd))
    other = second.play()
    first.join()
    outcome = running.outcome
    outcome.strays = _strays(home)
    outcome.second = other
    return outcome


def _is_kept(plan: Plan, home: Path) -> bool:
    """There is a conversation to go on with."""
    files = (home / ".claude" / "projects").glob(f"*/{SESSION}.jsonl")
    return plan.dialect != "acp" and any(b'"type":"user"' in file.read_bytes() for file in files)


def _go_on(plan: Plan, home: Path, launcher: Launcher, start: Start) -> Outcome:
    argv = [word for word in start.argv if word not in ("--session-id", SESSION)]
    outcome = Running(plan, launcher.start(start._replace(argv=[*argv, "--resume", SESSION])), str(start.cwd)).play()
    outcome.strays = _strays(home)
    outcome.transcripts = sorted((home / ".claude" / "projects").glob("*/*.jsonl"))
    return outcome


def _configure(plan: Plan, home: Path, url: str, spare_url: str, timeouts: str = TIMEOUTS) -> None:
    provider, model, path = ENDPOINTS[plan.api]
    keys = ", ".join(f'"{SECRET}{number}"' for number in range(plan.keys))
    text = f'provider = "{provider}"\nmodel = "{model}"\n'
    endpoints = f'[endpoints.{provider}]\nbase_url = "{url}{path}"\n'
    if plan.spare:
        text += 'fallback = ["spare/model-2"]\n'
        endpoints += (
            f'[endpoints.spare]\napi = "{plan.spare}"\nbase_url = "{spare_url}{ENDPOINTS[plan.spare][2]}"\n'
            'key_vars = ["SPARE_KEY"]\n'
        )
    text += f"[keys]\n{provider} = [{keys}]\n{endpoints}[retry]\ninitial = 0.02\nretries = 2\n[timeouts]\n{timeouts}"
    config = home / ".yume" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(text, "utf-8")
    settings: dict[str, Any] = {"permissions": {} if plan.asks else {"allow": ["Bash", "Write", "Edit", "mcp__odd"]}}
    hooks: dict[str, list[Any]] = {}
    for event, name in plan.hooks:
        hooks.setdefault(event, []).append({"hooks": [{"type": "command", "command": HOOKS[name], "timeout": 1}]})
    if hooks:
        settings["hooks"] = hooks
    (home / ".claude").mkdir(exist_ok=True)
    (home / ".claude" / "settings.json").write_text(json.dumps(settings), "utf-8")
    if plan.system == "read-only home":
        (home / ".claude" / "projects").write_text("no folder", "utf-8")


def _start_of(plan: Plan, home: Path, work: Path, url: str, more: dict[str, str]) -> Start:
    claude = ("--session-id", SESSION, "-p")
    flags = {
        "flat": ["--session-id", SESSION],
        "stream-json": [
            *(*claude, "--input-format", "stream-json", "--output-format", "stream-json"),
            *("--verbose", *(["--include-partial-messages"] if plan.partial else [])),
            *(["--permission-prompt-tool", "stdio"] if plan.asks else []),
        ],
        "text": [*claude, "Go."],
        "json": [*claude, "Go.", "--output-format", "json"],
        "acp": ["acp"],
    }[plan.dialect]
    if plan.sdk:
        flags += ["--transport", "sdk"]
    if plan.server is not None:
        flags += ["--mcp-config", json.dumps({"mcpServers": {"odd": _server_of(plan.server, url)}})]
    env = clean_environment(home, MCP_TIMEOUT="1000", MCP_TOOL_TIMEOUT="800", SPARE_KEY=f"{SECRET}spare", **more)
    name, values = LIMITS.get(plan.system, ("", (0,)))
    return Start(
        flags,
        work,
        env,
        {name: values[plan.seed % len(values)]} if name else {},
        plan.cold,
        JUMPS if plan.system == "clock jumps" else (),
        (STDERR,) if plan.system == "closed stderr" else (),
    )


def _server_of(kind: str, url: str) -> dict[str, Any]:
    if kind.startswith(HTTP):
        return {"type": "http", "url": f"{url}{MCP}{kind.removeprefix(HTTP)}"}
    match kind:
        case "dies":
            return {"command": "sh", "args": ["-c", "read line; exit 1"]}
        case "missing":
            return {"command": "no-such-program-anywhere"}
    return {"command": sys.executable, "args": ["-S", "-E", str(ODD_SERVER), kind or "fine"]}


def _strays(home: Path) -> list[str]:
    """Processes of the session that go on after its end; they are killed."""
    passed = 0.0
    while (found := processes_of(home)) and passed < STRAY_WAIT:
        clock = FairClock(*(process for process, _ in found))
        clock.sleep(STRAY_LOOK)
        passed += clock.seconds
    for process, _ in found:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            continue
    return [f"{process}: {words}" for process, words in found]
