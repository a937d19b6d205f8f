"""Results of MCP tools that not every vendor takes as they are: pictures, and far too much text; over every API."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.scripted_model import ModelServer, call, say
from tests.helpers.vendor_place import FLAT, MODELS, VendorPlace, media_in

SERVER = Path(__file__).parent / "helpers" / "result_server.py"
CONFIG = json.dumps({"mcpServers": {"kit": {"command": sys.executable, "args": [str(SERVER)]}}})
MOVED = ("openai-chat", "ollama-chat")
"""APIs whose results take no pictures, at the endpoints of these tests."""


@pytest.mark.parametrize("api", MODELS)
def test_pictures_and_huge_results_reach_the_model(tmp_path: Path, api: str) -> None:
    script = ([call("mcp__kit__picture")], [call("mcp__kit__huge")], [say("Seen.")])
    with ModelServer(*script) as server:
        place = VendorPlace(tmp_path, server)
        argv = ("--model", MODELS[api], "--mcp-config", CONFIG, "--allowedTools", "mcp__kit")
        lines = place.run(*argv, lines=[{"type": "user", "content": "Look"}], form=FLAT)
        assert server.left == 0
        asked = [each for each in server.requests if each.method == "POST" and "/show" not in each.path]
        body: dict[str, Any] = asked[-1].json()
    assert media_in(body) == [("PNG", (1, 1))]
    if api in MOVED:
        assert [media_in(message) for message in body["messages"] if message["role"] == "tool"] == [[], []]
        assert [message["role"] for message in body["messages"] if media_in(message)] == ["user"]
    assert len(asked[-1].body) < 200_000
    huge = [line["content"] for line in lines if line["type"] == "tool_result"][1]
    saved = re.search(r"exceeds maximum allowed tokens .* saved to (\S+\.txt)", huge)
    assert saved is not None
    assert Path(saved[1]).read_text("utf-8") == "many words " * 30_000
