"""How fast the program is, in one run and by ratio: `python3 scripts/bench.py [--against CMD]`.

A loopback server plays an Anthropic stream; the program (and the reference command, if one is given) is started again
and again, taking turns, with the Claude CLI's own flags. Trust the ratios: milliseconds belong to the machine.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

import _venv
from _progress import Progress

SHORT, MANY, PACED = 20, 20_000, 100
"""Deltas of a short turn, of a long one, and of the one that is sent slowly to measure latency."""
PACE = 0.010
DEADLINE = 120.0
SLOWEST_IMPORTS = 15
FLAGS = ["--output-format", "stream-json", "--verbose", "--include-partial-messages"]


@dataclass
class Run:
    """One start: seconds to the first line and to the first delta, CPU seconds, peak memory, seconds chunk → line."""

    first_line: float
    first_delta: float
    cpu: float
    memory_mb: float
    latencies: list[float]


def main() -> int:
    """Measure and print."""
    _venv.ready()
    parser = argparse.ArgumentParser(description="Measure the program against a loopback server.")
    parser.add_argument("--against", metavar="CMD", default="", help="reference command, started with the same flags")
    parser.add_argument("--runs", type=int, default=10, help="starts per figure (the smallest counts)")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve()
    if os.name == "nt":
        print("The bench needs wait4() and so a POSIX system.", file=sys.stderr)
        return 1
    programs = {"yume-shim": [sys.executable, "-m", "yume_shim"]}
    if given.against:
        programs["reference"] = shlex.split(given.against)
    server = subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        figures = measure(programs, port, given.runs)
        report(figures)
        print("\nSlowest imports on the way to the end of a short turn (own milliseconds):")
        for line in imports(programs["yume-shim"], port):
            print(line)
    finally:
        server.terminate()
        server.wait()
    return 0


def measure(programs: dict[str, list[str]], port: int, runs: int) -> dict[str, dict[str, float]]:
    """Name → figure → value. Programs take turns, so that a busy moment of the machine hits all of them."""
    short: dict[str, list[Run]] = {name: [] for name in programs}
    progress = Progress("bench", len(programs) * (runs + 3))

    def counted(name: str, deltas: int) -> Run:
        run = one_run(programs[name], port, deltas)
        progress.step(name)
        return run

    for _ in range(runs):
        for name in programs:
            short[name].append(counted(name, SHORT))
    found = {}
    for name in programs:
        long = min((counted(name, MANY) for _ in range(2)), key=lambda run: run.cpu)
        paced = counted(name, PACED)
        best = {
            field: min(getattr(run, field) for run in short[name]) for field in ("first_line", "first_delta", "cpu")
        }
        found[name] = {
            "spawn → first line, ms": best["first_line"] * 1e3,
            "spawn → first delta, ms": best["first_delta"] * 1e3,
            "CPU of a short turn, ms": best["cpu"] * 1e3,
            "CPU per event, µs": (long.cpu - best["cpu"]) / (MANY - SHORT) * 1e6,
            "peak memory, short turn, MB": min(run.memory_mb for run in short[name]),
            f"peak memory, {MANY:,} deltas, MB": long.memory_mb,
            "chunk → line, median, ms": statistics.median(paced.latencies) * 1e3,
        }
    progress.clear()
    return found


def one_run(program: list[str], port: int, deltas: int) -> Run:
    """Start a program on a prompt that asks the server for so many deltas, and watch it to its end."""
    with tempfile.TemporaryDirectory(prefix="yume-bench-") as home:
        started = time.monotonic()
        child = subprocess.Popen(
            [*program, "-p", f"deltas={deltas}", *FLAGS],
            cwd=home,
            env=environment(home, port),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert child.stdout is not None
        first_line = first_delta = 0.0
        latencies = []
        for line in child.stdout:
            now = time.monotonic()
            first_line = first_line or now - started
            sent = re.search(rb'"text":"@(\d+)@"', line) if b"text_delta" in line else None
            if sent:
                first_delta = first_delta or now - started
                latencies.append(now - int(sent.group(1)) / 1e9)
            if now - started > DEADLINE:
                child.kill()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if not latencies:
            raise SystemExit(f"{' '.join(program)} showed no delta (exit code {child.returncode})")
        scale = 1 / (1 << 20) if sys.platform == "darwin" else 1 / 1024
        return Run(first_line, first_delta, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * scale, latencies)


def environment(home: str, port: int) -> dict[str, str]:
    """A bare environment that leads to the loopback server and nowhere else."""
    return {
        "PATH": os.environ.get("PATH", ""),
        "HOME": home,
        "CLAUDE_CONFIG_DIR": os.path.join(home, ".claude"),
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
        "ANTHROPIC_API_KEY": "not-a-key",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "NO_PROXY": "127.0.0.1",
    }


def report(figures: dict[str, dict[str, float]]) -> None:
    """The table; with a reference, its last column is the ratio to it."""
    names = list(figures)
    print(f"{'':<34}" + "".join(f"{name:>12}" for name in names) + (f"{'ratio':>8}" if len(names) > 1 else ""))
    for figure in figures[names[0]]:
        values = [figures[name][figure] for name in names]
        ratio = f"{values[0] / values[1]:8.2f}" if len(values) > 1 and values[1] else ""
        print(f"{figure:<34}" + "".join(f"{value:12.2f}" for value in values) + ratio)


def imports(program: list[str], port: int) -> list[str]:
    """The modules that cost most in a short turn."""
    with tempfile.TemporaryDirectory(prefix="yume-bench-") as home:
        done = subprocess.run(
            [program[0], "-X", "importtime", *program[1:], "-p", f"deltas={SHORT}", *FLAGS],
            cwd=home,
            env=environment(home, port),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            check=False,
        )
    rows = re.findall(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)", done.stderr.decode("utf-8", "replace"))
    costs = sorted(((int(own), name) for own, name in rows), reverse=True)
    total = sum(own for own, _ in costs)
    shown = [f"  {own / 1000:7.2f}  {name}" for own, name in costs[:SLOWEST_IMPORTS]]
    return [*shown, f"  {total / 1000:7.2f}  all {len(costs)} modules"]


def serve() -> None:
    """The upstream: answers every request with as many deltas as its prompt asks for, each with the time it left."""
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Upstream(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            asked = re.findall(rb"deltas=(\d+)", body)
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            self.play(int(asked[-1]) if asked else 1)
            self.close_connection = True

        def play(self, count: int) -> None:
            usage = '{"input_tokens":10,"output_tokens":1}'
            self.event(
                '{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"bench",'
                f'"content":[],"stop_reason":null,"stop_sequence":null,"usage":{usage}}}}}'
            )
            self.event('{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}')
            for _ in range(count):
                if count == PACED:
                    time.sleep(PACE)
                text = f"@{time.monotonic_ns()}@"
                self.event(
                    f'{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}}'
                )
            self.event('{"type":"content_block_stop","index":0}')
            self.event(
                f'{{"type":"message_delta","delta":{{"stop_reason":"end_turn","stop_sequence":null}},"usage":{usage}}}'
            )
            self.event('{"type":"message_stop"}')

        def event(self, data: str) -> None:
            name = data.split('"', 4)[3]
            self.wfile.write(f"event: {name}\ndata: {data}\n\n".encode())
            self.wfile.flush()

        def do_HEAD(self) -> None:
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    sys.exit(main())
