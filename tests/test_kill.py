"""A process killed at any point has lost nothing that it printed (300 points: scripts/kill_test.py)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.cassettes import run_cassette, write_cassette
from tests.helpers.kill_points import one_kill
from tests.helpers.scripted_model import say, wire_of
from yume_shim.store.load import load
from yume_shim.types.blocks import Text

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a POSIX thing")
@pytest.mark.parametrize("seed", range(12))
def test_a_killed_session_resumes_completely(tmp_path: Path, seed: int) -> None:
    verdict = one_kill(tmp_path, seed)
    assert verdict.problems == ()


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a POSIX thing")
def test_text_that_was_shown_for_a_second_survives_a_kill_inside_its_block(tmp_path: Path) -> None:
    def delta(text: str) -> dict[str, Any]:
        return {"id": "c", "choices": [{"index": 0, "delta": {"content": text}}]}

    slow = [delta("One. "), {"!sleep_ms": 1_100}, delta("Two. "), delta("Three. "), {"!hold": True}]
    cassette = write_cassette(tmp_path / "cassette", "openai-chat", "m", slow)
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    argv = ["--provider", "replay", "--cassette", str(cassette), "--output-format", "flat"]
    killed = child.start(argv, cwd=work, env=child.clean_environment(home))
    try:
        killed.send({"type": "user", "content": "Count."})
        session = killed.wait_for("init")["session_id"]
        shown = [killed.wait_for("text")["content"] for _ in range(3)]
        killed.signal("KILL")
    finally:
        killed.kill()
    assert shown == ["One. ", "Two. ", "Three. "]
    [transcript] = (home / ".claude" / "projects").glob(f"*/{session}.jsonl")
    stored = load(str(transcript))
    assert stored is not None
    assert stored.history[-1].blocks == (Text("One. Two. "),)

    again = write_cassette(tmp_path / "again", "openai-chat", "m", wire_of("openai-chat", [say("Four.")]))
    resumed = run_cassette(again, "-p", "Go on.", "--resume", session)
    assert resumed.stdout == b"Four.\n"
    after = load(str(transcript))
    assert after is not None
    texts = [block.text for message in after.history for block in message.blocks if isinstance(block, Text)]
    assert texts == ["Count.", "One. Two. ", "Go on.", "Four."]
