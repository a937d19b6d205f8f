"""`--request-permits`: the host is asked before each request to a model, and nothing is sent before it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.helpers import child
from tests.helpers.scripted_model import ModelServer, call, refuse, say

if TYPE_CHECKING:
    from pathlib import Path


def test_each_request_waits_for_its_answer(tmp_path: Path) -> None:
    with ModelServer([refuse(500, 0.01)], [call("Glob", pattern="*")], [say("Done.")]) as server:
        env = child.clean_environment(tmp_path, ANTHROPIC_BASE_URL=server.url, ANTHROPIC_API_KEY="not-a-key")
        words = ("--output-format", "flat", "--model", "sonnet", "--request-permits")
        program = child.start(words, cwd=tmp_path, env=env)
        program.send({"type": "user", "content": "Hello"})
        for sent in range(3):
            asked = program.wait_for("request_permit")
            assert asked["request"]["provider"] == "anthropic"
            assert len(server.requests) == sent
            answer = {"subtype": "success", "request_id": asked["request_id"], "response": {}}
            program.send({"type": "control_response", "response": answer})
        assert program.wait_for("result")["result"] == "Done."
        program.send({"type": "user", "content": "Again"})
        asked = program.wait_for("request_permit")
        program.send({"type": "interrupt"})
        assert program.wait_for("control_cancel_request")["request_id"] == asked["request_id"]
        assert program.wait_for("result")["subtype"] == "cancelled"
        assert program.end().code == 1
    assert len(server.requests) == 3
