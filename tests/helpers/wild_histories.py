"""Histories of any kind, by a seed: what crashes, foreign models, hosts and years of use leave in a transcript."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from tests.helpers.media_files import animated, b64, encrypted_pdf, pdf, picture, saved
from yume_shim.types.blocks import NOTHING, Document, Image, Message, Other, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.models import ToolSpec

if TYPE_CHECKING:
    from yume_shim.types.blocks import Block

APIS = ("anthropic-messages", "google-genai", "ollama-chat", "openai-chat", "openai-responses")
TEXTS = ("Do it.", "", "  \n", "Grüße 🎉 \u2028 end", "a" * 300, "</tool_call>", '{"a": 1}', "\x00\x07 odd", "\ufffd")
IDS = (
    "toolu_01A",
    "call_1",
    "call_2",
    "call_0",
    "functions.Read:0",
    "call|fc_123",
    "x" * 70,
    "Ünï cödé",
    "a1B2c3D4e",
    "chatcmpl-tool-" + "f" * 32,
    "",
)
NAMES = ("Read", "Bash", "mcp__a.b__c/d", "n" * 80, "ünï", "9lives", "mcp__server__tool")
INPUTS: tuple[dict[str, Any], ...] = ({}, {"file_path": "a"}, {"deep": {"list": [1, None, {"x": "ü"}]}})
PICTURES = tuple(
    b64(saved(picture(wide, 4), form))
    for form in ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
    for wide in (3, 4000 if form == "PNG" else 5)
)
IMAGES = (
    *(Image("image/png", data) for data in PICTURES),
    Image("image/gif", b64(animated())),
    Image("image/jpeg", PICTURES[0]),
    Image("image/heic", b64(b"\x00\x00\x00\x18ftypheic")),
    Image("", "", "https://example.org/a.png"),
    Image("", "", f"data:image/png;base64,{PICTURES[0]}"),
    Image("image/png", ""),
    Image("image/png", "%%%"),
    Image("image/svg+xml", b64(b"<svg/>")),
)
DOCUMENTS = (
    Document("application/pdf", b64(pdf("Some words")), "a.pdf"),
    Document("application/pdf", b64(pdf("Some words")) + "\n"),
    Document("application/pdf", b64(encrypted_pdf("secret", "x")), "locked.pdf"),
    Document("application/pdf", "%%%", "broken.pdf"),
    Document("application/zip", b64(b"PK\3\4\0"), "z.zip"),
    Document("text/csv", b64(b"a,b\n1,2\n"), "t.csv"),
    Document("text/plain", "plain words", "n.txt"),
    Document("text/plain", " \n", ""),
    Document("text/plain", "", "empty.txt"),
)
OTHERS = (
    Other("anthropic-messages", {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}),
    Other("openai-responses", {"type": "web_search_call", "id": "ws_1", "status": "completed"}),
    Other("", {"type": "mystery"}),
)
TOOLS = (
    ToolSpec("Read", "Read a file.", {"type": "object", "properties": {"file_path": {"type": "string"}}}),
    ToolSpec("mcp__a.b__c/d", "", {"anyOf": [{"type": "object", "properties": {"x": {"type": "integer"}}}]}),
    ToolSpec(
        "n" * 80, "Long.", {"type": "object", "$defs": {"y": {"const": 1}}, "properties": {"y": {"$ref": "#/$defs/y"}}}
    ),
    ToolSpec("9lives", "Digit first.", {"type": "object", "properties": {}, "additionalProperties": False}),
    ToolSpec("nothing", "No schema at all.", {}),
)


def wild(seed: int, own: str) -> tuple[Message, ...]:
    """A history; about a third of the answers are `own`'s (an origin, "api/model")."""
    chance = random.Random(seed)
    if chance.random() < 0.3:
        return tuple(_message(chance, own, chance.choice(("user", "assistant"))) for _ in range(chance.randrange(9)))
    return _conversation(chance, own)


def _conversation(chance: random.Random, own: str) -> tuple[Message, ...]:
    """Turns in order, with flaws here and there."""
    messages: list[Message] = []
    for _ in range(chance.randint(1, 4)):
        messages.append(_message(chance, own, "user", results=False))
        for _ in range(chance.randrange(4)):
            answer = _message(chance, own, "assistant")
            calls = [block for block in answer.blocks if isinstance(block, ToolCall)]
            results: list[Block] = [
                ToolResult(call.id, _content(chance), chance.choice((None, True, False))) for call in calls
            ]
            if chance.random() < 0.2:
                chance.shuffle(results)
            if results and chance.random() < 0.15:
                results.pop()
            if chance.random() < 0.2:
                results.append(Text(chance.choice(TEXTS)))
            messages.append(answer)
            if chance.random() < 0.95:
                messages.append(Message("user", tuple(results)))
    return tuple(messages)


def _message(chance: random.Random, own: str, role: Any, *, results: bool = True) -> Message:
    if role == "user":
        kinds = (_text, _text, _image, _document, _result) if results else (_text, _text, _image, _document)
        return Message("user", tuple(chance.choice(kinds)(chance) for _ in range(chance.randrange(4))))
    origin = own if chance.random() < 0.35 else f"{chance.choice(APIS)}/another-model"
    api = origin.partition("/")[0]
    blocks: list[Block] = []
    for _ in range(chance.randrange(5)):
        kind = chance.randrange(7)
        if kind < 2:
            blocks.append(_thought(chance, api))
        elif kind < 4:
            blocks.append(Text(chance.choice(TEXTS), _opaque(chance, api, "signature")))
        elif kind < 6:
            blocks.append(_call(chance, api))
        else:
            blocks.append(chance.choice((*OTHERS[1:], _text(chance))))
    return Message("assistant", tuple(blocks), origin)


def _opaque(chance: random.Random, api: str, name: str) -> Any:
    return {api: {name: f"c2ln{chance.randrange(99)}"}} if api == "google-genai" and chance.random() < 0.3 else NOTHING


def _thought(chance: random.Random, api: str) -> Thinking:
    proof = f"c2ln{chance.randrange(99)}"
    if api == "anthropic-messages" and chance.random() < 0.2:
        return Thinking("", redacted=True, opaque={api: {"data": proof}})
    given: Any = {
        "anthropic-messages": {"signature": proof},
        "google-genai": {"signature": proof},
        "openai-responses": {"encrypted_content": proof, "summary": []},
        "openai-chat": {"reasoning_details": [{"type": "reasoning.text", "text": "t"}]},
    }.get(api, {})
    opaque = {api: given} if given and chance.random() < 0.8 else NOTHING
    return Thinking(chance.choice(("Let me see.", "", "\n")), opaque=opaque)


def _call(chance: random.Random, api: str) -> ToolCall:
    broken = '{"file_path": ' if chance.random() < 0.1 else None
    opaque = _opaque(chance, api, "signature")
    return ToolCall(chance.choice(IDS), chance.choice(NAMES), {} if broken else chance.choice(INPUTS), broken, opaque)


def _text(chance: random.Random) -> Block:
    return Text(chance.choice(TEXTS))


def _image(chance: random.Random) -> Block:
    return chance.choice(IMAGES)


def _document(chance: random.Random) -> Block:
    return chance.choice(DOCUMENTS)


def _result(chance: random.Random) -> Block:
    return ToolResult(chance.choice(IDS), _content(chance), chance.choice((None, True, False)))


def _content(chance: random.Random) -> Any:
    if chance.random() < 0.6:
        return chance.choice((*TEXTS, "r" * 5_000))
    made = [chance.choice((_text, _image, _document))(chance) for _ in range(chance.randrange(4))]
    return tuple(made)
