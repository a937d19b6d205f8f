"""Cloud sign-ins: the vendors' real clients, with credentials made for the test, against servers on loopback."""

from __future__ import annotations

import base64
import json
import os
import stat
import struct
import subprocess
import sys
import zlib
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.fake_server import Exchange, LoopbackServer
from tests.helpers.fakes import FakeIds, cancel
from tests.helpers.settings import settings_with
from tests.helpers.wire_cases import no_log
from yume_shim.providers.load import load_provider
from yume_shim.types.blocks import Message, Text
from yume_shim.types.events import BlockEnded, ResponseEnded, ResponseFailed
from yume_shim.types.models import Credential, Endpoint, ModelSpec, Request
from yume_shim.types.settings import Timeouts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from yume_shim.types.blocks import Json

NO_CREDENTIAL = Credential("", "none", "none")
FAST = Timeouts(connect=5.0, first_byte=20.0, idle=10.0, total=60.0)
AWS = {"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "made-up", "AWS_REGION": "us-west-2"}
CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
ANSWER: list[Json] = [
    {
        "type": "message_start",
        "message": {"id": "msg_1", "model": "claude", "usage": {"input_tokens": 3, "output_tokens": 1}},
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Grüße"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
]


def ask(endpoint: Endpoint, model: str, env: dict[str, str], credential: Credential = NO_CREDENTIAL) -> list[Any]:
    """All events of one request. The transport is chosen by the sign-in, not by the settings."""
    spec = ModelSpec(model, endpoint)
    settings = settings_with(env=env, timeouts=FAST, transport="direct")
    provider = load_provider(spec, credential, settings, FakeIds(), no_log)
    try:
        return list(provider.stream(Request(spec, (Message("user", (Text("Hi"),)),)), cancel()))
    finally:
        provider.close()


def said(events: list[Any]) -> str:
    assert isinstance(events[-1], ResponseEnded), events[-1]
    return "".join(
        event.block.text for event in events if isinstance(event, BlockEnded) and isinstance(event.block, Text)
    )


def failed(events: list[Any]) -> tuple[str, str]:
    assert isinstance(events[-1], ResponseFailed), events[-1]
    return events[-1].failure.kind, events[-1].failure.message


def sse(frames: list[Json]) -> bytes:
    return b"".join(
        f"event: {frame.get('type', 'x')}\r\ndata: {json.dumps(frame)}\r\n\r\n".encode() for frame in frames
    )


def answers(body: bytes, kind: str = "text/event-stream") -> Callable[[Exchange], bool]:
    def handle(exchange: Exchange) -> bool:
        exchange.reply(200, {"Content-Type": kind}, body)
        return True

    return handle


# ---------------------------------------------------------------- Bedrock


def aws_message(headers: dict[str, str], payload: bytes) -> bytes:
    """One message of Amazon's event stream: lengths, headers, payload, check sums."""
    packed = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(text)) + text.encode()
        for name, text in headers.items()
    )
    prelude = struct.pack(">II", 16 + len(packed) + len(payload), len(packed))
    prelude += struct.pack(">I", zlib.crc32(prelude))
    message = prelude + packed + payload
    return message + struct.pack(">I", zlib.crc32(message))


def aws_chunk(frame: Json) -> bytes:
    inner = base64.b64encode(json.dumps(frame).encode()).decode()
    headers = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}
    return aws_message(headers, json.dumps({"bytes": inner}).encode())


def aws_exception(kind: str, message: str) -> bytes:
    headers = {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}
    return aws_message(headers, json.dumps({"message": message}).encode())


EVENT_STREAM = "application/vnd.amazon.eventstream"


def bedrock(url: str) -> Endpoint:
    return Endpoint("bedrock", "anthropic-messages", url, sign_in="bedrock")


def test_bedrock_is_signed_and_its_stream_understood() -> None:
    body = b"".join(map(aws_chunk, ANSWER))
    with LoopbackServer(answers(body, EVENT_STREAM)) as server:
        assert said(ask(bedrock(server.url), CLAUDE, AWS)) == "Grüße"
    [request] = server.requests
    sent = request.json()
    assert request.path == f"/model/{CLAUDE}/invoke-with-response-stream"
    assert request.headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/")
    assert "/us-west-2/bedrock/aws4_request" in request.headers["authorization"]
    assert "x-api-key" not in request.headers
    assert {"model", "stream"} & sent.keys() == set()
    assert sent["anthropic_version"]
    assert sent["messages"][0]["role"] == "user"


def test_a_region_cannot_be_an_address() -> None:
    """`https://bedrock-runtime.{region}.amazonaws.com` would become another host, which would get the token."""
    token = Credential("aws-token", "token", "AWS_BEARER_TOKEN_BEDROCK")
    with LoopbackServer(answers(b"", EVENT_STREAM)) as server:
        env = {**AWS, "AWS_REGION": f"x@127.0.0.1:{server.port}/"}
        events = ask(bedrock(""), CLAUDE, env, token)
    assert failed(events) == ("config", f"'x@127.0.0.1:{server.port}/' is not the name of a region")
    assert server.connections == 0


def test_bedrock_takes_a_bearer_token() -> None:
    token = Credential("aws-token", "token", "AWS_BEARER_TOKEN_BEDROCK")
    body = b"".join(map(aws_chunk, ANSWER))
    with LoopbackServer(answers(body, EVENT_STREAM)) as server:
        assert said(ask(bedrock(server.url), CLAUDE, AWS, token)) == "Grüße"
    assert server.requests[0].headers["authorization"] == "Bearer aws-token"


@pytest.mark.parametrize(
    ("exception", "kind", "retryable"),
    [
        ("throttlingException", "rate_limit", True),
        ("internalServerException", "server", True),
        ("serviceUnavailableException", "overloaded", True),
        ("modelStreamErrorException", "server", True),
        ("modelTimeoutException", "server", True),
        ("validationException", "bad_request", False),
    ],
)
def test_a_bedrock_exception_in_the_stream(exception: str, kind: str, retryable: bool) -> None:
    body = aws_chunk(ANSWER[0]) + aws_exception(exception, "It cannot be done.")
    with LoopbackServer(answers(body, EVENT_STREAM)) as server:
        events = ask(bedrock(server.url), CLAUDE, AWS)
    assert failed(events) == (kind, "It cannot be done.")
    assert events[-1].failure.retryable is retryable


def test_a_cut_bedrock_stream_is_interrupted() -> None:
    body = b"".join(map(aws_chunk, ANSWER[:3]))
    with LoopbackServer(answers(body, EVENT_STREAM)) as server:
        assert failed(ask(bedrock(server.url), CLAUDE, AWS))[0] == "stream_interrupted"


def test_no_amazon_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with LoopbackServer(answers(b"")) as server:
        kind, message = failed(ask(bedrock(server.url), CLAUDE, {}))
        assert (kind, server.requests) == ("auth", [])
        assert "sign-in (bedrock)" in message


def test_a_missing_package_is_named() -> None:
    """In a process of its own, where boto3 cannot be imported."""
    code = """
import sys
sys.modules["boto3"] = None
from tests.helpers.fakes import FakeIds, cancel
from yume_shim.providers.load import load_provider
from yume_shim.types.models import Credential, Endpoint, ModelSpec, Request
from yume_shim.types.settings import Settings
spec = ModelSpec("m", Endpoint("bedrock", "anthropic-messages", "", sign_in="bedrock"))
provider = load_provider(spec, Credential("", "none", "none"), Settings(), FakeIds(), lambda *_: None)
print(list(provider.stream(Request(spec, ()), cancel()))[-1].failure.message)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "pip install 'yume_shim[bedrock]'" in done.stdout


# ---------------------------------------------------------------- Vertex


@pytest.fixture(scope="module")
def service_key() -> str:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


def google_account(folder: Path, url: str, key: str) -> dict[str, str]:
    """A service account whose tokens are issued by the server at `url`."""
    account = {
        "type": "service_account",
        "project_id": "project-of-the-account",
        "private_key_id": "k1",
        "private_key": key,
        "client_email": "a@example.test",
        "token_uri": url + "/token",
    }
    path = folder / "account.json"
    path.write_text(json.dumps(account), "utf-8")
    return {"GOOGLE_APPLICATION_CREDENTIALS": str(path)}


def google_server(body: bytes) -> LoopbackServer:
    def handle(exchange: Exchange) -> bool:
        if exchange.request.path == "/token":
            token = {"access_token": "google-token", "expires_in": 3600, "token_type": "Bearer"}
            exchange.reply(200, {"Content-Type": "application/json"}, json.dumps(token).encode())
        else:
            exchange.reply(200, {"Content-Type": "text/event-stream"}, body)
        return True

    return LoopbackServer(handle)


def test_claude_on_vertex(tmp_path: Path, service_key: str) -> None:
    with google_server(sse(ANSWER)) as server:
        env = {**google_account(tmp_path, server.url, service_key), "CLOUD_ML_REGION": "europe-west1"}
        endpoint = Endpoint("vertex", "anthropic-messages", server.url + "/v1", sign_in="vertex")
        assert failed(ask(endpoint, "claude-sonnet-4-5", {**env, "CLOUD_ML_REGION": "a.test/"}))[0] == "config"
        assert said(ask(endpoint, "claude-sonnet-4-5@20250929", env)) == "Grüße"
    request = server.requests[-1]
    place = "/v1/projects/project-of-the-account/locations/europe-west1/publishers/anthropic/models"
    assert request.path == f"{place}/claude-sonnet-4-5@20250929:streamRawPredict"
    assert request.headers["authorization"] == "Bearer google-token"
    assert "model" not in request.json()
    assert request.json()["stream"] is True


def test_gemini_on_vertex(tmp_path: Path, service_key: str) -> None:
    answer: list[Json] = [
        {
            "candidates": [{"content": {"role": "model", "parts": [{"text": "Grüße"}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2},
        }
    ]
    with google_server(sse(answer)) as server:
        env = {**google_account(tmp_path, server.url, service_key), "GOOGLE_CLOUD_PROJECT": "other"}
        endpoint = Endpoint("vertex-gemini", "google-genai", server.url, sign_in="vertex")
        for variable in ("GOOGLE_CLOUD_LOCATION", "CLOUD_ML_REGION"):
            assert failed(ask(endpoint, "gemini-3.5-flash", {**env, variable: "a.test/"}))[0] == "config"
        assert said(ask(endpoint, "gemini-3.5-flash", env)) == "Grüße"
    request = server.requests[-1]
    place = "/v1/projects/other/locations/global/publishers/google/models"
    assert request.path == f"{place}/gemini-3.5-flash:streamGenerateContent?alt=sse"
    assert request.headers["authorization"] == "Bearer google-token"
    assert "x-goog-api-key" not in request.headers


def test_a_google_account_that_is_refused(tmp_path: Path, service_key: str) -> None:
    def refuse(exchange: Exchange) -> bool:
        exchange.reply(400, {"Content-Type": "application/json"}, b'{"error":"invalid_grant"}')
        return True

    with LoopbackServer(refuse) as server:
        env = google_account(tmp_path, server.url, service_key)
        endpoint = Endpoint("vertex", "anthropic-messages", server.url + "/v1", sign_in="vertex")
        kind, message = failed(ask(endpoint, "claude-x", env))
        assert (kind, {request.path for request in server.requests}) == ("auth", {"/token"})
        assert "invalid_grant" in message


# ---------------------------------------------------------------- Azure


@pytest.mark.skipif(os.name == "nt", reason="the stand-in for Azure's command is a shell script")
def test_azure_signs_in_with_entra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    token = {"accessToken": "entra-token", "expiresOn": "2099-01-01 00:00:00.000000", "tokenType": "Bearer"}
    command = tmp_path / "az"
    command.write_text(f"#!/bin/sh\necho '{json.dumps(token)}'\n", "utf-8")
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "AzureCliCredential")
    answer: list[Json] = [
        {"type": "response.created", "response": {"id": "resp_1", "model": "gpt"}},
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "id": "m"}},
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Grüße"},
        {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "Grüße"}]},
        },
        {"type": "response.completed", "response": {"usage": {"input_tokens": 3, "output_tokens": 2}}},
    ]
    with LoopbackServer(answers(sse(answer))) as server:
        endpoint = Endpoint("azure-ad", "openai-responses", server.url + "/openai/v1", sign_in="azure-ad")
        assert said(ask(endpoint, "my-deployment", {})) == "Grüße"
    assert server.requests[0].headers["authorization"] == "Bearer entra-token"
    assert server.requests[0].path == "/openai/v1/responses"


def test_an_unknown_sign_in() -> None:
    endpoint = Endpoint("x", "openai-chat", "http://127.0.0.1:1", sign_in="bedrock")
    kind, message = failed(ask(endpoint, "m", {}))
    assert kind == "config"
    assert "no sign-in 'bedrock' for openai-chat" in message
