"""Token limits in refusals: every sentence of the table, whole sentences of vendors, and texts that name none."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from yume_shim.providers.wire import token_limits
from yume_shim.providers.wire.failures import failure_from_status
from yume_shim.providers.wire.token_limits import (
    ABOVE_MAX_OUTPUT,
    AFFORDABLE,
    INPUT,
    INPUT_AT_LEAST,
    INPUT_PARTS,
    MAX_OUTPUT,
    TOOLS,
    WINDOW,
    read_limits,
)
from yume_shim.types.errors import TokenLimits

if TYPE_CHECKING:
    from yume_shim.providers.wire.token_limits import Row

ROWS = (*MAX_OUTPUT, *ABOVE_MAX_OUTPUT, *WINDOW, *INPUT, INPUT_PARTS, *INPUT_AT_LEAST, *AFFORDABLE, *TOOLS)
VLLM = (
    "This model's maximum context length is 128000 tokens. However, you requested 65535 output tokens and your prompt "
    "contains at least 62466 input tokens, for a total of at least 128001 tokens."
)
CREDITS = "requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 1234."


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}: {row[1][:30]}")
def test_every_pattern_finds_the_number_in_its_sentence(row: Row) -> None:
    found = re.search(row[2], row[1], re.IGNORECASE)
    assert found is not None
    assert found.group(1).isdecimal()


@pytest.mark.parametrize(
    ("message", "limits"),
    [
        ("'tools' : maximum number of items is 128", TokenLimits(max_tools=128)),
        ("At most 512 function declarations can be specified.", TokenLimits(max_tools=512)),
        (
            "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens",
            TokenLimits(max_output=8_192),
        ),
        (
            (
                "input length and `max_tokens` exceed context limit: 149907 + 64000 > 200000, decrease input length or "
                "`max_tokens` and try again"
            ),
            TokenLimits(window=200_000, input=149_907),
        ),
        ("max_tokens is too large: 8192. This model supports at most 4096 completion", TokenLimits(max_output=4_096)),
        (
            (
                "'max_tokens' or 'max_completion_tokens' is too large: 64000. This model's maximum context length is "
                "64001 tokens and your request has 24235 input tokens (64000 > 64001 - 24235)."
            ),
            TokenLimits(window=64_001, input=24_235),
        ),
        (
            (
                "Unable to submit request: it has a maxOutputTokens value of 65536 but the supported range is from "
                "1 (inclusive) to 8193 (exclusive). Update the value and try again."
            ),
            TokenLimits(max_output=8_192),
        ),
        (
            (
                "The parameter `max_completion_tokens` specified in the request are not valid: integer above maximum "
                "value, expected a value <= 12288, but got 32000 instead. Request id: 0217"
            ),
            TokenLimits(max_output=12_288),
        ),
        (VLLM, TokenLimits(window=128_000, input_at_least=62_466)),
        (
            (
                "This endpoint's maximum context length is 131,072 tokens. However, you requested about 151072 tokens "
                "(18928 of text input, 1072 of tool input, 131072 in the output)."
            ),
            TokenLimits(window=131_072, input=20_000),
        ),
        (CREDITS, TokenLimits(affordable=1_234)),
        (f"litellm.BadRequestError: AnthropicException - {CREDITS}", TokenLimits(affordable=1_234)),
        (
            "This model's maximum context length is 131072 tokens. However, you requested 200000.",
            TokenLimits(window=131_072),
        ),
    ],
)
def test_whole_sentences(message: str, limits: TokenLimits) -> None:
    assert read_limits(message, {}) == limits


@pytest.mark.parametrize(
    "message",
    [
        "",
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "`max_tokens` must be greater than `thinking.budget_tokens`",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "maximum context length is 99999999999999999999 tokens",
        "Rate limit reached: limit 30000 tokens per minute, requested 40000",
    ],
)
def test_texts_without_a_limit(message: str) -> None:
    assert read_limits(message, {}) is None


def test_fields_of_llama_cpp() -> None:
    assert read_limits("exceeded", {"n_ctx": 8_192, "n_prompt_tokens": 14_429}) == TokenLimits(
        window=8_192, input=14_429
    )
    assert read_limits("exceeded", {"n_ctx": True}) is None
    assert read_limits("exceeded", {"n_ctx": 10**12}) is None


@pytest.mark.parametrize(
    ("status", "error", "kind", "limits"),
    [
        (
            400,
            {"message": f"{VLLM}", "code": 400},
            "context_length",
            TokenLimits(window=128_000, input_at_least=62_466),
        ),
        (402, {"message": CREDITS, "code": 402}, "billing", TokenLimits(affordable=1_234)),
        (
            500,
            {"message": "x", "type": "exceed_context_size_error", "n_ctx": 4096},
            "context_length",
            TokenLimits(window=4096),
        ),
        (
            400,
            {
                "message": "Param Incorrect",
                "param": "max_tokens is too large: 9. This model supports at most 4 completion",
            },
            "bad_request",
            TokenLimits(max_output=4),
        ),
        (429, {"message": CREDITS}, "rate_limit", None),
        (401, {"message": VLLM}, "auth", None),
    ],
)
def test_failures_carry_them(status: int, error: Any, kind: str, limits: TokenLimits | None) -> None:
    failure = failure_from_status(status, {}, {"error": error}, "vendor")
    assert (failure.kind, failure.limits) == (kind, limits)


def test_bodies_of_every_shape() -> None:
    for body in (
        CREDITS.encode(),
        {"error": CREDITS},
        {"detail": CREDITS},
        {"message": CREDITS},
        [{"error": {"message": CREDITS}}],
    ):
        assert failure_from_status(402, {}, body, "vendor").limits == TokenLimits(affordable=1_234), body


def test_a_long_message_is_read_quickly() -> None:
    """Patterns must not take quadratic time on what a hostile endpoint sends."""
    for text in ("max_tokens " * 20_000, "1" * 200_000, "(" * 200_000, "max_tokens is too large" * 10_000):
        failure_from_status(400, {}, {"error": {"message": text}}, "vendor")
    assert token_limits.read_limits("max_tokens: 1 > " + "9" * 15, {}) is None
