"""The transcript of a session: new, continued, forked, mirrored, with prices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.helpers.engine_fakes import SPEC, Bench, ScriptedProvider
from tests.helpers.event_stories import INFO, prompt, tag_events
from tests.helpers.fakes import FakeClock, FakeIds
from tests.helpers.settings import settings_with
from tests.helpers.transcripts import answer, chain, question, save
from yume_shim.app.resume import OpenedSession
from yume_shim.app.transcript import open_transcript, price
from yume_shim.engine.session import Session
from yume_shim.store.load import load
from yume_shim.text import codec
from yume_shim.types.events import EntriesWritten, Notice
from yume_shim.types.models import Usage
from yume_shim.types.value import replace

PRICED = replace(SPEC, prices=(3.0, 15.0, 0.3, 3.75))


class Written:
    """A transcript opened for a session, after one prompt."""

    def __init__(self, opened: OpenedSession, **settings: Any) -> None:
        self.emitted: list[Any] = []
        made = settings_with(cwd="/nowhere", env={}, **settings)
        session = Session(Bench(ScriptedProvider()).services, SPEC, opened.session_id, lambda _: SPEC, lambda *_: INFO)
        store = open_transcript(
            *(made, opened, session, lambda _: None),
            emit=self.emit,
            clock=FakeClock(),
            ids=FakeIds(),
            log=lambda *_: None,
        )
        for tagged in tag_events([prompt("new words")]):
            store.feed(tagged)
        store.close()
        self.path = Path(opened.transcript)

    def emit(self, event: Any) -> str:
        self.emitted.append(event)
        return "uuid"

    def users(self) -> list[dict[str, Any]]:
        lines = [codec.loads(line) for line in self.path.read_bytes().splitlines()]
        return [line for line in lines if line["type"] == "user"]


def old_session(folder: Path) -> Path:
    path = folder / "old.jsonl"
    path.write_bytes(save(*chain(question("u1", "old words"), answer("u2", [{"type": "text", "text": "yes"}]))))
    return path


def test_a_new_session(tmp_path: Path) -> None:
    written = Written(OpenedSession("s-1", str(tmp_path / "s-1.jsonl")), entrypoint="sdk-py")
    [user] = written.users()
    assert (user["message"]["content"], user["parentUuid"], user["entrypoint"]) == ("new words", None, "sdk-py")
    assert written.emitted == []


def test_a_resumed_session_follows_its_last_line(tmp_path: Path) -> None:
    path = old_session(tmp_path)
    stored = load(str(path))
    written = Written(OpenedSession("old", str(path), stored))
    assert [user["message"]["content"] for user in written.users()] == ["old words", "new words"]
    assert written.users()[-1]["parentUuid"] == "u2"


def test_a_fork_begins_with_the_old_history_under_new_ids(tmp_path: Path) -> None:
    path = old_session(tmp_path)
    before = path.read_bytes()
    opened = OpenedSession("fork", str(tmp_path / "fork.jsonl"), load(str(path)), source=str(path))
    users = Written(opened).users()
    assert [user["message"]["content"] for user in users] == ["old words", "new words"]
    assert users[0]["uuid"] != "u1"
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("settings", "mirrored"),
    [
        ({"session_mirror": True, "output_format": "stream-json"}, True),
        ({"session_mirror": True, "output_format": "flat"}, False),
        ({"output_format": "stream-json"}, False),
    ],
)
def test_entries_are_mirrored_to_hosts_that_ask_for_it(
    settings: dict[str, Any], mirrored: bool, tmp_path: Path
) -> None:
    written = Written(OpenedSession("s-1", str(tmp_path / "s-1.jsonl")), **settings)
    assert any(isinstance(event, EntriesWritten) for event in written.emitted) is mirrored


def test_a_transcript_that_cannot_be_written_is_reported_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    written = Written(OpenedSession("s-1", str(tmp_path / "file" / "s-1.jsonl")))
    assert [event.code for event in written.emitted if isinstance(event, Notice)] == ["store"]


def test_prices() -> None:
    assert price(PRICED, Usage(input=1_000_000, output=100_000)) == 4.5
    assert price(None, Usage(input=1)) is None
