"""The failure of every kind of error."""

from __future__ import annotations

import errno
import json
import socket
import ssl
from email.utils import formatdate
from typing import Any

import pytest

from tests.helpers.timing import cheap
from yume_shim.providers.wire.error_body import MAX_MESSAGE, MAX_WAIT_MS
from yume_shim.providers.wire.failures import (
    failure_from_exception,
    failure_from_payload,
    failure_from_status,
    status_failed,
)
from yume_shim.types.errors import Failure, ProviderFailed

NOW = 1_700_000_000.0


@pytest.mark.parametrize(
    ("status", "body", "kind", "retryable"),
    [
        (401, {"type": "error", "error": {"type": "authentication_error", "message": "no"}}, "auth", False),
        (403, {"error": {"type": "permission_error", "message": "no"}}, "auth", False),
        (400, {"code": "invalid-argument", "error": "Incorrect API key provided."}, "auth", False),
        (401, {"detail": "Unauthorized"}, "auth", False),
        (402, {"error": {"message": "Insufficient Balance"}}, "billing", False),
        (400, {"error": {"message": "Your credit balance is too low to access the API."}}, "billing", False),
        (429, {"error": {"code": "insufficient_quota", "message": "quota"}}, "billing", False),
        (429, {"error": {"type": "rate_limit_error", "message": "slow down"}}, "rate_limit", True),
        (404, {"error": {"type": "not_found_error", "message": "model: x"}}, "not_found", False),
        (400, {"error": {"code": "model_not_found", "message": "x"}}, "not_found", False),
        (408, {"error": {"message": "late"}}, "timeout", True),
        (409, {"error": {"message": "conflict"}}, "server", True),
        (413, b"", "context_length", False),
        (400, b"", "context_length", False),
        (422, {"detail": [{"loc": ["body"], "msg": "field required"}]}, "bad_request", False),
        (500, {"error": {"type": "api_error", "message": "Internal server error"}}, "server", True),
        (500, {"error": {"type": "api_error", "message": "Overloaded"}}, "overloaded", True),
        (502, b"<html><title>Bad gateway</title></html>", "server", True),
        (503, {"error": {"code": 503, "status": "UNAVAILABLE", "message": "busy"}}, "overloaded", True),
        (504, b"upstream timed out", "server", True),
        (529, {"error": {"type": "overloaded_error", "message": "Overloaded"}}, "overloaded", True),
        (400, {"error": {"code": "tool_use_failed", "message": "no such call"}}, "bad_request", True),
        (400, {"error": {"code": "content_filter", "message": "filtered"}}, "refusal", False),
        (302, b"", "protocol", False),
    ],
)
def test_kinds_of_statuses(status: int, body: Any, kind: str, retryable: bool) -> None:
    failure = failure_from_status(status, {}, body, "p")
    assert (failure.kind, failure.retryable, failure.status, failure.provider) == (kind, retryable, status, "p")
    assert failure.message


@pytest.mark.parametrize(
    "message",
    [
        "prompt is too long: 5 tokens > 4 maximum",
        "Your input exceeds the context window of this model",
        "This model's maximum context length is 8192 tokens",
        "This endpoint's maximum context length is 8192 tokens",
        "The input token count (5) exceeds the maximum number of tokens allowed (4).",
        "prompt too long; exceeded max context length by 3 tokens",
        "This model's maximum prompt length is 131072 but the request contains 200000",
        "Please reduce the length of the messages or completion.",
        "the request exceeds the available context size",
        "the tokens to keep is greater than the context length",
        "Prompt contains 9 tokens, too large for model with 8 maximum context length",
        "Your request exceeded model token limit: 8",
        "Input is too long for requested model.",
    ],
)
def test_the_overflow_message_of_every_vendor(message: str) -> None:
    assert failure_from_status(400, {}, {"error": {"message": message}}, "p").kind == "context_length"
    assert failure_from_payload({"error": {"message": message}}, "p").kind == "context_length"


def test_a_rate_limit_that_mentions_lengths_is_still_a_rate_limit() -> None:
    body = {"error": {"message": "maximum context length per minute reached"}}
    assert failure_from_status(429, {}, body, "p").kind == "rate_limit"


def test_the_whole_failure() -> None:
    body = b'{"type":"error","error":{"type":"rate_limit_error","message":" Too fast. "}}'
    assert failure_from_status(429, {"retry-after": "2.5"}, body, "anthropic") == Failure(
        kind="rate_limit",
        message="Too fast.",
        status=429,
        retryable=True,
        retry_after_ms=2_500,
        provider="anthropic",
        provider_code="rate_limit_error",
    )


@pytest.mark.parametrize(
    ("headers", "body", "wait"),
    [
        ({"retry-after": "7"}, b"x", 7_000),
        ({"retry-after": formatdate(NOW + 30, usegmt=True)}, b"x", 30_000),
        ({"retry-after": formatdate(NOW - 30, usegmt=True)}, b"x", 0),
        ({"retry-after-ms": "120.5", "retry-after": "7"}, b"x", 120),
        ({"retry-after-ms": "0", "retry-after": "1"}, b"x", 1_000),
        ({"retry-after-ms": "0", "retry-after": "soon"}, b"x", 0),
        ({"retry-after": "-3"}, b"x", 0),
        ({"retry-after": "nan"}, b"x", None),
        ({"retry-after": "inf"}, b"x", MAX_WAIT_MS),
        ({"retry-after": "soon"}, b"x", None),
        ({}, {"error": {"message": "x", "details": [{"@type": "RetryInfo", "retryDelay": "34.4s"}]}}, 34_400),
        ({}, {"error": {"message": "Rate limit. Please try again in 20ms."}}, 20),
        ({}, {"error": {"message": "Please try again in 6m0s."}}, 360_000),
        ({}, b"nothing", None),
    ],
)
def test_waits(headers: dict[str, str], body: Any, wait: int | None) -> None:
    assert failure_from_status(429, headers, body, "p", now=NOW).retry_after_ms == wait


def test_x_should_retry_overrides_our_judgement() -> None:
    assert failure_from_status(500, {"x-should-retry": "false"}, b"", "p").retryable is False
    assert failure_from_status(400, {"x-should-retry": "true"}, b"no", "p").retryable is True


@pytest.mark.parametrize(
    ("body", "message", "code"),
    [
        ({"error": "text only"}, "text only", ""),
        ({"message": "flat", "code": "some_code"}, "flat", "some_code"),
        (
            [{"error": {"code": 400, "message": "in a list", "status": "INVALID_ARGUMENT"}}],
            "in a list",
            "INVALID_ARGUMENT",
        ),
        (
            {"error": {"code": 429, "message": "Provider returned error", "metadata": {"raw": "slow upstream"}}},
            "Provider returned error: slow upstream",
            "",
        ),
        (b"plain words", "plain words", ""),
        (b"\xff\xfe broken", "\ufffd\ufffd broken", ""),
        (b'{"cut', '{"cut', ""),
        (b"null", "null", ""),
        ({"error": None, "detail": "x"}, "x", ""),
        ({"error": {"message": {"deep": 1}}}, '{"deep":1}', ""),
    ],
)
def test_bodies_of_any_shape(body: Any, message: str, code: str) -> None:
    failure = failure_from_status(418, {}, body, "p")
    assert (failure.message, failure.provider_code) == (message, code)


def test_long_messages_are_clipped() -> None:
    assert len(failure_from_status(400, {}, b"x" * 10_000, "p").message) == MAX_MESSAGE + 1


@pytest.mark.parametrize(
    ("payload", "kind", "code", "status"),
    [
        (
            {"type": "error", "error": {"type": "overloaded_error", "message": "x"}},
            "overloaded",
            "overloaded_error",
            None,
        ),
        ({"type": "error", "code": "rate_limit_exceeded", "message": "x"}, "rate_limit", "rate_limit_exceeded", None),
        ({"code": "server_error", "message": "x"}, "server", "server_error", None),
        ({"error": {"code": 503, "message": "x", "status": "UNAVAILABLE"}}, "overloaded", "UNAVAILABLE", 503),
        (
            {"error": {"code": 400, "message": "x", "status": "INVALID_ARGUMENT"}},
            "bad_request",
            "INVALID_ARGUMENT",
            400,
        ),
        ({"error": {"type": "invalid_request_error", "message": "x"}}, "bad_request", "invalid_request_error", None),
        ({"error": {"code": "502", "message": "x"}}, "server", "", 502),
        ({"error": "words"}, "server", "", None),
        ("words", "server", "", None),
        (None, "server", "", None),
    ],
)
def test_errors_inside_streams(payload: Any, kind: str, code: str, status: int | None) -> None:
    failure = failure_from_payload(payload, "p")
    assert (failure.kind, failure.provider_code, failure.status) == (kind, code, status)
    assert failure.message


def test_names_of_network_errors_are_those_of_other_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows has its own numbers, and calls them WSAECONNREFUSED."""
    monkeypatch.setattr(errno, "errorcode", {10061: "WSAECONNREFUSED", 10060: "WSAETIMEDOUT"})
    refused, slow = OSError(10061, "x"), OSError(10060, "x")
    assert [failure_from_exception(each, "p").detail for each in (refused, slow)] == ["ECONNREFUSED", "ETIMEDOUT"]


def _wrapped(inner: BaseException) -> Exception:
    outer = RuntimeError("outer")
    outer.__cause__ = inner
    return outer


@pytest.mark.parametrize(
    ("exc", "kind", "detail", "retryable"),
    [
        (ConnectionRefusedError(errno.ECONNREFUSED, "x"), "network", "ECONNREFUSED", True),
        (ConnectionResetError(errno.ECONNRESET, "x"), "network", "ECONNRESET", True),
        (OSError(errno.EHOSTUNREACH, "No route to host"), "network", "EHOSTUNREACH", True),
        (TimeoutError("x"), "timeout", "ETIMEDOUT", True),
        (socket.gaierror(socket.EAI_NONAME, "x"), "dns", "ENOTFOUND", True),
        (ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version"), "tls", "", False),
        (ssl.SSLCertVerificationError(1, "x"), "tls", "", False),
        (ssl.SSLEOFError(8, "x"), "network", "", True),
        (_wrapped(ConnectionRefusedError(errno.ECONNREFUSED, "x")), "network", "ECONNREFUSED", True),
        (KeyError("x"), "internal", "", False),
    ],
)
def test_exceptions(exc: Exception, kind: str, detail: str, retryable: bool) -> None:
    failure = failure_from_exception(exc, "p", "api.example.com:443")
    assert (failure.kind, failure.retryable) == (kind, retryable)
    if detail:
        assert failure.detail == detail
    if kind != "internal":
        assert "api.example.com:443" in failure.message


def test_a_provider_failure_is_passed_on() -> None:
    failure = Failure("server", "x")
    assert failure_from_exception(ProviderFailed(failure), "p") is failure


def test_a_refused_status_keeps_its_raw_parts() -> None:
    failed = status_failed(429, {"retry-after": "1"}, b"slow", "p")
    assert (failed.status, failed.headers, failed.body) == (429, {"retry-after": "1"}, b"slow")
    assert failed.failure == failure_from_status(429, {"retry-after": "1"}, b"slow", "p")


@pytest.mark.parametrize("piece", [b"<script", b"<title", b"<title>", b"<", b"<style>a"])
def test_a_long_page_of_nonsense_takes_no_time(piece: bytes) -> None:
    with cheap(5):
        assert failure_from_status(502, {}, b"<" + piece * 40_000, "p").kind == "server"


@pytest.mark.parametrize("code", ["9" * 5_000, "\u00b2", "\u0664\u0660\u0660"])
def test_invalid_numbers_do_no_harm(code: str) -> None:
    quota = {"violations": [{"quotaMetric": "input_token_count", "quotaValue": code}]}
    failure = failure_from_payload({"error": {"code": code, "message": "no", "details": [quota]}}, "p")
    assert (failure.message, failure.kind) == ("no", "bad_request" if len(code) == 3 else "server")


@pytest.mark.parametrize("date", ["Mon, 01 Jan 99999999999999 00:00:00 GMT", "Mon, 99 Jan", "\0"])
def test_an_impossible_date_is_ignored(date: str) -> None:
    assert failure_from_status(429, {"retry-after": date}, b"", "p", now=NOW).retry_after_ms is None


EXTRA = [{"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]
FIELD_VIOLATION = {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [{"field": "tools[0].x"}]}


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"error": {"message": "no", "param": "reasoning.effort"}}, "reasoning.effort"),
        ({"error": {"message": "no", "param": None}}, ""),
        ({"detail": EXTRA}, "stream_options"),
        ({"object": "error", "message": {"detail": EXTRA}, "param": None}, "stream_options"),
        ({"error": {"code": 400, "message": "no", "details": [{"reason": "X"}, FIELD_VIOLATION]}}, "tools[0].x"),
        ({"error": {"message": "no", "details": "text", "detail": [{"loc": "body"}, "text"]}}, ""),
        ({"error": "no"}, ""),
    ],
)
def test_the_parameter_is_read_from_the_body(body: dict[str, Any], param: str) -> None:
    assert failure_from_status(422, {}, json.dumps(body).encode(), "vendor").param == param
