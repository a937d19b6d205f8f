"""Temperature, top_p and stop sequences: sent where the endpoint takes them, otherwise left out with one warning."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.fakes import FakeIds, cancel
from tests.helpers.wire_cases import WireTransport, no_log
from yume_shim.providers.fitting.sampling import sampling
from yume_shim.providers.load import load_adapter
from yume_shim.providers.pipeline import ApiProvider
from yume_shim.types.blocks import Message, Text
from yume_shim.types.events import Notice
from yume_shim.types.models import Endpoint, ModelSpec, Quirks, Request

ALL = {"temperature": 1.5, "top_p": 0.5, "stop_sequences": ("A", "B")}


def request(api: str, quirks: Any = None, model: Any = None, **settings: Any) -> Request:
    endpoint = Endpoint("acme", api, "http://127.0.0.1:1", quirks=Quirks(**(quirks or {})))
    return Request(ModelSpec("m", endpoint, **(model or {})), (Message("user", (Text("x"),)),), **settings)


@pytest.mark.parametrize(
    ("api", "quirks", "model", "settings", "sent", "left"),
    [
        ("openai-chat", {}, {}, {}, {}, ""),
        ("openai-chat", {}, {}, ALL, {"temperature": 1.5, "top_p": 0.5, "stop_sequences": ["A", "B"]}, ""),
        ("openai-chat", {"temperature_max": 1.0}, {}, {"temperature": 1.5}, {"temperature": 1.0}, ""),
        ("openai-chat", {}, {}, {"temperature": 0.0, "top_p": 0.0}, {"temperature": 0.0, "top_p": 0.0}, ""),
        ("openai-chat", {"temperature": False}, {}, ALL, {"top_p": 0.5, "stop_sequences": ["A", "B"]}, "temperature"),
        ("openai-chat", {"top_p": False}, {}, {"top_p": 0.5}, {}, "top_p"),
        ("openai-chat", {"stop_sequences": False}, {}, {"stop_sequences": ("A",)}, {}, "stop_sequences"),
        (
            "openai-chat",
            {"stop_sequences_max": 1},
            {},
            {"stop_sequences": ("A", "B")},
            {"stop_sequences": ["A"]},
            "stop_sequences after the first 1",
        ),
        ("openai-chat", {}, {"sampling": False}, ALL, {}, "temperature, top_p, stop_sequences"),
        ("openai-responses", {}, {}, ALL, {"temperature": 1.5, "top_p": 0.5}, "stop_sequences"),
        ("anthropic-messages", {}, {}, ALL, {"temperature": 1.0, "stop_sequences": ["A", "B"]}, "top_p"),
        ("anthropic-messages", {}, {}, {"top_p": 0.5}, {"top_p": 0.5}, ""),
        ("anthropic-messages", {}, {"sampling": False}, ALL, {"stop_sequences": ["A", "B"]}, "temperature, top_p"),
        ("anthropic-messages", {}, {"thinking": "adaptive"}, {"temperature": 0.5}, {}, "temperature"),
        (
            "anthropic-messages",
            {},
            {"thinking": "budget"},
            {"temperature": 0.5, "thinking_budget": 2_000},
            {},
            "temperature",
        ),
        ("anthropic-messages", {}, {"thinking": "budget"}, {"temperature": 0.5}, {"temperature": 0.5}, ""),
        ("google-genai", {}, {"thinking": "level"}, {"temperature": 2.0}, {"temperature": 2.0}, ""),
    ],
)
def test_what_is_sent(api: str, quirks: Any, model: Any, settings: Any, sent: Any, left: str) -> None:
    notice = (Notice("parameter_left_out", f"{left} not sent: m at acme does not take it"),) if left else ()
    assert sampling(request(api, quirks, model, **settings)) == (sent, notice)


@pytest.mark.parametrize(
    ("api", "place", "expected"),
    [
        ("openai-chat", "", {"temperature": 1.5, "top_p": 0.5, "stop": ["A", "B"]}),
        ("openai-responses", "", {"temperature": 1.5, "top_p": 0.5}),
        ("anthropic-messages", "", {"temperature": 1.0, "stop_sequences": ["A", "B"]}),
        ("google-genai", "generationConfig", {"temperature": 1.5, "topP": 0.5, "stopSequences": ["A", "B"]}),
        ("ollama-chat", "options", {"temperature": 1.5, "top_p": 0.5, "stop": ["A", "B"]}),
    ],
)
def test_each_api_has_its_own_names(api: str, place: str, expected: Any) -> None:
    encode = load_adapter(api).encode_request
    with_wishes, without = encode(request(api, **ALL)).body, encode(request(api)).body
    if place:
        with_wishes, without = with_wishes[place], without[place]
    assert {key: item for key, item in with_wishes.items() if without.get(key) != item} == expected
    assert set(without) <= set(with_wishes)


def test_the_notice_is_given_once() -> None:
    asked = request("openai-chat", {"temperature": False}, temperature=0.5)
    done = {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    transport = WireTransport([[done], [done]], "acme")
    provider = ApiProvider(load_adapter("openai-chat"), asked.model.endpoint, transport, FakeIds(), no_log)
    notices = [[event for event in provider.stream(asked, cancel()) if isinstance(event, Notice)] for _ in range(2)]
    assert notices == [[Notice("parameter_left_out", "temperature not sent: m at acme does not take it")], []]
