"""The context size that is requested, and how a truncated conversation is noticed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yume_shim.providers.apis.ollama_chat.context import USUAL_SIZE, context_size, was_cut
from yume_shim.providers.fitting.estimate import estimate
from yume_shim.types.blocks import Document, Image, Message, Other, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.models import Endpoint, ModelSpec, Quirks, Request
from yume_shim.types.token_estimate import NEWLINE, by_characters


def request(tokens: int, *, window: int, size: int = 0, known: bool = True, answer: int = 100) -> Request:
    quirks = Quirks(context_size=size)
    model = ModelSpec("m", Endpoint("local", "ollama-chat", "http://127.0.0.1:1", quirks=quirks), window, known=known)
    return Request(model, (Message("user", (Text("\n" * round(tokens * 1_000 / NEWLINE)),)),), max_tokens=answer)


@pytest.mark.parametrize(
    ("asked", "size"),
    [
        (request(10, window=131_072), USUAL_SIZE),
        (request(10, window=8_192), 8_192),
        (request(10, window=131_072, size=65_536), 65_536),
        (request(40_000, window=131_072), 65_536),
        (request(90_000, window=131_072), 131_072),
        (request(90_000, window=100_000), 100_000),
        (request(500_000, window=131_072), 131_072),
        (request(90_000, window=128_000, known=False), USUAL_SIZE),
        (request(32_000, window=131_072, answer=8_192), 65_536),
    ],
)
def test_sizes(asked: Request, size: int) -> None:
    assert context_size(asked) == size


@given(st.integers(0, 200_000), st.integers(2_048, 200_000), st.integers(0, 100_000), st.booleans())
def test_a_size_never_exceeds_the_model_and_grows_only_in_steps(
    tokens: int, window: int, usual: int, known: bool
) -> None:
    asked = request(tokens, window=window, size=usual, known=known)
    size = context_size(asked)
    first = min(usual or USUAL_SIZE, window)
    assert size <= window
    assert size >= min(estimate(asked) + asked.max_tokens, window if known else first)
    steps = {min(first * 2**step, window) for step in range(20)}
    assert size in steps


def test_everything_that_is_sent_counts() -> None:
    blocks = (
        Thinking("t" * 10),
        ToolCall("c", "LS", {"a": "b" * 10}),
        ToolResult("c", (Text("x" * 10), Image("image/png", "AAAA"))),
        Document("text/plain", "d" * 10),
        Document("application/pdf", "d" * 300),
        Other("anthropic-messages", {"type": "server_tool_use"}),
    )
    asked = request(0, window=8_192)
    whole = Request(asked.model, (Message("user", blocks),), ("s" * 10,))
    texts = ("s" * 10, "t" * 10, 'LS{"a":"bbbbbbbbbb"}', "x" * 10, "d" * 10)
    assert estimate(whole) == sum(map(by_characters, texts)) + 1_600 + 10


@pytest.mark.parametrize(
    ("sent", "counted", "cut"),
    [
        (100, 0, False),
        (100, 120, False),
        (900, 1_023, True),
        (900, 1_024, True),
        (1_200, 900, False),
        (5_000, 514, True),
        (5_000, 0, False),
    ],
)
def test_a_truncated_conversation_is_noticed(sent: int, counted: int, cut: bool) -> None:
    assert was_cut(request(sent, window=1_024, size=1_024), counted) == cut
