"""`yume-shim schema` and `yume-shim check-stream`, run as users run them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.helpers import child
from yume_shim.dialects.schema_check import FOLDER

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = ROOT / "golden" / "sessions" / "anthropic-messages-single-tool" / "expected" / "flat.jsonl"


def run(home: Path, *words: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "yume_shim", *words],
        input=given,
        capture_output=True,
        cwd=home,
        env=child.clean_environment(home),
        check=False,
        timeout=60,
    )


def test_schemas_and_types_are_printed(tmp_path: Path) -> None:
    everything = json.loads(run(tmp_path, "schema").stdout)
    assert set(everything) == {path.name.removesuffix(".schema.json") for path in Path(FOLDER).glob("*.schema.json")}
    assert json.loads(run(tmp_path, "schema", "input").stdout) == everything["input"]
    assert run(tmp_path, "schema", "--typescript").stdout == (Path(FOLDER) / "protocol.d.ts").read_bytes()


def test_a_stream_is_checked(tmp_path: Path) -> None:
    good = GOLDEN.read_bytes()
    done = run(tmp_path, "check-stream", "--strict", given=good)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"19 lines, 1 results: valid\n", b"")
    lines = good.splitlines(keepends=True)
    bad = b"".join(lines[:-2]) + b'{"type":"text"}\n'
    done = run(tmp_path, "check-stream", "--dialect", "flat", given=bad)
    assert done.returncode == 1
    assert done.stdout.decode().splitlines() == [
        "line 18: content: missing; id: missing",
        "end: the stream ends inside a turn: `result` is missing",
        "18 lines, 0 results: 2 problems",
    ]


def test_a_wrong_dialect_is_refused(tmp_path: Path) -> None:
    done = run(tmp_path, "check-stream", "--dialect", "morse")
    assert done.returncode == 2
    assert b"--dialect" in done.stderr
