"""The whole program with endpoints that refuse requests: the number of requests, and the end of the turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.fake_server import FakeServer
from yume_shim.engine.model_client import MAX_NUDGES

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.types.blocks import Json

FLAT = ("--output-format", "flat")
KEYS = {"ANTHROPIC_API_KEY": "not-a-key", "OPENAI_API_KEY": "not-a-key", "GEMINI_API_KEY": "not-a-key"}
CONFIG = """
[endpoints.there]
api = "{api}"
base_url = "{url}"
key_optional = true

[endpoints.there.backoff]
initial = 0.01
"""
TOOL_TYPE = "tools[0].tool_type: required one_of 'tool_type' must have one initialized field"
SIGNATURE = "messages.1.content.0: Invalid `signature` in `thinking` block"


PATHS: list[str] = []
"""The paths of the last turn's requests."""


def turn(
    folder: Path, api: str, wires: list[list[Json]], prompts: int = 1, base: str = ""
) -> tuple[list[Json], list[Json]]:
    """(lines on stdout, request bodies) of a session with so many prompts; `base` is a path in the base URL."""
    (folder / ".yume").mkdir()
    (folder / "a.txt").write_text("alpha\n", "utf-8")
    with FakeServer(api, wires) as server:
        (folder / ".yume" / "config.toml").write_text(CONFIG.format(api=api, url=server.url + base), "utf-8")
        env = child.clean_environment(folder, **KEYS)
        argv = [*FLAT, "--model", "there/some-model"]
        script: list[dict[str, Any]] = []
        for number in range(prompts):
            script += [{"type": "user", "content": f"Prompt {number}"}, {"!after": "result"}]
        ended = child.run(argv, script, cwd=folder, env=env)
        PATHS[:] = [received.path for received in server.requests]
        return ended.lines, [received.json() for received in server.requests]


def results(lines: list[Json]) -> list[tuple[str, str]]:
    return [(line["subtype"], line["result"]) for line in lines if line["type"] == "result"]


def warnings(lines: list[Json]) -> list[str]:
    return [line["code"] for line in lines if line.get("subtype") == "warning"]


def gemini(*parts: Json, reason: str = "STOP") -> list[Json]:
    candidate = {"content": {"parts": list(parts), "role": "model"}, "finishReason": reason, "index": 0}
    return [{"candidates": [candidate], "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 2}}]


def gemini_refuses(message: str) -> list[Json]:
    return [{"!status": 400, "body": {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}}]


def claude(*blocks: Json, stop: str = "end_turn") -> list[Json]:
    out: list[Json] = [
        {"type": "message_start", "message": {"id": "msg_1", "model": "m", "usage": {"input_tokens": 9}}}
    ]
    for index, block in enumerate(blocks):
        out.append({"type": "content_block_start", "index": index, "content_block": block})
        out.append({"type": "content_block_stop", "index": index})
    out.append({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 2}})
    return [*out, {"type": "message_stop"}]


def claude_refuses(message: str) -> list[Json]:
    error = {"type": "invalid_request_error", "message": message}
    return [{"!status": 400, "body": {"type": "error", "error": error, "request_id": "req_1"}}]


def chat(text: str) -> list[Json]:
    delta = {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 9, "completion_tokens": 2}
    return [{"id": "c1", "model": "m", "choices": [delta], "usage": usage}, {"!done": True}]


def test_declarations_are_tried_in_turn_and_then_known(tmp_path: Path) -> None:
    wires = [gemini_refuses(TOOL_TYPE), gemini_refuses(TOOL_TYPE), gemini({"text": "Hello."})]
    lines, bodies = turn(tmp_path, "google-genai", wires, prompts=2)
    assert results(lines) == [("success", "Hello."), ("success", "Hello.")]
    assert [_form(body) for body in bodies] == [
        ("functionDeclarations", {"name", "description", "parametersJsonSchema"}),
        ("function_declarations", {"name", "description", "parameters"}),
        ("functionDeclarations", {"name", "description", "parameters"}),
        ("functionDeclarations", {"name", "description", "parameters"}),
    ]


def test_a_proxy_in_front_of_gemini_gets_native_declarations_in_a_chat_request(tmp_path: Path) -> None:
    refused = [{"!status": 400, "body": {"error": {"message": f"BadRequestError: {TOOL_TYPE}", "code": 400}}}]
    lines, bodies = turn(tmp_path, "openai-chat", [refused, refused, chat("Hello.")], prompts=2)
    assert results(lines) == [("success", "Hello."), ("success", "Hello.")]
    assert bodies[0]["tools"][0]["type"] == "function"
    assert [_form(body) for body in bodies[1:]] == [
        ("function_declarations", {"name", "description", "parameters"}),
        ("functionDeclarations", {"name", "description", "parameters"}),
        ("functionDeclarations", {"name", "description", "parameters"}),
    ]


def test_a_refusal_of_declarations_that_nothing_helps_against_ends(tmp_path: Path) -> None:
    refused = [{"!status": 400, "body": {"error": {"message": TOOL_TYPE}}}]
    lines, bodies = turn(tmp_path, "openai-chat", [refused])
    assert results(lines) == [("error_provider", "")]
    assert [next(iter(body["tools"][0])) for body in bodies] == [
        "type",
        "function_declarations",
        "functionDeclarations",
    ]


OLD_VERSION = "models/some-model is not found for API version v1, or is not supported for generateContent."
NO_SYSTEM = 'Invalid JSON payload received. Unknown name "systemInstruction": Cannot find field.'


@pytest.mark.parametrize("message", [OLD_VERSION, NO_SYSTEM])
@pytest.mark.parametrize("base", ["", "/proxy/v1"])
def test_gemini_is_tried_once_on_v1beta_and_stays_there(tmp_path: Path, message: str, base: str) -> None:
    status, word = (404, "NOT_FOUND") if message == OLD_VERSION else (400, "INVALID_ARGUMENT")
    refused = [{"!status": status, "body": {"error": {"code": status, "message": message, "status": word}}}]
    lines, _ = turn(tmp_path, "google-genai", [refused, gemini({"text": "Hello."})], prompts=2, base=base)
    assert results(lines) == [("success", "Hello."), ("success", "Hello.")]
    folder = base.removesuffix("/v1")
    assert [path.partition("/models")[0] for path in PATHS] == [f"{folder}/v1", f"{folder}/v1beta", f"{folder}/v1beta"]


def test_a_model_that_no_version_has_is_asked_for_twice(tmp_path: Path) -> None:
    body = {"error": {"code": 404, "message": OLD_VERSION, "status": "NOT_FOUND"}}
    lines, bodies = turn(tmp_path, "google-genai", [[{"!status": 404, "body": body}]])
    assert (results(lines), len(bodies)) == ([("error_provider", "")], 2)


def _form(body: Json) -> tuple[str, set[str]]:
    ((key, declared),) = body["tools"][0].items()
    return key, set(declared[0])


def test_refused_reasoning_is_removed(tmp_path: Path) -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "sig-one"}
    first = claude(thought, {"type": "text", "text": "One."})
    again = claude({**thought, "signature": "sig-two"}, {"type": "text", "text": "Two."})
    wires = [first, claude_refuses(SIGNATURE), again, claude({"type": "text", "text": "Three."})]
    lines, bodies = turn(tmp_path, "anthropic-messages", wires, prompts=3)
    assert results(lines) == [("success", "One."), ("success", "Two."), ("success", "Three.")]
    assert [_signatures(body) for body in bodies] == [[], ["sig-one"], [], ["sig-two"]]


def _signatures(body: Json) -> list[str]:
    return [block["signature"] for message in body["messages"] for block in message["content"] if "signature" in block]


def test_a_model_without_tools_gets_them_as_text(tmp_path: Path) -> None:
    refused = [{"!status": 400, "body": {"error": {"message": '"some-model" does not support tools', "param": None}}}]
    call = '<tool_call>\n{"name": "Read", "arguments": {"file_path": "a.txt"}}\n</tool_call>'
    lines, bodies = turn(tmp_path, "openai-chat", [refused, chat(call), chat("It says alpha.")])
    assert results(lines) == [("success", "It says alpha.")]
    assert ["tools" in body for body in bodies] == [True, False, False]
    assert "alpha" in str(bodies[2]["messages"][-1])
    assert "text_tools" in warnings(lines)


def test_an_unreadable_call_is_requested_again(tmp_path: Path) -> None:
    malformed = gemini({"thoughtSignature": "c2ln"}, reason="MALFORMED_FUNCTION_CALL")
    lines, bodies = turn(tmp_path, "google-genai", [malformed, malformed, gemini({"text": "Hello."})])
    assert results(lines) == [("success", "Hello.")]
    ends = [[part["text"] for part in body["contents"][-1]["parts"]][-1] for body in bodies]
    nudge = "Your last function call could not be read. "
    assert [end.startswith(nudge) for end in ends] == [False, True, True]
    assert [len(body["contents"][-1]["parts"]) for body in bodies[1:]] == [
        len(bodies[0]["contents"][-1]["parts"]) + 1
    ] * 2


def test_text_before_such_a_call_is_kept_and_the_model_gets_a_note(tmp_path: Path) -> None:
    malformed = gemini({"text": "Let me look."}, reason="MALFORMED_FUNCTION_CALL")
    lines, bodies = turn(tmp_path, "google-genai", [malformed, gemini({"text": " Hello."})])
    assert results(lines) == [("success", "Let me look. Hello.")]
    said, note = (content["parts"][-1]["text"] for content in bodies[1]["contents"][-2:])
    assert said == "Let me look."
    assert note.startswith("Your last function call could not be read. ")


def test_a_model_that_never_writes_a_valid_call_fails(tmp_path: Path) -> None:
    lines, bodies = turn(tmp_path, "google-genai", [gemini(reason="MALFORMED_FUNCTION_CALL")])
    assert len(bodies) == 1 + MAX_NUDGES
    (result,) = [line for line in lines if line["type"] == "result"]
    assert result["subtype"] == "error_provider"
    assert "MALFORMED_FUNCTION_CALL" in str(result)
