"""An unknown vendor: an entry in the config file is all it needs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.fake_server import FakeServer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.helpers.child import Ended
    from yume_shim.types.blocks import Json

CONFIG = """
[endpoints.acme]
api = "openai-chat"
base_url = "{url}/v7"
key_vars = ["ACME_KEY"]
headers = {{ "X-Team" = "blue" }}

[endpoints.acme.quirks]
noSystemRole = true
stringifyToolArgs = false
max_tokens_field = "max_completion_tokens"
usage_in_stream = false
tool_result_name = true
extra_body = {{ region = "north" }}

[endpoints.acme.backoff]
initial = 0.01
retries = 1
"""


def chunk(delta: Json, finish: str | None = None, **more: Any) -> Json:
    return {"id": "c1", "model": "foo-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def text(words: str) -> list[Json]:
    usage = {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}
    return [chunk({"role": "assistant", "content": words}), chunk({}, "stop", usage=usage), {"!done": True}]


CALL: list[Json] = [
    chunk(
        {
            "role": "assistant",
            "tool_calls": [
                {
                    "index": 0,
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "Read", "arguments": '{"file_path": "a.txt"}'},
                }
            ],
        }
    ),
    chunk({}, "tool_calls"),
    {"!done": True},
]


def turn(
    folder: Path, server: FakeServer, *argv: str, config: str = CONFIG, env: dict[str, str] | None = None
) -> Ended:
    (folder / ".yume").mkdir(exist_ok=True)
    (folder / ".yume" / "config.toml").write_text(config.format(url=server.url), "utf-8")
    (folder / "a.txt").write_text("alpha\n", "utf-8")
    known = child.clean_environment(folder, **({"ACME_KEY": "not-a-key"} if env is None else env))
    form = ("-p", "Hello", "--output-format", "stream-json", "--verbose")
    return child.run([*form, *(argv or ("--model", "acme/foo-1"))], [], cwd=folder, env=known)


def result(ended: Ended) -> Json:
    (line,) = [line for line in ended.lines if line["type"] == "result"]
    return line


def test_a_text_turn_in_the_vendors_dialect(tmp_path: Path) -> None:
    with FakeServer("openai-chat", [text("Hi from Acme.")]) as server:
        ended = turn(tmp_path, server)
    assert (ended.code, ended.stderr) == (0, b"")
    assert (result(ended)["result"], result(ended)["is_error"]) == ("Hi from Acme.", False)
    (request,) = server.requests
    assert request.path == "/v7/chat/completions"
    assert request.headers["authorization"] == "Bearer not-a-key"
    assert request.headers["x-team"] == "blue"
    body = request.json()
    assert (body["model"], body["region"], body["stream"]) == ("foo-1", "north", True)
    assert {message["role"] for message in body["messages"]} == {"user"}
    assert body["max_completion_tokens"] > 0
    assert not {"max_tokens", "stream_options"} & set(body)


@pytest.mark.skipif(sys.platform == "win32", reason="the model names a POSIX path")
def test_a_tool_turn(tmp_path: Path) -> None:
    with FakeServer("openai-chat", [CALL, text("It says alpha.")]) as server:
        ended = turn(tmp_path, server)
    assert (ended.code, ended.stderr) == (0, b"")
    assert (result(ended)["result"], result(ended)["num_turns"]) == ("It says alpha.", 2)
    call, answer = server.requests[1].json()["messages"][-2:]
    assert call["tool_calls"][0]["function"] == {"name": "Read", "arguments": {"file_path": "a.txt"}}
    assert (answer["role"], answer["name"], answer["tool_call_id"]) == ("tool", "Read", "call_1")
    assert "alpha" in answer["content"]


def test_its_errors_are_understood_and_its_backoff_is_used(tmp_path: Path) -> None:
    busy: list[Json] = [{"!status": 503, "body": {"error": {"message": "Acme is busy."}}}]
    with FakeServer("openai-chat", [busy]) as server:
        ended = turn(tmp_path, server)
    assert len(server.requests) == 2
    assert ended.code == 1
    assert result(ended)["is_error"]
    assert "Acme is busy (acme: overloaded, status 503)" in result(ended)["result"]


def test_a_missing_key_is_reported_by_its_variable(tmp_path: Path) -> None:
    with FakeServer("openai-chat", [text("never")]) as server:
        ended = turn(tmp_path, server, "--model", "acme/foo-1", "--output-format", "flat", env={})
    assert server.requests == []
    assert "$ACME_KEY" in ended.lines[0]["message"]


def test_non_streaming_and_tools_as_text_for_a_vendor_without_either(tmp_path: Path) -> None:
    whole = {
        "id": "c1",
        "model": "foo-1",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Whole."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
    }
    flags = ("--provider", "compatible", "--model", "foo-1", "--compat", "noStreaming,noToolUse", "--api-base")
    with FakeServer("openai-chat", [[{"!status": 200, "body": whole}]]) as server:
        ended = turn(tmp_path, server, *flags, f"{server.url}/v7", config="")
    assert result(ended)["result"] == "Whole."
    (request,) = server.requests
    body = request.json()
    assert body.get("stream", False) is False
    assert "tools" not in body
    assert "Read" in body["messages"][0]["content"]


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ('[endpoints.acme]\nbase_url = "http://h"', "[endpoints.acme]: `api` is missing. Known: anthropic-messages"),
        ('[endpoints.acme]\napi = "soap"', "[endpoints.acme]: 'soap' is not an API"),
        ('[endpoints.acme]\napi = "openai-chat"\nkey_vars = "K"', "key_vars must be a list of strings, not 'K'"),
        ("[endpoints.groq.quirks]\nnoStreeming = true", "unknown quirk noStreeming. Did you mean 'noStreaming'?"),
        ("[endpoints.groq.quirks]\nnoStreaming = 1", "noStreaming must be true or false, not 1"),
    ],
)
def test_mistakes_in_the_configuration_are_reported(entry: str, words: str, tmp_path: Path) -> None:
    with FakeServer("openai-chat", [text("never")]) as server:
        ended = turn(tmp_path, server, "--provider", "groq", "--model", "m", config=entry, env={"GROQ_API_KEY": "k"})
    assert ended.code != 0
    assert words in (ended.stdout + ended.stderr).decode()
    assert server.requests == []
