"""Watch the program work, without a key and without a network: `python3 scripts/demo.py`.

Starts the real program on a recorded answer (golden/sessions/demo), in a copy of a small workspace, sends one prompt
and shows every line as it comes. The file that the model asks for is really read. Exit code 1 if the story is not
complete.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import _venv

CASE = os.path.join(_venv.ROOT, "golden", "sessions", "demo")
DEADLINE = 30.0
"""Seconds the whole demo may take before it is stopped."""
WIDTH = 100
CAPTIONS = {
    "init": "ready",
    "turn_started": "turn begins",
    "context_usage": "context",
    "text": "text",
    "thinking": "thinking",
    "tool_use": "tool call",
    "tool_result": "tool result",
    "usage": "tokens",
    "result": "turn done",
    "message_stop": "end",
}
ANSWER = ("usage", "context_usage")
STORY = ["init", "turn_started", "text", *ANSWER, "tool_use", "tool_result", "text", *ANSWER, "result", "message_stop"]
"""What must come, in this order; repeated pieces count once."""


def main() -> int:
    """Play the story; 0 if it is complete."""
    if sys.argv[1:]:  # there are none: asking for help must not start minutes of work
        print((__doc__ or "").strip())
        return 0 if sys.argv[1] in ("-h", "--help") else 2
    _venv.ready()
    with open(os.path.join(CASE, "stdin.jsonl"), encoding="utf-8") as file:
        prompt = json.loads(file.readline())
    with tempfile.TemporaryDirectory(prefix="yume-demo-") as scratch:
        workspace = os.path.join(scratch, "kitchen")
        shutil.copytree(os.path.join(CASE, "workspace"), workspace)
        command = [sys.executable, "-m", "yume_shim", "--output-format", "flat"]
        command += ["--provider", "replay", "--cassette", CASE, "--no-session-persistence"]
        print(f"$ yume-shim {' '.join(command[3:])}".replace(_venv.ROOT + os.sep, ""))
        print(f"→ {json.dumps(prompt, ensure_ascii=False)}\n")
        lines, code, complaint = converse(command, workspace, prompt)
        with open(os.path.join(workspace, "kettle.txt"), encoding="utf-8") as file:
            first_line = file.readline().strip()
    problem = missing(lines, first_line) or (f"the program ended with {code}" if code else "")
    if problem:
        print(f"\nThe story is not complete: {problem}\n{complaint}", file=sys.stderr)
        return 1
    print("\nThat was the whole turn. The same lines in the Claude CLI's own shape: --output-format stream-json.")
    return 0


def converse(command: list[str], workspace: str, prompt: object) -> tuple[list[dict[str, object]], int, str]:
    """Run the program with one prompt and show what it says. Returns its lines, exit code and stderr."""
    started = time.monotonic()
    lines: list[dict[str, object]] = []
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(command, cwd=workspace, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        guard = threading.Timer(DEADLINE, child.kill)
        guard.start()
        try:
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write(json.dumps(prompt).encode() + b"\n")
            child.stdin.flush()
            for raw in child.stdout:
                line = json.loads(raw)
                lines.append(line)
                show(line, time.monotonic() - started)
                if line["type"] == "message_stop":
                    break
            child.communicate()
        finally:
            guard.cancel()
            child.kill()
        errors.seek(0)
        return lines, child.wait(), errors.read().decode("utf-8", "replace")


def show(line: dict[str, object], seconds: float) -> None:
    """One line: when, what, and the line itself, clipped to the width of a screen."""
    caption = CAPTIONS.get(kind(line), kind(line))
    text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
    clipped = text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"
    if sys.stdout.isatty():
        print(f"\x1b[2m{seconds:6.3f}s\x1b[0m  \x1b[36m{caption:<12}\x1b[0m {clipped}", flush=True)
    else:
        print(f"{seconds:6.3f}s  {caption:<12} {clipped}", flush=True)


def kind(line: dict[str, object]) -> str:
    """The name of a line: its subtype for system lines, else its type."""
    return str(line.get("subtype") if line["type"] == "system" else line["type"])


def missing(lines: list[dict[str, object]], first_line: str) -> str:
    """What the story lacks; "" if it is complete."""
    seen: list[str] = []
    for name in map(kind, lines):
        if not seen or seen[-1] != name:
            seen.append(name)
    if seen != STORY:
        return f"expected {', '.join(STORY)}; got {', '.join(seen)}"
    result = next(line for line in lines if line["type"] == "tool_result")
    if first_line not in str(result["content"]):
        return "the tool result does not hold the file's text"
    closing = next(line for line in lines if line["type"] == "result")
    return "" if closing["subtype"] == "success" else f"the turn ended with {closing['subtype']}"


if __name__ == "__main__":
    sys.exit(main())
