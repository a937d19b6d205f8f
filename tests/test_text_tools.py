"""Calls by text through the real program: cut, stopped, and taken over by a model that calls natively."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.api_rules import broken_rules
from tests.helpers.fake_server import FakeServer

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.types.blocks import Json

CONFIG = """
fallback = ["large/m"]
[endpoints.small]
api = "openai-chat"
base_url = "{small}"
key_optional = true
[endpoints.small.quirks]
tools = false
[endpoints.small.backoff]
initial = 0.01
[endpoints.large]
api = "anthropic-messages"
base_url = "{large}"
key_optional = true
[endpoints.large.backoff]
initial = 0.01
"""
CALL = '<tool_call>\n{"name": "Read", "arguments": {"file_path": "a.txt"}}\n</tool_call>'
BUSY: list[Json] = [{"!status": 503, "body": {"error": {"message": "Busy."}}}]
ASK: Json = {"type": "user", "content": "Go."}
DONE: Json = {"!after": "result"}


def chat(*pieces: str, cue: str = "") -> list[Json]:
    frames: list[Json] = [
        {"id": "c1", "model": "m", "choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces
    ]
    if cue:
        return [*frames, {cue: True}]
    return [*frames, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}, {"!done": True}]


def claude(block: Json, stop: str) -> list[Json]:
    return [
        {"type": "message_start", "message": {"id": "msg_1", "model": "m", "usage": {"input_tokens": 9}}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]


class World:
    """A model without tools, one with them that takes over, and a file to read."""

    def __init__(self, home: Path, small: list[list[Json]], large: list[list[Json]]) -> None:
        self.home = home
        self.small = FakeServer("openai-chat", small)
        self.large = FakeServer("anthropic-messages", large)
        (home / ".yume").mkdir()
        (home / "a.txt").write_text("alpha\n", "utf-8")
        words = CONFIG.format(small=self.small.url, large=self.large.url)
        (home / ".yume" / "config.toml").write_text(words, "utf-8")

    def run(self, *script: Json, argv: tuple[str, ...] = ()) -> list[Json]:
        env = child.clean_environment(self.home)
        flags = ["--output-format", "flat", "--model", "small/m", "--max-retries", "2", *argv]
        with self.small, self.large:
            lines = child.run(flags, list(script), cwd=self.home, env=env).lines
        for api, server in (("openai-chat", self.small), ("anthropic-messages", self.large)):
            for received in server.requests:
                assert broken_rules(api, received.json()) == []
        return lines


def ends(lines: list[Json]) -> list[tuple[str, Any]]:
    return [(line["subtype"], line.get("result")) for line in lines if line["type"] == "result"]


def paired(lines: list[Json]) -> int:
    """How many calls there were; each has one result."""
    calls = [line["id"] for line in lines if line["type"] == "tool_use"]
    assert [line["tool_use_id"] for line in lines if line["type"] == "tool_result"] == calls
    assert len(set(calls)) == len(calls)
    return len(calls)


def test_a_model_with_tools_takes_over_in_the_middle_of_a_chain(tmp_path: Path) -> None:
    read = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "a.txt"}}
    answers = [claude(read, "tool_use"), claude({"type": "text", "text": "Alpha twice."}, "end_turn")]
    world = World(tmp_path, [chat("Look.\n", CALL), BUSY], answers)
    lines = world.run(ASK)
    assert ends(lines) == [("success", "Alpha twice.")]
    assert paired(lines) == 2
    kinds = [[block["type"] for block in message["content"]] for message in world.large.requests[0].json()["messages"]]
    assert kinds[1:] == [["text", "tool_use"], ["tool_result"]]


@pytest.mark.parametrize("end", range(1, len(CALL) - len("}\n</tool_call>"), 7))
def test_a_call_that_is_cut_in_the_middle_is_not_run(end: int, tmp_path: Path) -> None:
    world = World(tmp_path, [chat("Look.\n", CALL[:end], cue="!drop"), chat(CALL), chat("Alpha.")], [])
    lines = world.run(ASK)
    assert [subtype for subtype, _ in ends(lines)] == ["success"]
    assert paired(lines) == 1


def test_a_call_that_was_complete_before_the_cut_is_run_once(tmp_path: Path) -> None:
    world = World(tmp_path, [chat("Look.\n", CALL, "\nAnd then", cue="!drop"), chat("Alpha.")], [])
    lines = world.run(ASK)
    assert ends(lines) == [("success", "Alpha.")]
    assert paired(lines) == 1
    assert len(world.small.requests) == 2


def test_an_interrupt_in_the_middle_of_a_call(tmp_path: Path) -> None:
    world = World(tmp_path, [chat("Look.\n", CALL[:40], cue="!hold"), chat("Fine.")], [])
    lines = world.run(ASK, {"!after": "text"}, {"type": "interrupt"}, DONE, {"type": "user", "content": "Never mind."})
    assert [subtype for subtype, _ in ends(lines)] == ["cancelled", "success"]
    assert paired(lines) == 0


def test_an_interrupt_behind_a_call(tmp_path: Path) -> None:
    world = World(tmp_path, [chat(CALL, "\nAnd then", cue="!hold"), chat("Fine.")], [])
    lines = world.run(ASK, {"!after": "text"}, {"type": "interrupt"}, DONE, {"type": "user", "content": "Never mind."})
    assert [subtype for subtype, _ in ends(lines)] == ["cancelled", "success"]
    told = world.small.requests[1].json()["messages"][-1]["content"]
    assert told.count("<tool_response") == 1
