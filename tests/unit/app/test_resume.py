"""The session that a process opens: new, resumed, continued, forked, or refused."""

from __future__ import annotations

import os
import sys
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.settings import settings_with
from tests.helpers.transcripts import answer, chain, question, save
from yume_shim.app.resume import NOTHING_TO_CONTINUE, NoConversation, OpenedSession, open_session
from yume_shim.store.layout import session_path
from yume_shim.store.lock import hold
from yume_shim.types.errors import BadInvocation

if TYPE_CHECKING:
    from yume_shim.types.blocks import Json

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the transcripts hold POSIX paths")

ONE = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
TWO = "bbbbbbbb-bbbb-4ccc-8ddd-eeeeeeeeeeee"
MISSING = "00000000-0000-4000-8000-000000000000"


class Home:
    """A folder of projects, and a working folder."""

    def __init__(self, folder: Path) -> None:
        self.cwd, self.projects = folder / "work", folder / "projects"
        self.cwd.mkdir()
        self._count = count(1)

    def path(self, session_id: str) -> Path:
        return Path(session_path(str(self.projects), str(self.cwd), session_id))

    def store(self, session_id: str, *lines: Json, more: bytes = b"", age: int = 0) -> Path:
        here = str(self.cwd)
        lines = lines or (question("u1", "hi", cwd=here), answer("u2", [{"type": "text", "text": "hello"}], cwd=here))
        path = self.path(session_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(save(*chain(*lines)) + more)
        stamp = path.stat().st_mtime - age
        os.utime(path, (stamp, stamp))
        return path

    def open(self, **settings: Any) -> OpenedSession:
        made = settings_with(cwd=str(self.cwd), **settings)
        opened = open_session(made, str(self.projects), lambda: f"new-{next(self._count)}", lambda: "now")
        if opened.lock is not None:
            opened.lock.release()
        return opened


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_a_new_session(home: Home) -> None:
    home.store(ONE)
    assert home.open() == OpenedSession("new-1", str(home.path("new-1")))


def test_a_new_session_under_a_given_id(home: Home) -> None:
    assert home.open(session_id=TWO) == OpenedSession(TWO, str(home.path(TWO)))


def test_an_id_that_is_in_use(home: Home) -> None:
    home.store(ONE)
    with pytest.raises(BadInvocation, match=f"Session ID {ONE} is already in use"):
        home.open(session_id=ONE)


def test_an_id_whose_transcript_is_empty_is_free(home: Home) -> None:
    home.store(ONE).write_bytes(b"")
    assert home.open(session_id=ONE).stored is None


def test_a_resumed_session(home: Home) -> None:
    path = home.store(ONE)
    opened = home.open(resume=ONE)
    assert (opened.session_id, opened.transcript, opened.source) == (ONE, str(path), "")
    assert opened.lock is not None
    assert opened.stored is not None
    assert [message.role for message in opened.stored.history] == ["user", "assistant"]
    assert opened.stored.leaf == "u2"


def test_a_session_that_is_not_stored_is_not_locked(home: Home) -> None:
    home.store(ONE)
    assert home.open(resume=ONE, persist=False).lock is None


def test_a_session_found_by_its_title(home: Home) -> None:
    path = home.store(ONE)
    title = {"type": "custom-title", "customTitle": "My plan", "sessionId": ONE}
    path.write_bytes(path.read_bytes() + save(title))
    assert home.open(resume="My plan").session_id == ONE


def test_continue_takes_the_newest_session(home: Home) -> None:
    home.store(ONE, age=100)
    home.store(TWO)
    assert home.open(resume_newest=True).session_id == TWO


def test_continue_without_any_session_starts_a_new_one(home: Home) -> None:
    opened = home.open(resume_newest=True)
    assert opened == OpenedSession("new-1", str(home.path("new-1")), notes=(NOTHING_TO_CONTINUE,))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (MISSING, f"No conversation found with session ID: {MISSING}"),
        ("no such title", "requires a valid session ID or session title"),
    ],
)
def test_a_session_that_is_not_found(home: Home, name: str, message: str) -> None:
    home.store(ONE)
    with pytest.raises(NoConversation, match=message) as caught:
        home.open(resume=name)
    assert (caught.value.session_id, caught.value.kind) == (name, "not_found")


def test_a_transcript_without_messages_is_no_session(home: Home) -> None:
    home.store(ONE).write_bytes(b'{"type":"summary","summary":"x"}\n')
    with pytest.raises(NoConversation, match=ONE):
        home.open(resume=ONE)


def test_a_fork_leaves_the_old_transcript_alone(home: Home) -> None:
    path = home.store(ONE)
    before = path.read_bytes()
    opened = home.open(resume=ONE, fork=True)
    assert (opened.session_id, opened.transcript, opened.source) == ("new-1", str(home.path("new-1")), str(path))
    assert opened.lock is None
    assert opened.stored is not None
    assert opened.stored.leaf == "u2"
    assert path.read_bytes() == before


def test_a_fork_under_a_given_id(home: Home) -> None:
    home.store(ONE)
    assert home.open(resume=ONE, fork=True, session_id=TWO).session_id == TWO


def test_a_fork_of_a_session_that_is_being_written(home: Home) -> None:
    lock = hold(str(home.store(ONE)), now=lambda: "now")
    assert lock is not None
    try:
        assert home.open(resume=ONE, fork=True).session_id == "new-1"
    finally:
        lock.release()


def test_a_session_that_is_being_written_cannot_be_resumed(home: Home) -> None:
    lock = hold(str(home.store(ONE)), now=lambda: "now")
    assert lock is not None
    try:
        with pytest.raises(BadInvocation, match=f"Session {ONE} is being written by .*--fork-session"):
            home.open(resume=ONE)
    finally:
        lock.release()


def test_a_session_resumed_at_an_earlier_message(home: Home) -> None:
    home.store(ONE, question("u1", "hi"), answer("u2", "hello"), question("u3", "more"), answer("u4", "there"))
    opened = home.open(resume=ONE, resume_at="u2")
    assert opened.stored is not None
    assert (len(opened.stored.history), opened.stored.leaf) == (2, "u2")


def test_a_message_that_is_not_found(home: Home) -> None:
    home.store(ONE)
    with pytest.raises(NoConversation, match=r"No message found with message\.uuid of: u9"):
        home.open(resume=ONE, resume_at="u9")


def test_unreadable_lines_are_noted(home: Home) -> None:
    path = home.store(ONE, more=b"{broken\n")
    assert home.open(resume=ONE).notes == (f"1 unreadable lines of {path} were skipped",)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"session_id": TWO, "resume": ONE}, "--session-id can only be used with --continue or --resume"),
        ({"session_id": TWO, "resume_newest": True}, "--session-id can only be used with --continue or --resume"),
        ({"resume_at": "u1"}, "--resume-session-at can only be used with --resume or --continue"),
    ],
)
def test_flags_that_exclude_each_other(home: Home, settings: dict[str, Any], message: str) -> None:
    home.store(ONE)
    with pytest.raises(BadInvocation, match=message):
        home.open(**settings)
