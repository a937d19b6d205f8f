"""A disk that fills: each small file of ours is as it was before, or whole; nothing half of one stays."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from tests.helpers.event_stories import AT, INFO, prompt
from yume_shim.config import saved_rules, trust
from yume_shim.extensions.mcp import tokens
from yume_shim.extensions.mcp.errors import McpError
from yume_shim.extensions.mcp.recording import Tape
from yume_shim.providers.cassettes.record import Recorder
from yume_shim.providers.facts.fact_file import FactFile
from yume_shim.store.children import child_path, load_child, open_child_transcript
from yume_shim.store.entries import Entries
from yume_shim.store.error_records import add_error, errors_path, read_errors
from yume_shim.store.jsonl import JsonlStore
from yume_shim.text import codec
from yume_shim.tools.files.checkpoints import Checkpoints
from yume_shim.types.child import Child
from yume_shim.types.events import SessionReady, Tagged, TurnStarted
from yume_shim.types.folders import SAVED_RULES, yume_folder
from yume_shim.types.models import WireRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yume_shim.types.events import Event
    from yume_shim.types.ports import Store

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="file size limits are a POSIX thing")
LIMIT = 1_000


@pytest.fixture
def full(tmp_path: Path) -> Iterator[dict[str, str]]:
    """An environment with a home in which no file may grow over the limit."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, hard))
    yield {"HOME": str(tmp_path)}
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    signal.signal(signal.SIGXFSZ, before)


def left_in(folder: str) -> list[str]:
    """Files of ours, without locks."""
    return sorted(name for name in os.listdir(folder) if not name.endswith(".lock"))


def test_saved_rules(full: dict[str, str], tmp_path: Path) -> None:
    saved_rules.save_rules(full, str(tmp_path), "user", ("Bash(one)",))
    with pytest.raises(OSError, match="File too large"):
        saved_rules.save_rules(full, str(tmp_path), "user", (f"Bash({'x' * LIMIT})",))
    assert saved_rules.read_saved_rules(full, str(tmp_path), lambda level, text: None) == ("Bash(one)",)
    assert left_in(yume_folder(full)) == [SAVED_RULES]


def test_facts(full: dict[str, str]) -> None:
    path = os.path.join(yume_folder(full), "facts.json")
    told: list[str] = []
    facts = FactFile(path, lambda: 1_000.0, lambda level, text: told.append(text))
    facts.put("a", "asked", {"b": 1}, 60)
    facts.put("c", "asked", {"text": "x" * LIMIT}, 60)
    assert (facts.get("a", "asked"), facts.get("c", "asked")) == ({"b": 1}, None)
    assert len(told) == 1
    assert left_in(yume_folder(full)) == ["facts.json"]


def test_tokens(full: dict[str, str]) -> None:
    tokens.save("https://a/", {"access_token": "t"}, full)
    with pytest.raises(McpError, match="cannot be changed"):
        tokens.save("https://b/", {"access_token": "t" * LIMIT}, full)
    assert tokens.load("https://a/", full) is not None
    assert tokens.load("https://b/", full) is None
    folder, name = os.path.split(tokens.tokens_path(full))
    assert left_in(folder) == [name]


def test_answers_about_trust(full: dict[str, str]) -> None:
    trust.remember("/w/a", full, True)
    with pytest.raises(OSError, match="File too large"):
        trust.remember("/w/" + "b" * LIMIT, full, True)
    assert trust._recorded("/w/a", full) is True
    folder, name = os.path.split(trust.record_path(full))
    assert left_in(folder) == [name]


def test_records_of_errors(full: dict[str, str]) -> None:
    path = errors_path(full)
    add_error(path, {"number": 1})
    try:
        add_error(path, {"number": 2, "text": "x" * LIMIT})  # a part of it is written
    except OSError:
        pass
    os.truncate(path, LIMIT - 100)  # there is room again
    add_error(path, {"number": 3})
    assert [record["number"] for record in read_errors(path)] == [1, 3]


def room(full: dict[str, str]) -> None:
    """The disk has room again."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


def test_checkpoints(full: dict[str, str], tmp_path: Path) -> None:
    told: list[str] = []
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_text("one")
    room(full)
    large.write_text("x" * 2 * LIMIT)
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

    def put(path: str, data: bytes) -> None:
        with open(path, "wb") as file:
            file.write(data)

    folder = tmp_path / "kept"
    points = Checkpoints(str(folder), put, lambda level, text: told.append(text))
    points.begin("p1")
    for path in (small, large):
        points.keep(str(path))
        path.write_text("changed")
    for number in range(LIMIT // 10):  # the list itself is full
        points.begin(f"more {number}")
    assert len(told) == 1
    assert "not every file of this session can be rewound" in told[0]
    assert "File too large" in told[0]
    room(full)
    points.begin("last")
    for again in (points, Checkpoints(str(folder), put, lambda level, text: None)):
        small.write_text("changed")
        assert again.rewind("last", dry_run=True)["filesChanged"] == []
        assert again.rewind("p1", dry_run=False)["filesChanged"] == [str(small)]
        assert (small.read_text(), large.read_text()) == ("one", "changed")
    assert len(list(folder.glob("*.bak"))) == 1


def test_recordings(full: dict[str, str], tmp_path: Path) -> None:
    told: list[str] = []
    recorder = Recorder(str(tmp_path / "tape"), "openai-chat", "m", (), lambda level, text: told.append(text))
    recorder("request", WireRequest("/x", {}))
    for _ in range(2):
        recorder("frame", {"text": "x" * LIMIT})
    tape = Tape(str(tmp_path / "tape"), "box", codec.dumps, lambda level, text: told.append(text))
    for _ in range(2):
        tape.note("got", {"text": "x" * LIMIT})
    assert told == ["recording stopped: File too large", "recording of MCP server box stopped: File too large"]


def stored(path: Path, told: list[str], **more: Any) -> JsonlStore:
    """A transcript."""
    fresh = (f"fresh-{number}" for number in range(100))
    entries = Entries("2.1.325", lambda failure: ("unknown", ""), lambda: next(fresh), price=lambda *_: 0.5)
    return JsonlStore(str(path), lambda level, text: told.append(text), entries, **more)


def feed(store: Store, *events: Event) -> None:
    """Give it events."""
    for event in events:
        store.feed(Tagged(event, str(uuid4()), AT, None))


def test_transcripts_of_subagents(full: dict[str, str], tmp_path: Path) -> None:
    told: list[str] = []
    session = stored(tmp_path / "s.jsonl", told)
    feed(session, SessionReady(INFO), TurnStarted(INFO))
    child = Child("a1", "call_1", "helper")
    store = open_child_transcript(session, child)
    for text in ("a", "b" * LIMIT):
        store.feed(Tagged(prompt(text), str(uuid4()), AT, "call_1"))
    room(full)
    store.feed(Tagged(prompt("c"), str(uuid4()), AT, "call_1"))
    store.close()
    session.close()
    path = Path(child_path(session.path, "a1"))
    first, _, last = path.read_bytes().splitlines()
    assert [codec.loads(line)["message"]["content"] for line in (first, last)] == ["a", "c"]
    assert load_child(session.path, "a1") is not None
    assert len(told) == 1


def test_a_fork_is_whole_or_empty(full: dict[str, str], tmp_path: Path) -> None:
    told: list[str] = []
    history = [{"type": "user", "uuid": str(number), "text": "x" * 300} for number in range(5)]
    store = stored(tmp_path / "s.jsonl", told, first=lambda: iter(history))
    feed(store, SessionReady(INFO), TurnStarted(INFO), prompt("one"))
    assert (tmp_path / "s.jsonl").read_bytes() == b""
    room(full)
    feed(store, prompt("two"))
    store.close()
    lines = [codec.loads(line) for line in (tmp_path / "s.jsonl").read_bytes().splitlines()]
    assert [line["uuid"] for line in lines[:5]] == list("01234")
    assert lines[-1]["message"]["content"] == "two"
    assert len(told) == 1
