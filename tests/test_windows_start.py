r"""On Windows: the ways in which a host starts the program without a shell, and what ends it.

`scripts/windows_launcher.py` has pip make the launcher beside the interpreter; without it those cases are skipped.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "win32", reason="Windows starts programs in its own way")
HERE = Path(sys.executable).parent
LAUNCHER = HERE / "launcher" / "bin" / "yume-shim.exe"
MODULE = ["-B", "-m", "yume_shim"]
WAYS = {
    "launcher": [str(LAUNCHER)],
    "python": [str(HERE / "python.exe"), *MODULE],
    "pythonw": [str(HERE / "pythonw.exe"), *MODULE],
}
CASSETTE = str(Path(__file__).resolve().parents[1] / "golden" / "sessions" / "demo")
FLAT = ["--output-format", "flat", "--provider", "replay", "--cassette", CASSETTE]
PROMPT = b'{"type":"user","content":"Which tea is in the kettle?"}\n'


def words_for(way: str) -> list[str]:
    if not Path(WAYS[way][0]).is_file():
        pytest.skip(f"{WAYS[way][0]} is not there")
    return WAYS[way]


@pytest.mark.parametrize("way", WAYS)
def test_a_session_without_a_shell(way: str, tmp_path: Path) -> None:
    """As Node's `spawn` does it: a program with pipes, and no console."""
    done = subprocess.run(
        [*words_for(way), *FLAT],
        input=PROMPT,
        capture_output=True,
        cwd=tmp_path,
        timeout=120,
        check=False,
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    assert [lines[0].get("subtype"), lines[-2]["type"], lines[-1]["type"]] == ["init", "result", "message_stop"]
    assert "sencha" in lines[-2]["result"]
    assert b"\r" not in done.stdout


@pytest.mark.parametrize("way", WAYS)
def test_killing_what_the_host_started_ends_the_session(way: str, tmp_path: Path) -> None:
    """The launcher starts Python and holds it in a job, so that nothing is left when the host kills the launcher."""
    process = subprocess.Popen(
        [*words_for(way), *FLAT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=tmp_path,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["subtype"] == "init"
    process.kill()
    assert process.stdout.read() == b""  # the end of the pipe: nobody holds it any more
    process.wait(30)
    process.stdin.close()
    process.stdout.close()


@pytest.mark.parametrize("way", ["python", "pythonw"])
def test_closed_streams_count_as_empty(way: str, tmp_path: Path) -> None:
    done = subprocess.run([*words_for(way), *FLAT], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=None,
                          cwd=tmp_path, timeout=120, check=False)  # fmt: skip
    assert done.returncode == 0
    assert [json.loads(line)["subtype"] for line in done.stdout.splitlines()] == ["init"]
