"""Control requests about stored sessions: list, show, rename, title, delete, copy. Only those of the working folder."""

from __future__ import annotations

import os
import threading

from yume_shim.app.pages import page, whole
from yume_shim.engine.cancel import CancelSignal
from yume_shim.host.control import Later, ReplyThen
from yume_shim.store import index
from yume_shim.store.layout import projects_dir, session_path
from yume_shim.store.titles import clean_title
from yume_shim.types.answer_records import (
    DeletedAnswer,
    ForkedAnswer,
    RenamedAnswer,
    SessionAnswer,
    SessionEntry,
    SessionsAnswer,
    TitleAnswer,
)
from yume_shim.types.errors import BadInvocation, BadLine, Cancelled, StoreFailed
from yume_shim.types.events import TitleChanged
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.engine.session import Session
    from yume_shim.store.index import Listed
    from yume_shim.types.blocks import Json
    from yume_shim.types.ports import Emit, Ids
    from yume_shim.types.settings import Settings
    from yume_shim.types.stored_session import StoredSession

DEFAULT_LIMIT = 50
MAX_LIMIT = 200
"""Sessions of one answer."""
MAX_OFFSET = 1_000_000
TITLE_SECONDS = 30.0
"""How long the model may take for a title."""


class SessionParts(Value):
    """What these requests need. `transcript_folder` is where the running session is stored."""

    session: Session
    settings: Settings
    emit: Emit
    ids: Ids
    transcript_folder: str


def handle(subtype: str, body: Json, parts: SessionParts) -> Json | ReplyThen | Later | None:
    """The answer to one of these requests; raises BadLine."""
    requests = _SessionRequests(parts)
    match subtype:
        case "list_sessions":
            return Later(lambda: requests.list_all(body))
        case "get_session":
            return Later(lambda: requests.show(body))
        case "rename_session":
            return requests.rename(body)
        case "generate_session_title":
            return requests.make_title(body)
        case "delete_session":
            return Later(lambda: requests.delete(body))
        case "fork_session":
            return Later(lambda: requests.copy(body))
        case _:
            raise BadLine(f"Unsupported control request subtype: {subtype}", code="unsupported_request")


class _SessionRequests:
    def __init__(self, parts: SessionParts) -> None:
        self._parts, self._settings = parts, parts.settings
        self._projects = projects_dir(parts.settings.env, parts.settings.session.folder)
        self._current = parts.session.session_id

    def list_all(self, body: Json) -> Json:
        limit = whole(body, "limit", DEFAULT_LIMIT, least=1, most=MAX_LIMIT)
        offset = whole(body, "offset", 0, least=0, most=MAX_OFFSET)
        listed = index.listing(self._projects, self._settings.cwd)
        sessions, following = page(map(self._entry, listed), offset, limit, self._settings)
        return SessionsAnswer(sessions=sessions, next_offset=following)  # type: ignore[arg-type]  # entries

    def show(self, body: Json) -> Json:
        from yume_shim.store.stored_messages import stored_messages

        listed = self._find(body)
        stored = self._load(listed)
        offset = whole(body, "offset", 0, least=0, most=MAX_OFFSET)
        try:
            messages, following = page(stored_messages(listed.path, stored), offset, MAX_OFFSET, self._settings)
        except OSError as error:
            raise BadLine(f"session {listed.session_id} cannot be read: {error.strerror}", code="failed") from None
        return SessionAnswer(
            session=self._entry(listed),
            model=stored.model or stored.foreign_model,
            total_cost_usd=sum(entry.cost_usd for entry in stored.used),
            messages=messages,  # type: ignore[arg-type]  # StoredMessage makes them
            next_offset=following,
        )

    def rename(self, body: Json) -> Json | Later:
        """The running session is renamed at once; the line about it comes before the answer, as in the Claude CLI."""
        title = _title(body, needed=True)
        if self._is_current(body):
            self._parts.emit(TitleChanged(title))
            return RenamedAnswer(session_id=self._current, title=title)

        def work() -> Json:
            from yume_shim.store.changes import set_title

            listed = self._find(body)
            _or_bad_line(lambda: set_title(listed.path, title))
            return RenamedAnswer(session_id=listed.session_id, title=title)

        return Later(work)

    def make_title(self, body: Json) -> Later:
        given = body.get("description")
        about = given if isinstance(given, str) and given.strip() else ""
        return Later(lambda: self._made_title(about, persist=body.get("persist") is True))

    def _made_title(self, about: str, *, persist: bool) -> Json:
        listed = self._of_current()
        if listed is not None and listed.title:
            return TitleAnswer(title=listed.title)  # a title that a person gave stays
        about = about or (listed.first_prompt if listed is not None else "")
        if not about:
            raise BadLine("there is no prompt yet: give a `description`", code="invalid_value")
        cancel = CancelSignal()
        timer = threading.Timer(TITLE_SECONDS, cancel.set)
        timer.daemon = True
        timer.start()
        try:
            title = clean_title(self._parts.session.make_title(about, cancel))
        except BadInvocation as error:
            raise BadLine(error.message, code="failed") from None
        except Cancelled:
            raise BadLine(f"the model made no title within {TITLE_SECONDS:g} seconds", code="failed") from None
        finally:
            timer.cancel()
        if persist:
            self._parts.emit(TitleChanged(title))
        return TitleAnswer(title=title)

    def delete(self, body: Json) -> Json:
        from yume_shim.store.changes import delete_session

        if body.get("session_id") is None:
            raise BadLine("delete_session needs a `session_id`", code="invalid_value")
        if self._is_current(body):
            raise BadLine("this session is running: end it first", code="running")
        listed = self._find(body)
        _or_bad_line(lambda: delete_session(listed.path))
        return DeletedAnswer(session_id=listed.session_id)

    def copy(self, body: Json) -> Json:
        from yume_shim.store.changes import copy_session

        listed = self._find(body)
        stored, new = self._load(listed), self._parts.ids.uuid()
        target, title = session_path(self._projects, self._settings.cwd, new), _title(body, needed=False)
        _or_bad_line(lambda: copy_session(listed.path, stored, target, self._parts.ids.uuid, title))
        return ForkedAnswer(session_id=new, forked_from=listed.session_id)

    # ------------------------------------------------------------ finding

    def _is_current(self, body: Json) -> bool:
        return body.get("session_id") in (None, self._current)

    def _of_current(self) -> Listed | None:
        return index.look(os.path.join(self._parts.transcript_folder, f"{self._current}.jsonl"))

    def _find(self, body: Json) -> Listed:
        given = body.get("session_id")
        if given is None:
            given = self._current
        if not isinstance(given, str):
            raise BadLine("session_id must be a string", code="invalid_value")
        if given == self._current:
            listed = self._of_current()
        else:
            listed = index.of_folder(self._projects, given, self._settings.cwd)
        if listed is None:
            raise BadLine(f"this folder has no stored session {given!r:.80}", code="not_found")
        return listed

    def _load(self, listed: Listed) -> StoredSession:
        from yume_shim.store.load import load

        try:
            stored = load(listed.path)
        except StoreFailed as error:
            raise BadLine(str(error), code="failed") from None
        if stored is None:
            raise BadLine(f"there is no conversation in session {listed.session_id}", code="not_found")
        return stored

    def _entry(self, listed: Listed) -> SessionEntry:
        return SessionEntry(
            session_id=listed.session_id,
            title=clean_title(listed.shown),
            first_prompt=listed.first_prompt,
            last_prompt=listed.last_prompt[: index.MAX_SHOWN],
            cwd=listed.cwd,
            git_branch=listed.git_branch,
            created=listed.created,
            modified=listed.modified,
            size=listed.size,
            current=True if listed.session_id == self._current else None,
        )


def _title(body: Json, *, needed: bool) -> str:
    given = body.get("title")
    if given is None and not needed:
        return ""
    if not isinstance(given, str):
        raise BadLine("title must be a string", code="invalid_value")
    title = clean_title(given)
    if not title:
        raise BadLine("title must be non-empty", code="invalid_value")
    return title


def _or_bad_line(work: Callable[[], None]) -> None:
    try:
        work()
    except StoreFailed as error:
        raise BadLine(str(error), code="failed") from None
