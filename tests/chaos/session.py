"""Runs one planned session against the real program and gathers everything that the judge needs."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.chaos.faults import FaultServer
from tests.chaos.plan import ENDPOINTS
from tests.helpers.child import clean_environment
from tests.helpers.host_world import processes_of, program

if TYPE_CHECKING:
    from tests.chaos.plan import Action, Plan

TIMEOUTS = "connect = 2\nfirst_byte = 2\nidle = 1.5\ntotal = 20\napproval = 3\nshutdown = 2\nbackground = 3\n"
LIMIT = 60.0
"""Seconds that a whole session may take: its waits, retries and commands add up to less than half of that."""
STRAY_WAIT = 5.0
HUGE = 3_000_000
LIMITS = {
    "few descriptors": ("sh", "-c", 'ulimit -n 40; exec "$@"', "sh"),
    "small address space": ("sh", "-c", 'ulimit -v 1500000; exec "$@"', "sh"),
}
"""What starts the program with less than usual."""
DEAF = 1.0
READ = 65_536
POLL_MS = 20


class Outcome:
    """What a session left behind."""

    def __init__(self) -> None:
        self.stdout = b""
        self.stderr = b""
        self.code: int | None = None
        self.seconds = 0.0
        self.peak_kb = 0
        self.strays: list[str] = []
        self.transcripts: list[Path] = []
        self.sent: list[str] = []
        """Kinds of the actions that were carried out."""


def run_session(plan: Plan, folder: Path) -> Outcome:
    """Run it in an empty folder."""
    home, work = folder / "home", folder / "work"
    home.mkdir(parents=True)
    work.mkdir()
    (work / "a.txt").write_text("alpha\nbeta\n", "utf-8")
    with FaultServer(plan.answers, plan.faults, plan.seed) as server:
        _configure(plan, home, server.url)
        running = _Running(plan, home, work)
        outcome = running.play()
    outcome.transcripts = sorted((home / ".claude" / "projects").glob("*/*.jsonl"))
    return outcome


def _configure(plan: Plan, home: Path, url: str) -> None:
    provider, model, path = ENDPOINTS[plan.api]
    config = home / ".yume" / "config.toml"
    config.parent.mkdir()
    config.write_text(
        f'provider = "{provider}"\nmodel = "{model}"\n[keys]\n{provider} = "sk-chaos-1"\n'
        f'[endpoints.{provider}]\nbase_url = "{url}{path}"\n'
        f"[retry]\ninitial = 0.02\nretries = 2\n[timeouts]\n{TIMEOUTS}",
        "utf-8",
    )
    settings: dict[str, Any] = {"permissions": {"allow": ["Bash", "Write", "Edit"]}}
    hooks = {"hook": "cat >/dev/null; echo '{}'", "slow-hook": "sleep 20"}
    commands = [{"type": "command", "command": hooks[name], "timeout": 2} for name in plan.extensions if name in hooks]
    if commands:
        settings["hooks"] = {"PreToolUse": [{"matcher": "*", "hooks": commands}]}
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text(json.dumps(settings), "utf-8")


class _Running:
    def __init__(self, plan: Plan, home: Path, work: Path) -> None:
        self._plan, self._home = plan, home
        self._outcome = Outcome()
        self._hearing = threading.Event()
        self._hearing.set()
        self._closed = False
        if plan.system == "read-only home":
            (home / ".claude" / "projects").write_text("no folder", "utf-8")
        self._process = subprocess.Popen(
            [*LIMITS.get(plan.system, ()), program(), *self._flags()],
            cwd=work,
            env=clean_environment(home, MCP_TIMEOUT="2000"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def _flags(self) -> list[str]:
        plan, flags = self._plan, []
        if not plan.flat:
            flags += ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
            flags += ["--include-partial-messages"] if plan.partial else []
        if plan.sdk:
            flags += ["--transport", "sdk"]
        servers = {
            "mcp": {"command": sys.executable, "args": ["-m", "tests.helpers.mcp_server"]},
            "dying-mcp": {"command": "sh", "args": ["-c", "read line; exit 1"]},
        }
        chosen = {name: servers[name] for name in plan.extensions if name in servers}
        if chosen:
            flags += ["--mcp-config", json.dumps({"mcpServers": chosen})]
        return flags

    def play(self) -> Outcome:
        """Carry out the actions, wait for the end."""
        began = time.monotonic()
        readers = [threading.Thread(target=self._read_out), threading.Thread(target=self._read_err)]
        for reader in readers:
            reader.daemon = True
            reader.start()
        for action in self._plan.actions:
            time.sleep(action.after)
            self._act(action)
            self._outcome.sent.append(action.kind)
        self._hearing.set()
        self._wait(began)
        for reader in readers:
            reader.join(STRAY_WAIT)
        self._outcome.seconds = time.monotonic() - began
        self._outcome.strays = self._strays()
        for stream in (self._process.stdin, self._process.stderr):
            try:
                stream.close()  # type: ignore[union-attr]
            except OSError:
                pass
        return self._outcome

    def _wait(self, began: float) -> None:
        """Wait for the process, with its peak of memory."""
        while time.monotonic() - began < LIMIT:
            self._outcome.peak_kb = max(self._outcome.peak_kb, _peak_kb(self._process.pid))
            code = self._process.poll()
            if code is not None:
                self._outcome.code = code
                return
            time.sleep(0.01)
        self._process.kill()
        self._process.wait()

    def _read_out(self) -> None:
        assert self._process.stdout is not None
        parts = []
        poll, fd = select.poll(), self._process.stdout.fileno()
        poll.register(fd, select.POLLIN)
        while not self._closed:
            if not poll.poll(POLL_MS):
                continue
            part = os.read(fd, READ)
            if not part:
                break
            parts.append(part)
            self._hearing.wait(DEAF)
        self._process.stdout.close()  # here, because a read on another thread would keep the pipe open
        self._outcome.stdout = b"".join(parts)

    def _read_err(self) -> None:
        assert self._process.stderr is not None
        try:
            self._outcome.stderr = self._process.stderr.read()
        except (OSError, ValueError):
            pass

    def _act(self, action: Action) -> None:
        flat = self._plan.flat
        match action.kind:
            case "prompt":
                text = str(action.body)
                self._send({"type": "user", "content": text} if flat else _message(text))
            case "interrupt":
                self._send({"type": "interrupt"} if flat else _control({"subtype": "interrupt"}))
            case "model":
                self._send(
                    {"type": "set_model", "model": "other"}
                    if flat
                    else _control({"subtype": "set_model", "model": "x"})
                )
            case "mode":
                self._send(_control({"subtype": "set_permission_mode", "mode": "acceptEdits"}))
            case "control":
                self._send(_control({"subtype": f"unknown_{action.body}"}))
            case "garbage":
                self._write(b'{"type": "us\xff\xfe\n[1,2\n\x00\n')
            case "huge":
                self._write(b'{"type":"user","content":"' + b"z" * HUGE + b'"}\n')
            case "unknown":
                self._send({"type": "no_such_type", "value": action.body})
            case "empty":
                self._write(b"\n   \n{}\nnull\n")
            case "deaf":
                self._hearing.clear()
            case "eof":
                self._close_input()
            case "close-stdout":
                self._closed = True
            case "stop-cont":
                self._signal(signal.SIGSTOP)
                time.sleep(0.3)
                self._signal(signal.SIGCONT)
                self._close_input()
            case name:
                self._signal(getattr(signal, name))

    def _signal(self, number: int) -> None:
        if self._process.poll() is None:
            self._process.send_signal(number)

    def _send(self, line: object) -> None:
        self._write(json.dumps(line).encode() + b"\n")

    def _write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(data)
            self._process.stdin.flush()
        except (OSError, ValueError):
            pass

    def _close_input(self) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
        except OSError:
            pass

    def _strays(self) -> list[str]:
        deadline = time.monotonic() + STRAY_WAIT
        while (found := processes_of(self._home)) and time.monotonic() < deadline:
            time.sleep(0.05)
        for process, _ in found:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
        return [f"{process}: {words}" for process, words in found]


def _peak_kb(pid: int) -> int:
    """The peak of memory so far. (`ru_maxrss` would also count the memory of the process that started it.)"""
    try:
        lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    except OSError:  # it has ended, or this is no Linux
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


def _message(text: str) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": text}}


def _control(body: dict[str, Any]) -> dict[str, Any]:
    return {"type": "control_request", "request_id": f"r-{time.monotonic_ns()}", "request": body}
