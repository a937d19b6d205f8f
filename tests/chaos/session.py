"""Runs one planned session against the real program and gathers everything that the judge needs."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.chaos.fault_server import FaultServer
from tests.chaos.hosts import HOSTS
from tests.chaos.launcher import Launcher, Start
from tests.chaos.plan import ENDPOINTS, HOOKS, JUMPS
from tests.chaos.routes import Roads
from tests.helpers.child import clean_environment
from tests.helpers.host_world import processes_of

if TYPE_CHECKING:
    from tests.chaos.hosts import Host
    from tests.chaos.launcher import Process
    from tests.chaos.plan import Action, Plan

TIMEOUTS = (
    "connect = 1\nfirst_byte = 0.8\nidle = 0.6\ntotal = 4\napproval = 0.6\nshutdown = 5\nbackground = 1.2\n"
    "tool_heartbeat = 0.2\n"
)
LIMIT = 60.0
"""Seconds that a whole session may take: its waits, retries and commands add up to less than half of that."""
STRAY_WAIT = 5.0
DEAF = 1.0
READ = 65_536
SLOW_READ = 700
SLOW_PAUSE = 0.002
SLOW_READS = 400
"""So often a slow host reads slowly; then it hurries, or a large output would take minutes."""
POLL_MS = 20
WAIT_RESULT = 3.0
WRITE_LIMIT = 20.0
SESSION = "11111111-2222-4333-8444-555555555555"
LIMITS = {
    "few descriptors": {"RLIMIT_NOFILE": 40},
    "small address space": {"RLIMIT_AS": 1_500_000_000},
    "full disk": {"RLIMIT_FSIZE": 3_000},
}
"""What starts the program with less than usual. A file that may not grow fails like one on a full disk."""
ODD_SERVER = Path(__file__).resolve().parents[1] / "helpers" / "odd_mcp_server.py"
SECRET = "sk-chaos-"


class Outcome:
    """What a session left behind."""

    def __init__(self) -> None:
        self.stdout = b""
        self.stderr = b""
        self.code: int | None = None
        self.seconds = 0.0
        self.peak_kb = 0
        self.descriptors = 0
        self.strays: list[str] = []
        self.transcripts: list[Path] = []
        self.second: Outcome | None = None
        """Of the second process on the same session."""
        self.asked: list[int] = []
        """Ids of the requests that an ACP host made."""
        self.unwritten = False
        """The host could not write: the program did not read."""


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
    with FaultServer(plan.answers, plan.faults, plan.seed) as server:
        roads = Roads(folder, server.answer) if plan.road else None
        try:
            url = roads.url(plan.road) if roads is not None else server.url
            if roads is not None:
                roads.begin(plan.road)
            _configure(plan, home, url, server.url)
            start = _start_of(plan, home, work, roads.env if roads is not None else {})
            launcher = launchers.sdk if plan.sdk else launchers.plain
            outcome = _play(plan, home, launcher, start)
        finally:
            if roads is not None:
                roads.close()
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


def _configure(plan: Plan, home: Path, url: str, spare_url: str) -> None:
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
    text += f"[keys]\n{provider} = [{keys}]\n{endpoints}[retry]\ninitial = 0.02\nretries = 2\n[timeouts]\n{TIMEOUTS}"
    config = home / ".yume" / "config.toml"
    config.parent.mkdir()
    config.write_text(text, "utf-8")
    settings: dict[str, Any] = {"permissions": {} if plan.asks else {"allow": ["Bash", "Write", "Edit", "mcp__odd"]}}
    hooks: dict[str, list[Any]] = {}
    for event, name in plan.hooks:
        hooks.setdefault(event, []).append({"hooks": [{"type": "command", "command": HOOKS[name], "timeout": 1}]})
    if hooks:
        settings["hooks"] = hooks
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text(json.dumps(settings), "utf-8")
    if plan.system == "read-only home":
        (home / ".claude" / "projects").write_text("no folder", "utf-8")


def _start_of(plan: Plan, home: Path, work: Path, more: dict[str, str]) -> Start:
    flags = {
        "flat": ["--session-id", SESSION],
        "stream-json": [
            *("--session-id", SESSION, "-p", "--input-format", "stream-json", "--output-format", "stream-json"),
            *("--verbose", *(["--include-partial-messages"] if plan.partial else [])),
            *(["--permission-prompt-tool", "stdio"] if plan.asks else []),
        ],
        "acp": ["acp"],
    }[plan.dialect]
    if plan.sdk:
        flags += ["--transport", "sdk"]
    if plan.server is not None:
        flags += ["--mcp-config", json.dumps({"mcpServers": {"odd": _server_of(plan.server)}})]
    env = clean_environment(home, MCP_TIMEOUT="1000", MCP_TOOL_TIMEOUT="800", SPARE_KEY=f"{SECRET}spare", **more)
    return Start(
        flags, work, env, LIMITS.get(plan.system, {}), plan.cold, JUMPS if plan.system == "clock jumps" else ()
    )


def _server_of(kind: str) -> dict[str, Any]:
    match kind:
        case "dies":
            return {"command": "sh", "args": ["-c", "read line; exit 1"]}
        case "missing":
            return {"command": "no-such-program-anywhere"}
    return {"command": sys.executable, "args": ["-S", "-E", str(ODD_SERVER), kind or "fine"]}


class Running:
    """One process and its host."""

    def __init__(self, plan: Plan, process: Process, work: str) -> None:
        self._plan, self._process = plan, process
        self.outcome = Outcome()
        self._hearing = threading.Event()
        self._hearing.set()
        self._closed = False
        self._input_open = True
        self._writing = threading.Lock()
        self._results = 0
        self._changed = threading.Condition()
        self._host: Host = HOSTS[plan.dialect](plan, self._send, work)

    def play(self) -> Outcome:
        """Carry out the actions, wait for the end."""
        began = time.monotonic()
        readers = [threading.Thread(target=self._read_out, daemon=True), threading.Thread(target=self._read_err)]
        readers[1].daemon = True
        for reader in readers:
            reader.start()
        self._host.begin()
        for action in self._plan.actions[:-1]:
            time.sleep(action.after)
            self._act(action)
        time.sleep(self._plan.actions[-1].after)
        self.outcome.descriptors = _descriptors(self._process.pid)
        self._end(self._plan.end)
        self._hearing.set()
        if not self._process.ended.wait(max(0.0, began + LIMIT - time.monotonic())):
            self._process.signal(signal.SIGKILL)
            self._process.ended.wait(STRAY_WAIT)
        else:
            self.outcome.code = self._process.code
        self.outcome.peak_kb = self._process.peak_kb
        for reader in readers:
            reader.join(STRAY_WAIT)
        self.outcome.seconds = time.monotonic() - began
        self.outcome.asked = self._host.asked
        self._close_input()
        return self.outcome

    def _act(self, action: Action) -> None:
        match action.kind:
            case "wait":
                self._wait_for_result()
            case "deaf":
                self._hearing.clear()
            case "garbage":
                self._write(b'{"type": "us\xff\xfe\n[1,2\n\x00\n"text"\n')
            case "empty":
                self._write(b"\n   \n{}\nnull\n")
            case "split":
                line = self._host.prompt(f"Split {action.body}")
                self._write(line[:20])
                time.sleep(0.02)
                self._write(line[20:])
            case "stop-cont":
                self._process.signal(signal.SIGSTOP)
                time.sleep(0.2)
                self._process.signal(signal.SIGCONT)
            case "many":
                self._write(b"".join(self._host.prompt(f"Many {number}") for number in range(3)))
            case kind:
                self._host.act(kind, action.body)

    def _end(self, kind: str) -> None:
        match kind:
            case "eof":
                self._close_input()
            case "close-stdout":
                self._closed = True
            case _:
                for step in kind.split("+"):
                    if step == "eof":
                        self._close_input()
                    else:
                        self._process.signal(getattr(signal, step))
                        if kind.count("SIG") > 1:
                            time.sleep(0.05)

    # ------------------------------------------------------------ the pipes

    def _read_out(self) -> None:
        parts: list[bytes] = []
        held: list[bytes] = []
        reads = 0
        fd, plan = self._process.stdout, self._plan
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        while not self._closed:
            if not poll.poll(POLL_MS):
                continue
            reads += 1
            slowly = plan.slow and reads < SLOW_READS
            part = os.read(fd, SLOW_READ if slowly else READ)
            if not part:
                break
            parts.append(part)
            held.append(part)
            if b"\n" in part:
                *lines, rest = b"".join(held).split(b"\n")
                held = [rest]
                for line in lines:
                    self._heard(line)
            if slowly:
                time.sleep(SLOW_PAUSE)
            self._hearing.wait(DEAF)
        os.close(fd)  # here, because a read on another thread would keep the pipe open
        self.outcome.stdout = b"".join(parts)

    def _heard(self, line: bytes) -> None:
        if self._host.hear(line):
            with self._changed:
                self._results += 1
                self._changed.notify_all()

    def _wait_for_result(self) -> None:
        with self._changed:
            before = self._results
            self._changed.wait_for(lambda: self._results > before or self._process.ended.is_set(), WAIT_RESULT)

    def _read_err(self) -> None:
        parts = []
        while part := os.read(self._process.stderr, READ):
            parts.append(part)
        os.close(self._process.stderr)
        self.outcome.stderr = b"".join(parts)

    def _send(self, line: object) -> bool:
        return self._write(json.dumps(line).encode() + b"\n")

    def _write(self, data: bytes) -> bool:
        """False if the program gets nothing any more."""
        with self._writing:
            if not self._input_open:
                return False
            fd, end = self._process.stdin, time.monotonic() + WRITE_LIMIT
            os.set_blocking(fd, False)
            while data:
                if time.monotonic() > end:
                    self.outcome.unwritten = True
                    return False
                if not select.select([], [fd], [], 0.1)[1]:
                    continue
                try:
                    data = data[os.write(fd, data) :]
                except BlockingIOError:
                    continue
                except OSError:
                    return False
            return True

    def _close_input(self) -> None:
        with self._writing:
            if self._input_open:
                self._input_open = False
                os.close(self._process.stdin)


def _descriptors(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:  # it has ended, or this is no Linux
        return 0


def _strays(home: Path) -> list[str]:
    deadline = time.monotonic() + STRAY_WAIT
    while (found := processes_of(home)) and time.monotonic() < deadline:
        time.sleep(0.05)
    for process, _ in found:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            continue
    return [f"{process}: {words}" for process, words in found]
