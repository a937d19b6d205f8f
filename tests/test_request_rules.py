"""Every request that leaves us obeys the documented rules of its API: on all goldens and on thousands of histories."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.api_rules import broken_request
from tests.helpers.media_files import b64, picture, saved
from tests.helpers.wild_histories import TOOLS, wild
from tests.helpers.wire_cases import cases
from yume_shim.context.compact import choose_cut, rejoin
from yume_shim.context.repair import repair
from yume_shim.context.result_trimming import plan_step
from yume_shim.context.trim_plan import apply_trim
from yume_shim.providers.fitting.prepare import Preparer
from yume_shim.providers.load import load_adapter
from yume_shim.text import codec
from yume_shim.types.blocks import Message, Other, Text, Thinking, ToolCall
from yume_shim.types.models import Endpoint, ModelSpec, Quirks, Request
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.helpers.wire_cases import Case

HISTORIES = int(os.environ.get("YUME_HISTORIES", "2500"))
FOR_ALL = 500
"""Histories that are sent to every endpoint; the others to one each, in turn."""
ENDPOINTS = Path(__file__).parents[1] / "yume_shim" / "catalog" / "endpoints.json"
THINKING = {"anthropic-messages": "budget", "google-genai": "level", "openai-responses": "effort"}


def issued_in(messages: tuple[Message, ...], origin: str) -> set[str]:
    """The proofs that this model gave out itself."""
    api = origin.partition("/")[0]
    return {
        text
        for message in messages
        if message.origin == origin
        for block in message.blocks
        if isinstance(block, Text | Thinking | ToolCall | Other)
        for text in _strings(block.data if isinstance(block, Other) else block.opaque.get(api, {}))
    }


def _strings(item: Any) -> Iterator[str]:
    if isinstance(item, str):
        yield item
    elif isinstance(item, dict):
        for inner in item.values():
            yield from _strings(inner)


# ---------------------------------------------------------------- goldens


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_goldens_obey(case: Case) -> None:
    issued = issued_in(case.request.messages, case.model.origin)
    for body in case.expected_bodies():
        assert broken_request(body, case.model, issued) == []


# ---------------------------------------------------------------- the rules themselves

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
READ = {"type": "object", "properties": {"file_path": {"type": "string"}}}
LEGAL: dict[str, dict[str, Any]] = {
    "anthropic-messages": {
        "model": "m",
        "max_tokens": 4096,
        "system": [{"type": "text", "text": "Be brief."}],
        "tools": [{"name": "Read", "description": "", "input_schema": READ}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Look."},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
                ],
            },
        ],
    },
    "google-genai": {
        "contents": [
            {"role": "user", "parts": [{"text": "Look."}, {"inlineData": {"mimeType": "image/png", "data": PIXEL}}]}
        ],
        "tools": [{"functionDeclarations": [{"name": "Read", "description": "", "parametersJsonSchema": READ}]}],
        "generationConfig": {"maxOutputTokens": 4096},
    },
    "ollama-chat": {
        "model": "m",
        "stream": True,
        "options": {"num_ctx": 32768, "num_predict": 4096},
        "tools": [{"type": "function", "function": {"name": "Read", "description": "", "parameters": READ}}],
        "messages": [{"role": "user", "content": "Look.", "images": [PIXEL]}],
    },
    "openai-chat": {
        "model": "m",
        "max_tokens": 4096,
        "tools": [{"type": "function", "function": {"name": "Read", "description": "", "parameters": READ}}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Look."},
                    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
                ],
            }
        ],
    },
    "openai-responses": {
        "model": "m",
        "max_output_tokens": 4096,
        "tools": [{"type": "function", "name": "Read", "description": "", "parameters": READ, "strict": False}],
        "input": [
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "Look."},
                    {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"},
                ],
            }
        ],
    },
}
MARKED = {"cache_control": {"type": "ephemeral"}}


def spec_of(api: str, **quirks: Any) -> ModelSpec:
    return ModelSpec("m", Endpoint("e", api, "http://127.0.0.1:1", quirks=Quirks(**quirks)))


@pytest.mark.parametrize("api", LEGAL)
def test_legal_requests_pass(api: str) -> None:
    assert broken_request(LEGAL[api], spec_of(api)) == []


@pytest.mark.parametrize(
    ("api", "change", "quirks"),
    [
        ("anthropic-messages", {"max_tokens": 0}, {}),
        ("anthropic-messages", {"temperature": 1.5}, {}),
        ("anthropic-messages", {"frequency_penalty": 1}, {}),
        ("anthropic-messages", {"thinking": {"type": "enabled", "budget_tokens": 500}}, {}),
        ("anthropic-messages", {"thinking": {"type": "enabled", "budget_tokens": 4096}}, {}),
        ("anthropic-messages", {"thinking": {"type": "adaptive", "budget_tokens": 2048}}, {}),
        ("anthropic-messages", {"thinking": {"type": "adaptive"}, "temperature": 0.5}, {}),
        ("anthropic-messages", {"tools": [{"name": "a.b", "input_schema": READ}]}, {}),
        ("anthropic-messages", {"tools": [{"name": "a", "input_schema": {"anyOf": [READ]}}]}, {}),
        ("anthropic-messages", {"tools": [{"name": "a", "input_schema": READ | {"anyOf": [READ]}}]}, {}),
        ("anthropic-messages", {"tools": [{"name": "a", "input_schema": READ, **MARKED}] * 5}, {}),
        ("anthropic-messages", {"tools": [{"name": "a", "input_schema": READ, **MARKED}]}, {"prompt_cache": False}),
        ("anthropic-messages", {"tool_choice": {"type": "tool", "name": "Write"}}, {}),
        ("anthropic-messages", {"output_config": {"effort": "huge"}}, {}),
        ("anthropic-messages", {"system": [{"type": "text", "text": " "}]}, {}),
        ("anthropic-messages", {}, {"images": False}),
        ("google-genai", {"generationConfig": {"maxOutputTokens": 0}}, {}),
        (
            "google-genai",
            {
                "generationConfig": {
                    "maxOutputTokens": 1,
                    "thinkingConfig": {"thinkingLevel": "LOW", "thinkingBudget": 1},
                }
            },
            {},
        ),
        ("google-genai", {"tools": [{"functionDeclarations": [{"name": "9x"}]}]}, {}),
        (
            "google-genai",
            {"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["Write"]}}},
            {},
        ),
        (
            "google-genai",
            {"contents": [{"role": "user", "parts": [{"text": "a", "fileData": {"fileUri": "https://x"}}]}]},
            {},
        ),
        ("google-genai", {}, {"image_formats": ("image/jpeg",)}),
        ("ollama-chat", {"tools": []}, {}),
        ("ollama-chat", {"max_tokens": 5}, {}),
        ("ollama-chat", {"options": {}}, {}),
        ("ollama-chat", {}, {"images": False}),
        ("ollama-chat", {}, {"image_formats": ("image/jpeg",)}),
        ("ollama-chat", {"messages": [{"role": "developer", "content": "x"}]}, {}),
        ("ollama-chat", {"messages": [{"role": "user", "content": ["x"]}]}, {}),
        ("ollama-chat", {"messages": [{"role": "user", "content": "", "images": ["https://x"]}]}, {}),
        ("ollama-chat", {"messages": [{"role": "tool", "content": "x", "tool_name": "Read"}]}, {}),
        ("openai-chat", {"tools": []}, {}),
        ("openai-chat", {"max_tokens": 0}, {}),
        ("openai-chat", {"max_completion_tokens": 5}, {}),
        ("openai-chat", {"prompt_cache_key": "k"}, {}),
        ("openai-chat", {"prompt_cache_key": "k" * 65}, {"cache_key": True}),
        ("openai-chat", {"stream_options": {}}, {}),
        ("openai-chat", {"stop": ["a", "b"]}, {"stop_sequences_max": 1}),
        ("openai-chat", {"tool_choice": {"type": "function", "function": {"name": "Write"}}}, {}),
        ("openai-chat", {"messages": [{"role": "function", "content": "x"}]}, {}),
        ("openai-chat", {}, {"images": False}),
        ("openai-responses", {"max_output_tokens": 15}, {}),
        ("openai-responses", {"stop": ["a"]}, {}),
        ("openai-responses", {"tools": [{"type": "function", "name": "a", "parameters": READ}]}, {}),
        ("openai-responses", {"tools": [{"type": "function", "name": "a", "parameters": READ, "strict": True}]}, {}),
        ("openai-responses", {"reasoning": {"effort": "huge"}}, {}),
        ("openai-responses", {"input": []}, {}),
    ],
)
def test_the_rules_bite(api: str, change: dict[str, Any], quirks: dict[str, Any]) -> None:
    assert broken_request({**LEGAL[api], **change}, spec_of(api, **quirks)) != []


@pytest.mark.parametrize("api", LEGAL)
def test_media_are_looked_into(api: str) -> None:
    text = json.dumps(LEGAL[api])
    if "image/png" in text:  # one API has the bytes alone
        assert broken_request(json.loads(text.replace("image/png", "image/jpeg")), spec_of(api)) != []
    assert broken_request(json.loads(text.replace(PIXEL, "%%%")), spec_of(api)) != []
    assert broken_request(LEGAL[api], spec_of(api, image_bytes=20)) != []
    wide = json.loads(text.replace(PIXEL, b64(saved(picture(30, 2), "PNG"))))
    assert broken_request(wide, spec_of(api, image_side=30)) == []
    assert broken_request(wide, spec_of(api, image_side=29)) != []


# ---------------------------------------------------------------- generated histories


def specs() -> list[ModelSpec]:
    """A model at every endpoint of the catalogue, and at some that nobody has."""
    rows: dict[str, Any] = json.loads(ENDPOINTS.read_text("utf-8"))
    endpoints = []
    for name, row in rows.items():
        if row["api"] != "replay":
            given: dict[str, Any] = {
                key: tuple(part) if isinstance(part, list) else part for key, part in row.get("quirks", {}).items()
            }
            endpoints.append(Endpoint(name, row["api"], "http://127.0.0.1:1", quirks=Quirks(**given)))
    for api in ("anthropic-messages", "google-genai", "ollama-chat", "openai-chat", "openai-responses"):
        plainest = Quirks(
            images=False, documents=False, images_in_results=False, prompt_cache=False, request_bytes=9_000
        )
        endpoints.append(Endpoint(f"plain {api}", api, "http://127.0.0.1:1", quirks=plainest))
        by_text = Quirks(tools=False, documents=False)
        endpoints.append(Endpoint(f"text tools {api}", api, "http://127.0.0.1:1", quirks=by_text))
    return [
        ModelSpec("model-x", endpoint, thinking=THINKING.get(endpoint.api, ""), max_output=64_000)
        for endpoint in endpoints
    ]


class Sender:
    """One endpoint: the way of a history from the store to the wire."""

    def __init__(self, spec: ModelSpec) -> None:
        self._spec = spec
        self._adapter = load_adapter(spec.endpoint.api)
        self._preparer = Preparer(lambda _level, _text: None)

    def complaints(self, seed: int) -> list[str]:
        """What the API would refuse about this history's request."""
        chance = random.Random(seed)
        history = _worn(wild(seed, self._spec.origin), chance)
        issued = issued_in(history, self._spec.origin)
        messages = repair(history, self._spec).messages or (Message("user", (Text("Go."),)),)
        if messages[-1].role == "assistant":  # the engine never asks without something to answer
            messages = (*messages, Message("user", (Text("Go on."),)))
        request = Request(
            self._spec,
            messages,
            chance.choice(((), ("Be brief.",), ("Be brief.", " ", "And kind."))),
            TOOLS[: chance.randrange(len(TOOLS) + 1)],
            max_tokens=chance.choice((1, 500, 4_096, 64_000)),
            effort=chance.choice((None, "low", "max")),
            thinking=chance.choice(("default", "adaptive", "enabled", "disabled")),
            thinking_budget=chance.choice((None, 0, 500, 2_000)),
            session_id="11111111-2222-4333-8444-555555555555",
            temperature=chance.choice((None, None, 0.0, 1.5, 2.0)),
            top_p=chance.choice((None, None, 0.9)),
            stop_sequences=chance.choice(((), (), ("END",), ("a", "b", "c", "d", "e", "f"))),
        )
        if request.tools:
            request = replace(request, tool_choice=chance.choice(("auto", "auto", "none", request.tools[0].name)))
        ready = self._preparer.prepare(request).request
        wire = self._preparer.edit(self._adapter.encode_request(ready))
        body = codec.loads(codec.dumps(wire.body))
        return broken_request(body, self._spec, issued)


def _worn(history: tuple[Message, ...], chance: random.Random) -> tuple[Message, ...]:
    """Some were trimmed, some were compacted."""
    fate = chance.random()
    if fate < 0.2:
        step = plan_step(history, 100_000, 10, caps=(200, 50))
        return history if step is None else apply_trim(history, step.plan)
    if fate < 0.35:
        cut = choose_cut(history, 50, 1_000_000)
        return history if cut is None else (rejoin("All was well.", history[:cut], TOOLS), *history[cut:])
    return history


def test_thousands_of_histories_obey() -> None:
    senders = [Sender(spec) for spec in specs()]
    count = 0
    for seed in range(HISTORIES):
        chosen = senders if seed < FOR_ALL else [senders[seed % len(senders)]]
        for sender in chosen:
            broken = sender.complaints(seed)
            assert broken == [], f"seed {seed} at {sender._spec.endpoint.name}: {broken}"
        count += 1
    assert count == HISTORIES
