"""How much thinking is requested, by what the model is known to take."""

from __future__ import annotations

from typing import Any

import pytest

from yume_shim.providers.apis.anthropic_messages.encode import encode_request as anthropic
from yume_shim.providers.apis.google_genai.encode import encode_request as google
from yume_shim.providers.apis.openai_chat.encode import encode_request as chat
from yume_shim.providers.apis.openai_responses.encode import encode_request as responses
from yume_shim.providers.wire.thinking import least_effort, requested_effort, thinks_now
from yume_shim.types.blocks import Message, Text, Thinking
from yume_shim.types.models import Endpoint, ModelSpec, Quirks, Request


def request(api: str = "openai-chat", quirks: Any = None, model: Any = None, **settings: Any) -> Request:
    endpoint = Endpoint("acme", api, "http://127.0.0.1:1", quirks=Quirks(**(quirks or {})))
    return Request(ModelSpec("m", endpoint, **(model or {})), (Message("user", (Text("x"),)),), **settings)


def test_no_requested_effort_sends_none() -> None:
    assert requested_effort(request(model={"efforts": ("low",)})) is None


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        ((), "low"),
        (("minimal", "low"), "minimal"),
        (("none", "low"), "none"),
        (("medium", "high"), "medium"),
    ],
)
def test_the_least_effort(taken: tuple[str, ...], expected: str) -> None:
    assert least_effort(request(model={"efforts": taken})) == expected


@pytest.mark.parametrize(
    ("model", "quirks", "settings", "expected"),
    [
        ({}, {}, {}, False),
        ({}, {}, {"thinking": "enabled"}, True),
        ({"thinking": "adaptive"}, {}, {}, True),
        ({"thinking": "adaptive"}, {}, {"thinking": "disabled"}, False),
        ({"thinking": "adaptive", "always_thinks": True}, {}, {"thinking": "disabled"}, True),
        ({"thinking": "adaptive"}, {"thinking": False}, {}, False),
        ({"thinking": "budget"}, {}, {}, False),
        ({"thinking": "budget"}, {}, {"thinking_budget": 2_000}, True),
        ({"thinking": "budget"}, {}, {"thinking": "enabled", "thinking_budget": 0}, False),
    ],
)
def test_thinks_now(model: Any, quirks: Any, settings: Any, expected: bool) -> None:
    assert thinks_now(request(quirks=quirks, model=model, **settings)) is expected


@pytest.mark.parametrize(
    ("model", "settings", "thinking", "output"),
    [
        ({"thinking": "adaptive"}, {"thinking": "disabled"}, {"type": "disabled"}, None),
        ({"thinking": "adaptive", "always_thinks": True}, {"thinking": "disabled"}, {"type": "adaptive"}, None),
        ({"thinking": "adaptive", "always_thinks": True}, {"thinking_budget": 0}, {"type": "adaptive"}, None),
        ({"thinking": "adaptive"}, {"effort": "max"}, {"type": "adaptive"}, {"effort": "max"}),
        (
            {"thinking": "adaptive", "efforts": ("low", "high")},
            {"effort": "max"},
            {"type": "adaptive"},
            {"effort": "high"},
        ),
        (
            {"thinking": "adaptive"},
            {"thinking": "disabled", "effort": "xhigh"},
            {"type": "disabled"},
            {"effort": "high"},
        ),
        ({"thinking": "budget"}, {"effort": "high"}, None, None),
        ({"thinking": "budget", "efforts": ("low", "high")}, {"effort": "high"}, None, {"effort": "high"}),
    ],
)
def test_anthropic(model: Any, settings: Any, thinking: Any, output: Any) -> None:
    body = anthropic(request("anthropic-messages", model=model, **settings)).body
    assert (body.get("thinking"), body.get("output_config")) == (thinking, output)


FIELDS = ("reasoning_effort", "reasoning", "thinking", "enable_thinking", "chat_template_kwargs")


@pytest.mark.parametrize(
    ("field", "settings", "expected"),
    [
        ("reasoning_effort", {"effort": "high"}, {}),
        ("reasoning", {}, {}),
        ("reasoning", {"effort": "high"}, {"reasoning": {"effort": "high"}}),
        ("reasoning", {"thinking": "enabled"}, {"reasoning": {"enabled": True}}),
        ("reasoning", {"thinking": "disabled"}, {"reasoning": {"enabled": False}}),
        ("reasoning", {"thinking_budget": 2_000}, {"reasoning": {"max_tokens": 2_000}}),
        ("thinking", {"effort": "low"}, {"thinking": {"type": "enabled"}}),
        ("thinking", {"thinking_budget": 0}, {"thinking": {"type": "disabled"}}),
        ("enable_thinking", {"thinking": "disabled"}, {"enable_thinking": False}),
        ("chat_template_kwargs", {"thinking": "adaptive"}, {"chat_template_kwargs": {"enable_thinking": True}}),
        ("", {"thinking": "enabled", "effort": "low"}, {}),
    ],
)
def test_chat_dialects(field: str, settings: Any, expected: Any) -> None:
    body = chat(request(quirks={"effort_field": field}, **settings)).body
    assert {key: body[key] for key in FIELDS if key in body} == expected
    silent = chat(request(quirks={"effort_field": field, "thinking": False}, **settings)).body
    assert not set(silent) & set(FIELDS)


def test_chat_and_responses_send_the_nearest_effort() -> None:
    model = {"thinking": "effort", "efforts": ("none", "low", "medium")}
    assert chat(request(model=model, effort="max")).body["reasoning_effort"] == "medium"
    assert chat(request(model=model, thinking="disabled")).body["reasoning_effort"] == "none"
    asked = responses(request("openai-responses", model=model, effort="max")).body
    assert (asked["reasoning"], asked["include"]) == (
        {"effort": "medium", "summary": "auto"},
        ["reasoning.encrypted_content"],
    )


@pytest.mark.parametrize(
    ("model", "settings", "expected"),
    [
        ({"thinking": "level", "efforts": ("low", "high")}, {"effort": "medium"}, "LOW"),
        ({"thinking": "level", "efforts": ("minimal", "low")}, {"thinking": "disabled"}, "MINIMAL"),
        ({"thinking": "level"}, {"thinking": "disabled"}, "LOW"),
        ({"thinking": "budget"}, {"thinking": "disabled"}, 0),
        ({"thinking": "budget", "always_thinks": True}, {"thinking": "disabled"}, 512),
    ],
)
def test_google(model: Any, settings: Any, expected: Any) -> None:
    config = google(request("google-genai", model=model, **settings)).body["generationConfig"]["thinkingConfig"]
    assert (config.get("thinkingLevel") or config.get("thinkingBudget")) == (expected or config["thinkingBudget"])
    assert set(config) <= {"thinkingLevel", "thinkingBudget", "includeThoughts"}
    assert len({"thinkingLevel", "thinkingBudget"} & set(config)) == 1


OPAQUE: dict[str, dict[str, Any]] = {
    "anthropic-messages": {"signature": "c2ln"},
    "openai-responses": {"encrypted_content": "blob", "summary": []},
    "google-genai": {"signature": "c2ln"},
}


@pytest.mark.parametrize("api", OPAQUE)
def test_thoughts_are_sent_back_only_to_their_own_model(api: str) -> None:
    """With their private data, even if their text was omitted; never to another model of the same API."""
    encode = {"anthropic-messages": anthropic, "openai-responses": responses, "google-genai": google}[api]
    base = request(api, model={"thinking": "adaptive"})
    for text in ("Hm.", ""):
        thought = Thinking(text, opaque={api: OPAQUE[api]})

        def sent(origin: str, thought: Thinking = thought) -> str:
            answer = Message("assistant", (thought, Text("Answer.")), origin)
            messages = (*base.messages, answer, Message("user", (Text("more"),)))
            return repr(encode(Request(base.model, messages)).body)

        secret = next(iter(OPAQUE[api].values()))
        assert repr(secret) in sent(base.model.origin)
        assert repr(secret) not in sent(f"{api}/another")
