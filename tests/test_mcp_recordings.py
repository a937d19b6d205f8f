"""`--record` records MCP servers; the golden `mcp-recorded` replays what is recorded here."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

from tests.helpers import child
from yume_shim.extensions.mcp.recording import Place

GOLDEN = Path(__file__).parents[1] / "golden" / "sessions" / "anthropic-messages-mcp-recorded"


def test_a_recording_has_what_was_said_and_no_secret(tmp_path: Path) -> None:
    kit = {"command": sys.executable, "args": [str(GOLDEN / "workspace" / "kit.py")], "env": {"WORD": "a flower"}}
    argv = ["--output-format", "flat", "--provider", "replay", "--cassette", str(GOLDEN), "--record", "kept"]
    argv += ["--mcp-config", json.dumps({"mcpServers": {"kit": kit}}), "--allowedTools", "mcp__kit"]
    cassette = tmp_path / "cassette"
    cassette.mkdir()
    (cassette / "wire").symlink_to(GOLDEN / "wire")
    (cassette / "case.toml").symlink_to(GOLDEN / "case.toml")
    argv[argv.index(str(GOLDEN))] = str(cassette)  # without its recording of the server, which is started
    env = child.clean_environment(tmp_path)
    ended = child.run(argv, [{"type": "user", "content": "What is sakura?"}], cwd=tmp_path, env=env)
    assert ended.code == 0
    kept = tmp_path / "kept" / "mcp" / "kit.jsonl"
    expected = (GOLDEN / "mcp" / "kit.jsonl").read_text("utf-8")
    assert kept.read_text("utf-8") == expected.replace("a flower", "[redacted]")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def ask(number: int, method: str, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def test_a_replay_answers_by_what_is_asked() -> None:
    note = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}
    place = Place(
        [
            ("sent", ask(1, "tools/call", name="a", _meta={"progressToken": 1})),
            ("sent", ask(2, "tools/call", name="b")),
            ("got", {"jsonrpc": "2.0", "id": 2, "result": {"of": "b"}}),
            ("got", note),
            ("got", {"jsonrpc": "2.0", "id": 1, "result": {"of": "a"}}),
            ("sent", ask(3, "tools/call", name="hang")),
            ("sent", ask(4, "tools/call", name="crash")),
            ("gone", "Connection closed"),
        ]
    )
    token = {"progressToken": 8, "progress": 1}
    assert place.after(ask(7, "tools/call", name="b")) == [("got", {"jsonrpc": "2.0", "id": 7, "result": {"of": "b"}})]
    assert place.after(ask(8, "tools/call", name="a", _meta={"progressToken": 8})) == [
        ("got", {**note, "params": token}),
        ("got", {"jsonrpc": "2.0", "id": 8, "result": {"of": "a"}}),
    ]
    assert place.after(ask(9, "tools/call", name="crash")) == [("gone", "Connection closed")]
    assert place.after(ask(10, "tools/call", name="hang")) == []
    [(kind, answer)] = place.after(ask(11, "tools/call", name="a"))
    assert (kind, answer["id"]) == ("got", 11)
    assert "no further tools/call" in answer["error"]["message"]
