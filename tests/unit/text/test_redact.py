"""Keys are removed. The sample keys are assembled from parts, so that secret scanners do not report them."""

from __future__ import annotations

import pytest

from yume_shim.text.redact import redact, redact_count, shown_address

BODY = "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


@pytest.mark.parametrize(
    "key",
    [
        "sk-" + "ant-api03-" + BODY,
        "sk-" + "proj-" + BODY + "_-x",
        "sk-" + "or-v1-" + BODY,
        "AI" + "za" + BODY[:35],
        "ya" + "29." + BODY,
        "gsk" + "_" + BODY,
        "xai" + "-" + BODY,
        "ghp" + "_" + BODY,
        "github" + "_pat_" + BODY,
        "glpat" + "-" + BODY,
        "xoxb" + "-1234567890-" + BODY,
        "AKIA" + "ABCDEFGHIJ234567",
        "hf" + "_" + BODY,
        "eyJ" + BODY + ".eyJ" + BODY + "." + BODY,
        "-----BEGIN RSA PRIVATE" + " KEY-----\nabc\ndef\n-----END RSA PRIVATE" + " KEY-----",
        "-----BEGIN PRIVATE" + " KEY-----\nnever ended",
    ],
)
def test_shapes(key: str) -> None:
    assert redact_count(f"before {key}", ()) == ("before [redacted]", 1)
    assert redact(f'{{"key":"{key}"}}').startswith('{"key":"[redacted]')


def test_the_word_bearer_stays() -> None:
    assert redact(f"Authorization: Bearer {BODY}, next") == "Authorization: Bearer [redacted], next"


def test_keys_in_use() -> None:
    secrets = ["local-secret", "local-secret-2", "short", ""]
    assert redact_count("local-secret-2 local-secret short", secrets) == ("[redacted] [redacted] short", 2)


@pytest.mark.parametrize(
    "text", ["", "task-management-for-the-whole-team", "the bearer of news", "ask-me", "sk-1", "AKIA", "schön"]
)
def test_ordinary_text_stays(text: str) -> None:
    assert redact_count(text, ()) == (text, 0)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://api.test/v1", "https://api.test/v1"),
        ("https://me:pass@word@api.test:8080/v1", "https://api.test:8080/v1"),
        ("http://api.test?key=1", "http://api.test"),
        ("http://api.test/a@b?api-version=1&key=x", "http://api.test/a@b"),
        ("", ""),
    ],
)
def test_an_address_is_shown_without_secrets(url: str, shown: str) -> None:
    assert shown_address(url) == shown
