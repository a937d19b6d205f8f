"""Prompt caches: every request begins with the bytes of the one before it, over every API.

What a cache holds is a prefix: tools, system prompt, then the messages. A request that differs from the last one in a
single byte of it is read, and paid for, anew.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.media_files import b64, image, noise, pdf, pdf_block, picture, saved
from tests.helpers.scripted_model import ModelServer, call, say, think
from tests.helpers.vendor_place import FLAT, MODELS, SESSION, VendorPlace, media_in
from yume_shim.providers.fitting.prepare import Preparer
from yume_shim.providers.load import load_adapter
from yume_shim.text import codec
from yume_shim.types.blocks import Image, Message, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.models import Endpoint, ModelSpec, Quirks, Request, ToolSpec

if TYPE_CHECKING:
    from pathlib import Path

    from tests.helpers.scripted_model import Answer
    from yume_shim.types.blocks import Json

posix = pytest.mark.skipif(sys.platform == "win32", reason="the transcripts hold POSIX paths")

MARK = b',"cache_control":{"type":"ephemeral"}'
MAX_MARKS = 4
HISTORY = {
    "anthropic-messages": "messages",
    "google-genai": "contents",
    "ollama-chat": "messages",
    "openai-chat": "messages",
    "openai-responses": "input",
}
FRAME = {
    "anthropic-messages": ("system", "tools"),
    "google-genai": ("systemInstruction", "tools"),
    "ollama-chat": ("tools",),
    "openai-chat": ("tools",),
    "openai-responses": ("instructions", "tools"),
}
"""What stands before the messages in a cache, where it is not one of them."""


def history_bytes(api: str, raw: bytes) -> bytes:
    """The messages as they were sent, without Anthropic's marks and without the closing bracket."""
    raw = raw.replace(MARK, b"")
    name = HISTORY[api]
    packed = codec.dumps(codec.loads(raw)[name])
    assert b'"%s":%s' % (name.encode(), packed) in raw, "the body is not written the way it is read here"
    return packed[:-1]


def check_prefixes(api: str, bodies: list[bytes]) -> None:
    """Each request extends the one before it."""
    for before, after in pairwise(bodies):
        old, new = history_bytes(api, before), history_bytes(api, after)
        assert len(new) > len(old)
        assert new.startswith(old + b",")
        for name in FRAME[api]:
            assert codec.dumps(codec.loads(before).get(name)).replace(MARK, b"") == codec.dumps(
                codec.loads(after).get(name)
            ).replace(MARK, b"")


def marks_of(body: Json) -> list[tuple[Any, ...]]:
    """Where cache marks stand: ("tools", 3), ("system", 0), ("messages", 4, 1)."""
    marks: list[tuple[Any, ...]] = []
    for name in ("tools", "system"):
        marks += [(name, place) for place, block in enumerate(body.get(name, ())) if "cache_control" in block]
    for number, message in enumerate(body["messages"]):
        marks += [
            ("messages", number, place) for place, block in enumerate(message["content"]) if "cache_control" in block
        ]
    return marks


def check_marks(bodies: list[bytes]) -> None:
    """At most four; and where one request's longest prefix ended, the next one has a mark too: that is where it reads
    from."""
    asked = [codec.loads(raw) for raw in bodies]
    for body in asked:
        marks = marks_of(body)
        assert len(marks) <= MAX_MARKS
        assert codec.dumps(body).count(b"cache_control") == len(marks)
        assert marks[0] == ("tools", len(body["tools"]) - 1)
        assert marks[1][0] == "system"
        assert marks[-1] == ("messages", len(body["messages"]) - 1, len(body["messages"][-1]["content"]) - 1)
    for before, after in pairwise(asked):
        assert marks_of(before)[-1] in marks_of(after)


# ---------------------------------------------------------------- the whole program

SCRIPT: list[Answer] = [
    [think("Two files."), say("Looking."), call("Read", file_path="wide.png"), call("Read", file_path="doc.pdf")],
    [think("Hm."), call("Read", file_path="missing.txt")],
    [say("Seen.")],
    [think("More."), call("Glob", pattern="*.txt"), call("Read", file_path="a.txt")],
    [call("Read", file_path="noise.bmp")],
    [say("That was all.")],
    [think("Again."), call("Read", file_path="a.txt")],
    [say("Bye.")],
]


@posix
@pytest.mark.parametrize("api", MODELS)
def test_a_conversation_keeps_its_prefix(tmp_path: Path, api: str) -> None:
    """Eight requests in three processes, with tools, images that are scaled, PDFs and reasoning."""
    prompts: list[Any] = [
        [
            {"type": "text", "text": "Look."},
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "x", "data": b64(saved(picture(2500, 9), "TIFF"))},
            },
        ],
        "And the others?",
        "Once more.",
    ]
    with ModelServer(*SCRIPT) as server:
        place = VendorPlace(tmp_path, server)
        (place.cwd / "a.txt").write_text("alpha\n", "utf-8")
        (place.cwd / "doc.pdf").write_bytes(pdf("Some words."))
        (place.cwd / "wide.png").write_bytes(saved(picture(3000, 20), "PNG"))
        (place.cwd / "noise.bmp").write_bytes(saved(noise(500, 300), "BMP"))
        for number, content in enumerate(prompts):
            names = ("--resume" if number else "--session-id", SESSION)
            place.run(*names, "--model", MODELS[api], lines=[{"type": "user", "content": content}], form=FLAT)
        bodies = [
            request.body for request in server.requests if request.method == "POST" and "/show" not in request.path
        ]
        assert server.left == 0
    assert len(bodies) == len(SCRIPT)
    check_prefixes(api, bodies)
    assert len(media_in(codec.loads(bodies[-1]))) >= 3
    if api == "anthropic-messages":
        check_marks(bodies)
    if api == "openai-responses":
        assert {codec.loads(raw)["prompt_cache_key"] for raw in bodies} == {SESSION}


HOOK = "echo '{answer}'"
CONTEXT = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "Mind the gap."}}
BLOCK = {"decision": "block", "reason": "Look again."}


@posix
@pytest.mark.parametrize("api", MODELS)
def test_hooks_keep_the_prefix(tmp_path: Path, api: str) -> None:
    """Text of hooks at the session's start, at each prompt, before and after calls, stays where it was first sent, also
    after the session was resumed in another process."""
    answers = {
        "PreToolUse": CONTEXT,
        "PostToolUse": BLOCK,
        "SessionStart": "Today is quiet.",
        "UserPromptSubmit": "Hm.",
    }
    hooks = {
        event: [{"hooks": [{"type": "command", "command": HOOK.format(answer=_shown(answer))}]}]
        for event, answer in answers.items()
    }
    script: list[Answer] = [
        [think("Two."), call("Read", file_path="a.txt"), call("Glob", pattern="*.txt")],
        [call("Read", file_path="missing.txt")],
        [say("Seen.")],
        [call("Read", file_path="a.txt")],
        [say("Bye.")],
    ]
    with ModelServer(*script) as server:
        place = VendorPlace(tmp_path, server)
        (place.cwd / "a.txt").write_text("alpha\n", "utf-8")
        settings = codec.dumps({"hooks": hooks}).decode()
        for flag in ("--session-id", "--resume"):
            argv = (flag, SESSION, "--model", MODELS[api], "--settings", settings)
            place.run(*argv, lines=[{"type": "user", "content": "Look."}], form=FLAT)
        bodies = [
            request.body for request in server.requests if request.method == "POST" and "/show" not in request.path
        ]
        assert server.left == 0
    assert len(bodies) == len(script)
    check_prefixes(api, bodies)
    for text, count in (
        ("Mind the gap.", 4),
        ("}'\\\": Look again.", 3),
        ("Today is quiet.", 2),
        ("hook success: Hm.", 2),
    ):
        assert bodies[-1].count(text.encode()) == count
    if api == "anthropic-messages":
        check_marks(bodies)


def _shown(answer: Any) -> str:
    return answer if isinstance(answer, str) else codec.dumps(answer).decode()


@posix
def test_the_cache_key_goes_where_it_is_understood(tmp_path: Path) -> None:
    """OpenAI itself takes it in both of its APIs; a server that only speaks one of them is not sent it."""
    keys: dict[str, Any] = {}
    ways = {
        "responses": ("--model", "openai/gpt-5.4"),
        "chat": ("--model", "openai/gpt-5.4", "--api", "openai-chat"),
        "another": ("--model", "openrouter/some/model"),
    }
    for name, argv in ways.items():
        with ModelServer([say("Hi.")]) as server:
            place = VendorPlace(tmp_path / name, server)
            place.run(*argv, "--session-id", SESSION, lines=[{"type": "user", "content": "Hi"}], form=FLAT)
            keys[name] = server.requests[0].json().get("prompt_cache_key")
    assert keys == {"responses": SESSION, "chat": SESSION, "another": None}


# ---------------------------------------------------------------- every API, every way of calling tools

TOOLS = (
    ToolSpec("Read", "Read a file.", {"type": "object", "properties": {"file_path": {"type": "string"}}}),
    ToolSpec("Glob", "Find files.", {"type": "object", "properties": {"pattern": {"type": "string"}}}),
)


def growing(origin: str, api: str) -> list[tuple[Message, ...]]:
    """The histories of nine requests, each longer than the last."""
    history: list[Message] = [Message("user", (Text("Begin."), image("BMP", 60, 20)))]
    histories = [tuple(history)]
    for number in range(8):
        ids = (f"call_{number}a", f"call_{number}b")
        proof = {api: {"signature": f"c2ln{number}", "encrypted_content": f"ZW5j{number}"}}
        history.append(
            Message(
                "assistant",
                (
                    Thinking(f"Thought {number}.", opaque=proof),
                    Text(f"Step {number}."),
                    ToolCall(ids[0], "Read", {"file_path": f"{number}.png"}),
                    ToolCall(ids[1], "Glob", {"pattern": "*"}),
                ),
                origin,
            )
        )
        scaled = Image("image/png", b64(saved(noise(30 + number, 20), "PNG")))
        results = (
            ToolResult(ids[0], (Text("a picture"), scaled, pdf_block(f"page {number}"))),
            ToolResult(ids[1], "x"),
        )
        history.append(Message("user", (*results, Text(f"Go on {number}.")) if number % 2 else results))
        histories.append(tuple(history))
    return histories


@pytest.mark.parametrize("media", ["as they are", "scaled", "as words"])
@pytest.mark.parametrize("tools", ["native", "by text"])
@pytest.mark.parametrize("api", MODELS)
def test_encoded_histories_extend_each_other(api: str, tools: str, media: str) -> None:
    limits: dict[str, Any] = {"scaled": {"image_side": 16, "image_bytes": 900}, "as words": {"images": False}}
    quirks = Quirks(tools=tools == "native", documents=media != "as words", **limits.get(media, {}))
    endpoint = Endpoint("test", api, "http://127.0.0.1:1", quirks=quirks)
    thinking = {"anthropic-messages": "budget", "google-genai": "level"}.get(api, "effort")
    spec = ModelSpec("model-x", endpoint, thinking=thinking)
    adapter, preparer = load_adapter(api), Preparer(lambda _level, _text: None)
    bodies = []
    for messages in growing(spec.origin, api):
        asked = Request(spec, messages, ("Be brief.",), TOOLS, session_id=SESSION)
        wire = preparer.edit(adapter.encode_request(preparer.prepare(asked).request))
        bodies.append(codec.dumps(wire.body))
    assert len(bodies) == 9
    check_prefixes(api, bodies)
    if api == "anthropic-messages" and tools == "native":
        check_marks(bodies)
