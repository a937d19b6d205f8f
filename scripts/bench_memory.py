"""By hand: the peak memory of a turn whose answer is huge, on each API.

    python scripts/bench_memory.py [--megabytes 100] [--form flat|nested] [--only text,arguments,thinking,frame,calls]

A loopback server streams one answer: a text, the arguments of a call or reasoning of that size in pieces of 32 KB, one
frame of that size, or calls without an end. Each line: API, kind, peak resident memory (VmHWM), how the turn ended.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from tests.helpers.fake_server import LoopbackServer, frame_bytes  # noqa: E402
from tests.helpers.scripted_model import api_of  # noqa: E402
from tests.helpers.session_cases import FORMATS  # noqa: E402
from tests.helpers.wire_writers import WRITERS, Call, Say, Think  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.helpers.fake_server import Exchange

PLACES = {
    "anthropic-messages": ("anthropic/claude-sonnet-4-5", "ANTHROPIC_BASE_URL", "", "ANTHROPIC_API_KEY"),
    "openai-responses": ("openai/gpt-5.4", "OPENAI_BASE_URL", "/v1", "OPENAI_API_KEY"),
    "openai-chat": ("openrouter/m", "OPENROUTER_BASE_URL", "/v1", "OPENROUTER_API_KEY"),
    "google-genai": ("google/gemini-3.5-flash", "GOOGLE_GEMINI_BASE_URL", "", "GEMINI_API_KEY"),
    "ollama-chat": ("ollama/m", "OLLAMA_BASE_URL", "", ""),
}
KINDS = ("text", "arguments", "thinking", "frame", "calls")
PIECE = 32 * 1024
WAIT_S = 60.0


def frames_of(api: str, kind: str, size: int) -> Iterator[bytes]:
    """One answer, piece by piece: the frame that carries the content is repeated."""
    writer = WRITERS[api](1)
    yield b"".join(frame_bytes(api, frame) for frame in writer.start())
    word = "MARK"
    whole = words_of(size) if kind == "frame" else ""
    step: Any = {"arguments": Call("Read", {"file_path": word}), "thinking": Think(word)}.get(kind, Say(word, 1))
    if kind == "calls":
        for number in range(size // 256):
            body, end = writer.content(number, Call("Read", {"file_path": f"f{number}"}))
            yield b"".join(frame_bytes(api, frame) for frame in (*body, *end))
    else:
        body, end = writer.content(0, step)
        for frame in body:
            data = frame_bytes(api, frame)
            for _ in range(1 if word.encode() not in data or kind == "frame" else max(1, size // PIECE)):
                yield data.replace(word.encode(), (whole or words_of(PIECE)).encode())
        yield b"".join(frame_bytes(api, frame) for frame in end).replace(word.encode(), b"x")
    yield b"".join(frame_bytes(api, frame) for frame in writer.end(kind in ("arguments", "calls")))


def words_of(size: int) -> str:
    """Text that does not repeat itself: a model that does is stopped for that."""
    return base64.b32encode(random.randbytes(size * 5 // 8)).decode()


def measure(api: str, kind: str, size: int, form: str, checkout: str) -> tuple[float, str]:
    """(peak in MB, how the turn ended)."""

    def handle(exchange: Exchange) -> bool:
        if not api_of(exchange.request.path):
            exchange.reply(404)
            return True
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        for data in frames_of(api, kind, size):
            exchange.send(data)
        return False

    model, variable, path, key = PLACES[api]
    with LoopbackServer(handle) as server, tempfile.TemporaryDirectory() as folder:
        env = {"PATH": os.environ["PATH"], "HOME": folder, "PYTHONPATH": checkout}
        env |= {variable: server.url + path, **({key: "sk-bench"} if key else {})}
        words = [sys.executable, "-m", "yume_shim", *FORMATS[form], "--model", model, "--max-turns", "1"]
        prompt = {"type": "user", "message": {"role": "user", "content": "hi"}, "content": "hi"}
        with subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, cwd=folder
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            guard = threading.Timer(WAIT_S, process.kill)
            guard.start()
            process.stdin.write(json.dumps(prompt).encode() + b"\n")
            process.stdin.flush()
            said = "no result"
            for line in process.stdout:
                if b'"type":"result"' in line[:200]:
                    result = json.loads(line)
                    said = f"{result.get('subtype')}: {str(result.get('result') or result.get('errors'))[:110]}"
                    break
                if line.startswith(b'{"type":"error"'):
                    said = line.decode()[:160]
            peak = _peak_mb(process.pid)
            process.stdin.close()
            process.stdout.close()
            process.wait(20)
            guard.cancel()
    return peak, said


def _peak_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--form", choices=sorted(FORMATS), default="flat")
    parser.add_argument("--only", default=",".join(KINDS))
    parser.add_argument("--apis", default=",".join(PLACES))
    parser.add_argument("--checkout", default=str(CHECKOUT), help="the program to measure")
    given = parser.parse_args()
    for api in given.apis.split(","):
        for kind in given.only.split(","):
            peak, said = measure(api, kind, given.megabytes * 1_000_000, given.form, given.checkout)
            print(f"{api:20} {kind:10} {peak:7.0f} MB  {said}", flush=True)


if __name__ == "__main__":
    main()
