"""The Gemini encoder beyond its goldens: addresses, credentials, thinking settings, names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from yume_shim.providers.apis import google_genai
from yume_shim.providers.apis.google_genai.encode import MAX_NAME, wire_name
from yume_shim.types.blocks import Document, Image, Message, Other, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.models import Credential, Endpoint, ModelSpec, Quirks, Request

if TYPE_CHECKING:
    from yume_shim.types.blocks import Block, Json

GOOGLE = "https://generativelanguage.googleapis.com"


def request(*messages: Message, base: str = GOOGLE, model: str = "gemini-3.5-flash", **more: Any) -> Request:
    thinking = more.pop("how", "level")
    quirks = more.pop("quirks", Quirks())
    endpoint = Endpoint("google", google_genai.API, base, quirks=quirks)
    history = messages or (Message("user", (Text("Hi"),)),)
    return Request(ModelSpec(model, endpoint, thinking=thinking), history, **more)


def said(*blocks: Block, origin: str = "google-genai/gemini-3.5-flash") -> Message:
    return Message("assistant", blocks, origin)


@pytest.mark.parametrize(
    ("base", "model", "path"),
    [
        (GOOGLE, "gemini-3.5-flash", "/v1/models/gemini-3.5-flash"),
        (f"{GOOGLE}/", "gemini-3.5-flash", "/v1/models/gemini-3.5-flash"),
        (f"{GOOGLE}/v1", "gemini-3.5-flash", "/models/gemini-3.5-flash"),
        (f"{GOOGLE}/v1beta", "gemini-3.5-flash", "/models/gemini-3.5-flash"),
        (f"{GOOGLE}/v1beta/", "gemini-3.5-flash", "/models/gemini-3.5-flash"),
        (f"{GOOGLE}/v1alpha2", "gemini-3.5-flash", "/models/gemini-3.5-flash"),
        ("https://v1.example.org/gemini", "gemini-3.5-flash", "/v1/models/gemini-3.5-flash"),
        ("https://example.org/v1/projects/p", "publishers/google/models/g", "/publishers/google/models/g"),
        (GOOGLE, "tunedModels/mine", "/v1/tunedModels/mine"),
        (GOOGLE, "a b?c#d", "/v1/models/a%20b%3Fc%23d"),
    ],
)
def test_path(base: str, model: str, path: str) -> None:
    wire = google_genai.encode_request(request(base=base, model=model))
    assert wire.path == f"{path}:streamGenerateContent?alt=sse"


@pytest.mark.parametrize(
    ("credential", "headers"),
    [
        (Credential("k", "key", "GEMINI_API_KEY"), {"x-goog-api-key": "k"}),
        (Credential("t", "token", "config"), {"authorization": "Bearer t"}),
        (Credential("", "none", "none"), {}),
    ],
)
def test_auth_headers(credential: Credential, headers: dict[str, str]) -> None:
    assert google_genai.auth_headers(credential) == headers


@pytest.mark.parametrize(
    ("how", "settings", "config"),
    [
        ("level", {}, {"includeThoughts": True}),
        ("level", {"effort": "low"}, {"includeThoughts": True, "thinkingLevel": "LOW"}),
        ("level", {"effort": "max"}, {"includeThoughts": True, "thinkingLevel": "HIGH"}),
        ("level", {"thinking_budget": 4096}, {"includeThoughts": True}),
        ("level", {"thinking": "disabled", "effort": "high"}, {"thinkingLevel": "LOW"}),
        ("level", {"thinking_display": "omitted"}, {"includeThoughts": False}),
        ("budget", {}, {"includeThoughts": True}),
        ("budget", {"thinking": "adaptive"}, {"includeThoughts": True, "thinkingBudget": -1}),
        ("budget", {"effort": "medium"}, {"includeThoughts": True, "thinkingBudget": 8_192}),
        ("budget", {"thinking_budget": 2_000}, {"includeThoughts": True, "thinkingBudget": 2_000}),
        ("budget", {"thinking_budget": 1}, {"includeThoughts": True, "thinkingBudget": 512}),
        ("budget", {"thinking_budget": 10**6}, {"includeThoughts": True, "thinkingBudget": 24_576}),
        ("budget", {"thinking_budget": 0}, {"thinkingBudget": 0}),
        ("budget", {"thinking": "disabled"}, {"thinkingBudget": 0}),
        ("", {"effort": "high"}, None),
        ("level", {"quirks": Quirks(thinking=False)}, None),
    ],
)
def test_thinking(how: str, settings: dict[str, Any], config: Json | None) -> None:
    body = google_genai.encode_request(request(how=how, max_tokens=100, **settings)).body
    expected: Json = {"maxOutputTokens": 100}
    if config is not None:
        expected["thinkingConfig"] = config
    assert body["generationConfig"] == expected


def test_names_that_must_change_stay_apart_and_legal() -> None:
    names = ["Read", "mcp__a__b", "x" * 64, "x" * 65, "x" * 66, "9lives", "a/b", "a b", "ü", "", "\ud800"]
    sent = [wire_name(name) for name in names]
    assert sent[:3] == names[:3]
    assert len(set(sent)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.:-]*", name) and len(name) <= MAX_NAME for name in sent)


def test_signatures_are_sent_only_to_the_model_that_issued_them() -> None:
    signed = {google_genai.API: {"signature": "c2ln", "id": "abc"}}
    blocks = (
        Thinking("secret", opaque=signed),
        Text("Hi", signed),
        ToolCall("abc", "LS", {}, opaque=signed),
        Other(google_genai.API, {"executableCode": {"code": "1"}}),
    )
    own = google_genai.encode_messages(request(said(*blocks), how="budget"))
    other = google_genai.encode_messages(request(said(*blocks, origin="google-genai/gemini-9"), how="budget"))
    assert own[0]["parts"] == [
        {"text": "secret", "thoughtSignature": "c2ln", "thought": True},
        {"text": "Hi", "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "LS", "args": {}, "id": "abc"}, "thoughtSignature": "c2ln"},
        {"executableCode": {"code": "1"}},
    ]
    assert other[0]["parts"] == [{"text": "Hi"}, {"functionCall": {"name": "LS", "args": {}}}]


def test_only_the_first_call_of_each_step_needs_a_signature() -> None:
    calls = (ToolCall("a", "LS", {}), ToolCall("b", "LS", {}))
    results = (ToolResult("a", "1"), ToolResult("b", "2"))
    steps = (said(*calls, origin=""), Message("user", results), said(*calls, origin=""), Message("user", results))
    contents = google_genai.encode_messages(request(*steps))
    marks = [["thoughtSignature" in part for part in content["parts"]] for content in contents]
    assert marks == [[True, False], [False, False], [True, False], [False, False]]


@pytest.mark.parametrize(
    ("span", "parts"),
    [
        ([0, 2], [("He", True), ("llo", False)]),
        ([2, 4], [("He", False), ("ll", True), ("o", False)]),
        ([3, 5], [("Hel", False), ("lo", True)]),
        (None, [("Hello", True)]),
    ],
)
def test_a_signature_is_sent_back_on_its_own_part(span: list[int] | None, parts: list[tuple[str, bool]]) -> None:
    private = {"signature": "c2ln"} | ({"span": span} if span else {})
    contents = google_genai.encode_messages(request(said(Text("Hello", {google_genai.API: private}))))
    assert [(part["text"], "thoughtSignature" in part) for part in contents[0]["parts"]] == parts


def test_no_content_is_empty_and_neighbours_are_joined() -> None:
    messages = (
        Message("user", (Text("a"),)),
        Message("user", (Text("b"),)),
        said(Text("")),
        said(Thinking("unsigned")),
        Message("user", (Text("c"),)),
    )
    assert google_genai.encode_messages(request(*messages)) == [
        {"role": "user", "parts": [{"text": "a"}, {"text": "b"}, {"text": "c"}]}
    ]


def test_media_by_endpoint() -> None:
    pdf = Document("application/pdf", "JVBERi0=", "a.pdf")
    message = Message("user", (pdf, Image("", "", "https://example.org/a")))
    full = google_genai.encode_messages(request(message))
    poor = google_genai.encode_messages(request(message, quirks=Quirks(documents=False)))
    picture = {"fileData": {"fileUri": "https://example.org/a"}}
    assert full[0]["parts"] == [{"inlineData": {"mimeType": "application/pdf", "data": "JVBERi0="}}, picture]
    assert poor[0]["parts"] == [{"text": "[a.pdf: this endpoint takes no documents]"}, picture]
