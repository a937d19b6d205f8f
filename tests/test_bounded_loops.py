"""Models that never get on, with the real program on every API: a call that the output limit cuts each time, and a call
that fails in the same way each time. The server answers the same for ever; the number of requests is bounded."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.fake_server import FakeServer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from yume_shim.types.blocks import Json

    Wire = Callable[[str, str, bool], list[Json]]
    """(tool, argument text, cut by the output limit) -> the frames of one answer."""

CONFIG = """
{settings}
[endpoints.there]
api = "{api}"
base_url = "{url}"
key_optional = true
"""
FORMATS = {
    "flat": ["--output-format", "flat", "-p", "go"],
    "stream-json": ["--output-format", "stream-json", "--verbose", "-p", "go"],
}


def claude(tool: str, arguments: str, cut: bool) -> list[Json]:
    delta = {"type": "input_json_delta", "partial_json": arguments}
    return [
        {"type": "message_start", "message": {"id": "msg_1", "model": "m", "usage": {"input_tokens": 9}}},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "id": "toolu_1", "name": tool, "input": {}},
        },
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "max_tokens" if cut else "tool_use"},
            "usage": {"output_tokens": 2},
        },
        {"type": "message_stop"},
    ]


def chat(tool: str, arguments: str, cut: bool) -> list[Json]:
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": tool, "arguments": arguments}}
    choice = {"index": 0, "delta": {"role": "assistant", "tool_calls": [call]}, "finish_reason": None}
    ended = {"index": 0, "delta": {}, "finish_reason": "length" if cut else "tool_calls"}
    return [
        {"id": "c", "model": "m", "choices": [choice]},
        {"id": "c", "model": "m", "choices": [ended]},
        {"!done": True},
    ]


def responses(tool: str, arguments: str, cut: bool) -> list[Json]:
    item = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": tool, "arguments": ""}
    whole = {**item, "arguments": arguments, "status": "incomplete" if cut else "completed"}
    usage = {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11}
    ended: Json = {"id": "r", "model": "m", "status": "completed", "output": [whole], "usage": usage}
    if cut:
        ended |= {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    frames: list[Json] = [
        {"type": "response.created", "response": {"id": "r", "model": "m", "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {
            "type": "response.function_call_arguments.delta",
            "item_id": "fc_1",
            "output_index": 0,
            "delta": arguments,
        },
    ]
    if not cut:
        frames.append({"type": "response.output_item.done", "output_index": 0, "item": whole})
    return [*frames, {"type": "response.incomplete" if cut else "response.completed", "response": ended}]


def gemini(tool: str, arguments: str, cut: bool) -> list[Json]:
    """A cut call arrives in parts, of which the last is missing."""
    if cut:
        pieces = [
            {"jsonPath": "$.file_path", "stringValue": "a.txt"},
            {"jsonPath": "$.content", "stringValue": "x", "willContinue": True},
        ]
        parts = [
            {"functionCall": {"name": tool, "willContinue": True}},
            {"functionCall": {"partialArgs": pieces, "willContinue": True}},
        ]
    else:
        parts = [{"functionCall": {"name": tool, "args": json.loads(arguments)}}]
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 2}
    frames: list[Json] = [
        {"candidates": [{"content": {"parts": [part], "role": "model"}, "index": 0}]} for part in parts
    ]
    ended = {"content": {"parts": [], "role": "model"}, "finishReason": "MAX_TOKENS" if cut else "STOP", "index": 0}
    return [*frames, {"candidates": [ended], "usageMetadata": usage}]


def ollama(tool: str, arguments: str, cut: bool) -> list[Json]:
    """Ollama sends calls whole: one that was cut has no arguments."""
    given: Any = {} if cut else json.loads(arguments)
    call = {"function": {"name": tool, "arguments": given}}
    return [
        {"model": "m", "message": {"role": "assistant", "content": "", "tool_calls": [call]}, "done": False},
        {
            "model": "m",
            "message": {"role": "assistant", "content": ""},
            "done": True,
            "done_reason": "length" if cut else "stop",
            "prompt_eval_count": 9,
            "eval_count": 2,
        },
    ]


APIS: dict[str, Wire] = {
    "anthropic-messages": claude,
    "openai-chat": chat,
    "openai-responses": responses,
    "google-genai": gemini,
    "ollama-chat": ollama,
}


def run(
    home: Path, api: str, wire: list[Json], form: str, settings: str = "", *argv: str
) -> tuple[Json, int, list[Json]]:
    """(the result line, how many requests arrived, all lines)."""
    (home / ".yume").mkdir()
    with FakeServer(api, [wire]) as server:
        config = CONFIG.format(api=api, url=server.url, settings=settings)
        (home / ".yume" / "config.toml").write_text(config, "utf-8")
        ended = child.run(
            [*FORMATS[form], "--model", "there/m", *argv], [], cwd=home, env=child.clean_environment(home)
        )
        assert ended.code == 1, ended.stderr
        (result,) = [line for line in ended.lines if line["type"] == "result"]
        return result, len(server.requests), ended.lines


def told(lines: list[Json]) -> list[str]:
    """What the results of the calls say, in either dialect."""
    found = []
    for line in lines:
        blocks = [line] if line["type"] == "tool_result" else []
        if line["type"] == "user":
            blocks = line["message"]["content"]
        found += [block["content"] for block in blocks if block["type"] == "tool_result"]
    return found


@pytest.mark.parametrize("api", APIS)
def test_a_call_that_is_always_cut(tmp_path: Path, api: str) -> None:
    form = "flat" if api in ("anthropic-messages", "google-genai") else "stream-json"
    wire = APIS[api]("Write", '{"file_path": "a.txt", "content": "The first of a thous', True)
    result, requests, lines = run(tmp_path, api, wire, form)
    assert (result["subtype"], requests) == ("error_during_execution", 4)
    said = "the output limit cut the call of Write 4 times: its arguments never arrived complete"
    advice = ". Say in a further prompt how to go on; --debug-file FILE keeps what happened."
    assert result["errors"] == [said + (advice if form == "flat" else "")]
    assert len(told(lines)) == 4
    for text in told(lines):
        assert "Write was cut off by the output limit before its arguments were complete" in text
        assert "smaller pieces" in text
    assert not (tmp_path / "a.txt").exists()


@pytest.mark.parametrize("api", APIS)
def test_a_call_that_always_fails(tmp_path: Path, api: str) -> None:
    form = "stream-json" if api in ("anthropic-messages", "google-genai") else "flat"
    result, requests, lines = run(tmp_path, api, APIS[api]("Read", '{"file_path": "nope"}', False), form)
    assert (result["subtype"], requests) == ("error_during_execution", 8)
    (error,) = result["errors"]
    assert error.startswith('Read {"file_path":"nope"} failed 8 times with the same result: File does not exist.')
    assert ["has now failed" in text for text in told(lines)] == [False] * 2 + [True] * 6


def test_arguments_that_are_never_readable(tmp_path: Path) -> None:
    """A gateway that hides the output limit: the texts differ, the failure does not."""
    result, requests, _ = run(tmp_path, "openai-chat", chat("Write", '{"file_path": "a.txt", "con', False), "flat")
    assert (result["subtype"], requests) == ("error_during_execution", 8)
    assert result["errors"][0].startswith("Write unreadable arguments failed 8 times with the same result: ")


def test_the_settings(tmp_path: Path) -> None:
    wire = chat("Read", '{"file_path": "nope"}', False)
    result, requests, lines = run(tmp_path, "openai-chat", wire, "flat", "repeat_warn = 0\nrepeat_stop = 2")
    assert (result["subtype"], requests) == ("error_during_execution", 2)
    assert not any("has now failed" in text for text in told(lines))


def test_no_end_by_repetition_when_it_is_off(tmp_path: Path) -> None:
    wire = chat("Read", '{"file_path": "nope"}', False)
    result, requests, lines = run(tmp_path, "openai-chat", wire, "flat", "repeat_stop = 0", "--max-turns", "12")
    assert (result["subtype"], requests) == ("error_max_turns", 12)
    assert "has now failed 12 times" in told(lines)[-1]


def test_text_output_names_the_call(tmp_path: Path) -> None:
    (tmp_path / ".yume").mkdir()
    with FakeServer("openai-chat", [chat("Read", '{"file_path": "nope"}', False)]) as server:
        config = CONFIG.format(api="openai-chat", url=server.url, settings="")
        (tmp_path / ".yume" / "config.toml").write_text(config, "utf-8")
        ended = child.run(["-p", "go", "--model", "there/m"], [], cwd=tmp_path, env=child.clean_environment(tmp_path))
    assert ended.code == 1
    assert b'Execution error: Read {"file_path":"nope"} failed 8 times' in ended.stdout
