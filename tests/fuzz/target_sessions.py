"""Transcripts: whatever is in the file, it loads, is listed, exported, forked, and makes a request that can be sent."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from tests.fuzz.harness import Target
from tests.helpers.transcripts import answer, chain, question, save
from yume_shim.context.estimate import estimate_request
from yume_shim.context.repair import repair
from yume_shim.pages.cleaning import Cleaner
from yume_shim.pages.html.page import page
from yume_shim.pages.markdown_form import as_markdown
from yume_shim.pages.readers.transcript import read_transcript
from yume_shim.pages.terminal import rendered
from yume_shim.providers.load import load_adapter
from yume_shim.store import index
from yume_shim.store.children import child_path, load_child
from yume_shim.store.fork import Fork
from yume_shim.store.load import NoSuchMessage, load
from yume_shim.text import codec
from yume_shim.types.models import Endpoint, ModelSpec, Request

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.types.blocks import Json

NAMES = ("sessions",)
APIS = ("anthropic-messages", "openai-chat", "google-genai", "openai-responses", "ollama-chat")
REQUEST_EVERY = 4
PAGE_EVERY = 4
CALL = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "a.py"}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "x"}], "is_error": False}
PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}
PRIVATE = {"provider": "openai", "origin": "openai-chat/gpt-5", "joined": True, "opaque": {"0": {"id": "x"}}}
USAGE = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
FIRST = question("u1", "hello é")
CALLED = answer("a1", [{"type": "thinking", "thinking": "hm", "signature": "s"}, CALL], usage=USAGE)
STORED = (
    save(*chain(FIRST, CALLED, question("u2", [RESULT]), answer("a2", [{"type": "text", "text": "Done."}]))),
    save(
        *chain(
            question("u1", [{"type": "text", "text": "look"}, PNG], permissionMode="default"),
            answer("a1", [CALL], yume=PRIVATE, requestedModel="gpt-5", costUSD=0.01),
            question("u2", [RESULT], yume=PRIVATE, sourceToolAssistantUUID="a1"),
        )
    ),
    save(
        {"type": "summary", "summary": "A title", "leafUuid": "u1"},
        {"type": "custom-title", "customTitle": "Mine", "sessionId": "s"},
        *chain(FIRST, answer("a1", [{"type": "text", "text": "x"}])),
        {"type": "system", "subtype": "compact_boundary", "uuid": "c1", "parentUuid": None, "logicalParentUuid": "a1"},
        question("u3", "summary", "c1", isCompactSummary=True),
        {
            "type": "attachment",
            "uuid": "q1",
            "parentUuid": "u3",
            "attachment": {"type": "queued_command", "prompt": "p"},
        },
        {"type": "last-prompt", "lastPrompt": "p", "sessionId": "s"},
        {"type": "cost-state", "sessionId": "s", "totalCostUSD": 1.5, "modelUsage": {"m": {"inputTokens": 3}}},
    ),
)
WORDS = (b'"uuid":"u1"', b'"parentUuid":"u2"', b'"parentUuid":null', b'"isSidechain":true', b"\n", b'{"type":"')


def open_target(name: str, folder: Path) -> Target:
    """The target of this name."""
    projects = folder / "projects"
    (projects / "-w").mkdir(parents=True)
    path = projects / "-w" / "11111111-2222-4333-8444-555555555555.jsonl"
    agent = child_path(str(path), "a1")
    (path.parent / path.stem / "subagents").mkdir(parents=True)
    turn = itertools.count()
    return Target(name, lambda data: check(str(path), agent, data, next(turn)), STORED, WORDS)


def check(path: str, agent: str, data: bytes, number: int) -> None:
    """Load it in every way."""
    with open(path, "wb") as file:
        file.write(data)
    index.look(path)
    stored = load(path)
    if stored is None:
        return
    if number % PAGE_EVERY == 0:
        document = read_transcript(data.splitlines(), Cleaner())
        for shown in (page(document), as_markdown(document), rendered(document)):
            codec.dumps(shown).decode("utf-8")
    try:
        load(path, stored.chain[len(stored.chain) // 2])
    except NoSuchMessage as error:
        raise AssertionError("a line of the chain is not found") from error
    ids = itertools.count()
    fork = Fork(path, stored, "s2", lambda: f"f{next(ids)}")
    lines: list[Json] = list(fork.lines())
    for line in lines:
        codec.dumps(line)
    if number % REQUEST_EVERY == 0:
        spec = ModelSpec("m", Endpoint("test", APIS[number // REQUEST_EVERY % len(APIS)], "http://127.0.0.1"))
        repaired = repair(stored.history, spec)
        request = Request(model=spec, messages=repaired.messages)
        estimate_request(request)
        wire = load_adapter(spec.endpoint.api).encode_request(request)
        codec.dumps(wire.body)
    if number % 16 == 0:
        with open(agent, "wb") as file:
            file.write(data)
        with open(agent.removesuffix(".jsonl") + ".meta.json", "wb") as file:
            file.write(data.partition(b"\n")[0])
        load_child(path, "a1")
        for listed in index.listing(path.rpartition("/")[0].rpartition("/")[0]):
            codec.dumps({"title": listed.shown, "cwd": listed.cwd})
