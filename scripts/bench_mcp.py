"""By hand: what three MCP servers cost at the start.

    python scripts/bench_mcp.py [--runs 15]

Measured in turns, in one run: the flat dialect's first line with and without servers, and the `init` line of the Claude
form with servers, against its `init` without servers plus the slowest handshake of the same three servers started side
by side by this script. The servers answer at once. Limits: 1.10 for both ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from _progress import Progress

CHECKOUT = Path(__file__).resolve().parent.parent
COUNT = 3
WAIT_S = 60.0
STUB = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    if message["method"] == "initialize":
        info = {"name": "stub", "version": "1"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    else:
        result = {"tools": [{"name": "go", "inputSchema": {"type": "object"}}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
WIRE = [
    {"id": "m", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "Hi."}}]},
    {"id": "m", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
    {"!done": True},
]
FLAT = ("--output-format", "flat")
NESTED = ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
PROMPTS = {
    FLAT: {"type": "user", "content": "hi"},
    NESTED: {"type": "user", "message": {"role": "user", "content": "hi"}},
}


class Place:
    """A folder with a cassette and the stub server."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "wire").mkdir()
        (folder / "wire" / "01.jsonl").write_text("".join(json.dumps(frame) + "\n" for frame in WIRE))
        (folder / "cassette.toml").write_text('api = "openai-chat"\nmodel = "m"\n')
        (folder / "stub.py").write_text(STUB)
        stub = {"command": sys.executable, "args": ["-I", str(folder / "stub.py")]}
        self.servers = json.dumps({"mcpServers": {f"s{number}": stub for number in range(COUNT)}})
        self.env = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(CHECKOUT)}

    def init(self, form: tuple[str, ...], *argv: str) -> float:
        """Seconds from the start of the program to its `init` line."""
        words = [
            sys.executable,
            "-m",
            "yume_shim",
            *form,
            "--provider",
            "replay",
            "--cassette",
            str(self.folder),
            *argv,
        ]
        begun = time.perf_counter()
        with subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self.env,
            cwd=self.folder,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(PROMPTS[form]).encode() + b"\n")
            process.stdin.flush()
            while b'"subtype":"init"' not in (line := process.stdout.readline()):
                if not line:
                    raise SystemExit("the program ended without an init line")
            taken = time.perf_counter() - begun
            process.communicate(timeout=WAIT_S)
        return taken

    def handshake(self) -> float:
        """Seconds that the slowest of the servers takes from its start to its list of tools."""
        taken: list[float] = []
        threads = [threading.Thread(target=lambda: taken.append(self._handshake())) for _ in range(COUNT)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT_S)
        return max(taken)

    def _handshake(self) -> float:
        begun = time.perf_counter()
        words = [sys.executable, "-I", str(self.folder / "stub.py")]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.env) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for number, method in enumerate(("initialize", "tools/list")):
                process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method}).encode() + b"\n")
                process.stdin.flush()
                process.stdout.readline()
            taken = time.perf_counter() - begun
            process.stdin.close()
        return taken


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        with_servers = ("--mcp-config", place.servers)
        place.init(FLAT, *with_servers)  # compiles what is not compiled yet
        rows = []
        with Progress("bench", runs) as progress:
            for _ in range(runs):
                flats = place.init(FLAT), place.init(FLAT, *with_servers)
                rows.append((*flats, place.init(NESTED), place.init(NESTED, *with_servers), place.handshake()))
                progress.step()
    middle = [statistics.median(column) * 1000 for column in zip(*rows, strict=True)]
    flat, flat_with, nested, nested_with, handshake = middle
    lines = (
        f"flat, first line:  {flat:5.0f} ms without servers, {flat_with:5.0f} ms with {COUNT}: {flat_with / flat:.2f}",
        f"Claude form, init: {nested:5.0f} ms without servers, {nested_with:5.0f} ms with {COUNT}",
        f"slowest handshake: {handshake:5.0f} ms: init after {nested_with / (nested + handshake):.2f} of both times",
        f"{runs} runs of each; load {', '.join(f'{number:.1f}' for number in os.getloadavg())}",
    )
    sys.stdout.write("\n".join((*lines, "")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
