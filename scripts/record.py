"""Record a wire case from a real endpoint: `python3 scripts/record.py providers/openai-chat/text --provider openai
--model gpt-5.4-mini --prompt "Say hello."`

Runs the program once with `--record`, which scrubs what it writes, and makes a golden folder of the first answer:
wire.jsonl as it came, history.json with the prompt, case.toml to be filled in. It needs a key, costs money, asks first.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import _progress
import _venv

GOLDEN = Path(_venv.ROOT) / "golden"
TIMEOUT = 300
"""Seconds one answer may take."""


def main() -> int:
    """Ask, record, write."""
    _venv.ready()
    parser = argparse.ArgumentParser(description="Record a wire case from a real endpoint.")
    parser.add_argument("case", help="providers/API/HAZARD")
    parser.add_argument("--provider", required=True, help="the provider, as in yume-shim --provider")
    parser.add_argument("--model", required=True)
    parser.add_argument("--prompt", required=True)
    parser.add_argument("--tools", default="", help="tools to offer (default: none)")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    given = parser.parse_args()
    folder = GOLDEN / given.case
    kind, _, rest = given.case.partition("/")
    if kind != "providers" or rest.count("/") != 1 or folder.exists():
        print(f"'{given.case}' must be new and look like providers/openai-chat/text", file=sys.stderr)
        return 1
    if not given.yes and not agreed(f"This sends one prompt to {given.provider} ({given.model}) with your key. Go on?"):
        return 1
    _progress.tell(f"record: asking {given.provider} ({given.model}), at most {TIMEOUT} s\n")
    with tempfile.TemporaryDirectory(prefix="yume-record-") as scratch:
        tape = Path(scratch) / "tape"
        code = ask(given.provider, given.model, given.prompt, given.tools, tape, scratch)
        frames = tape / "wire" / "01.jsonl"
        if not frames.exists():
            print(f"nothing was recorded (exit code {code})", file=sys.stderr)
            return 1
        _progress.tell(f"record: {len(frames.read_bytes().splitlines())} frames\n")
        write(folder, frames, given.model, given.prompt)
    print(f"golden/{given.case}: read wire.jsonl for anything private, complete case.toml, then")
    print(f"  python3 scripts/golden.py --update {given.case}")
    return 0


def agreed(question: str) -> bool:
    """Whether a person says yes."""
    if not sys.stdin.isatty():
        print("There is no terminal to ask at: give --yes.", file=sys.stderr)
        return False
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")


def ask(provider: str, model: str, prompt: str, tools: str, tape: Path, scratch: str) -> int:
    """One turn of the program in an empty folder, recorded; its answer is shown."""
    command = [sys.executable, "-m", "yume_shim", "-p", prompt, "--provider", provider, "--model", model]
    command += ["--record", str(tape), "--no-session-persistence", "--max-turns", "1", "--tools", tools]
    workspace = os.path.join(scratch, "empty")
    os.mkdir(workspace)
    return subprocess.run(command, cwd=workspace, stdin=subprocess.DEVNULL, timeout=TIMEOUT, check=False).returncode


def write(folder: Path, frames: Path, model: str, prompt: str) -> None:
    """The golden folder."""
    folder.mkdir(parents=True)
    shutil.copy(frames, folder / "wire.jsonl")
    (folder / "case.toml").write_text(f'title = ""\nwhy = "recorded"\n\n[model]\nid = {json.dumps(model)}\n', "utf-8")
    history = {"messages": [{"role": "user", "blocks": [{"type": "text", "text": prompt}]}]}
    (folder / "history.json").write_text(json.dumps(history, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
