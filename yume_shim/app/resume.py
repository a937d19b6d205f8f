"""Opens the session of a process: new, resumed, continued or forked. Decides its id, transcript and history."""

from __future__ import annotations

import os

from yume_shim.store.layout import session_path
from yume_shim.types.errors import BadInvocation
from yume_shim.types.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.store.lock import SessionLock
    from yume_shim.types.settings import Settings
    from yume_shim.types.stored_session import StoredSession


NOTHING_TO_CONTINUE = "--continue: this folder has no session to continue, so a new one is started"


class NoConversation(BadInvocation):
    """There is no session to continue under that name."""

    def __init__(self, message: str, session_id: str) -> None:
        super().__init__(message, "not_found")
        self.session_id = session_id


class OpenedSession(Value):
    """The session of this process. `stored` is what its transcript holds (None = a new session); `source` is the
    transcript that a fork is made from ("" = no fork)."""

    session_id: str
    transcript: str
    stored: StoredSession | None = None
    lock: SessionLock | None = None
    source: str = ""
    notes: tuple[str, ...] = ()
    """Warnings about the transcript, for the log."""


def open_session(
    settings: Settings, projects: str, fresh_id: Callable[[], str], now: Callable[[], str]
) -> OpenedSession:
    """Find, lock and read the session to continue, or start a new one. Raises BadInvocation, NoConversation."""
    asked = settings.session
    continuing = bool(asked.resume or asked.resume_newest)
    if asked.id and continuing and not asked.fork:
        raise BadInvocation(
            "Error: --session-id can only be used with --continue or --resume if --fork-session is also specified."
        )
    if asked.resume_at and not continuing:
        raise BadInvocation("Error: --resume-session-at can only be used with --resume or --continue.")
    if asked.id:
        _check_unused(projects, settings)
    path = _find(settings, projects) if continuing else ""
    if not path:
        new = _new_session(settings, projects, fresh_id)
        return replace(new, notes=(NOTHING_TO_CONTINUE,)) if continuing else new
    return _load_existing(settings, projects, path, fresh_id, now)


def _load_existing(
    settings: Settings, projects: str, path: str, fresh_id: Callable[[], str], now: Callable[[], str]
) -> OpenedSession:
    """The session whose transcript is `path`, or a fork of it."""
    from yume_shim.store.checkpoint import from_checkpoint
    from yume_shim.types.errors import StoreFailed

    asked = settings.session
    old_id = os.path.basename(path).removesuffix(".jsonl")
    lock = None if asked.fork or not asked.persist else _lock(path, old_id, now)
    try:
        plain = not asked.resume_at and not asked.fork
        stored = (from_checkpoint(path) if plain else None) or _load(path, asked.resume_at, old_id)
    except StoreFailed as error:
        raise NoConversation(f"Error: the session cannot be continued: {error}", old_id) from None
    if stored is None:
        if asked.resume:
            raise _unknown(asked.resume)
        return replace(_new_session(settings, projects, fresh_id), notes=(NOTHING_TO_CONTINUE,))
    notes = (f"{stored.skipped} unreadable lines of {path} were skipped",) if stored.skipped else ()
    if not asked.fork:
        return OpenedSession(old_id, path, stored, lock, notes=notes)
    new = _new_session(settings, projects, fresh_id)
    return replace(new, stored=stored, source=path, notes=notes)


def _load(path: str, at: str, session_id: str) -> StoredSession | None:
    from yume_shim.store.load import NoSuchMessage, load

    try:
        return load(path, at)
    except NoSuchMessage:
        raise NoConversation(f"No message found with message.uuid of: {at}", session_id) from None


def _new_session(settings: Settings, projects: str, fresh_id: Callable[[], str]) -> OpenedSession:
    session_id = settings.session.id or fresh_id()
    return OpenedSession(session_id, session_path(projects, settings.cwd, session_id))


def _find(settings: Settings, projects: str) -> str:
    """The transcript to continue; "" if `--continue` finds none."""
    from yume_shim.store.index import by_title, find, newest
    from yume_shim.text.uuids import is_uuid

    name = settings.session.resume
    if not name:
        return newest(projects, settings.cwd)
    path = find(projects, name, settings.cwd)
    if not path and not is_uuid(name):
        path = next(iter(by_title(projects, name, settings.cwd)), "")
    if not path:
        raise _unknown(name)
    return path


def _unknown(name: str) -> NoConversation:
    from yume_shim.text.uuids import is_uuid

    if is_uuid(name):
        return NoConversation(f"No conversation found with session ID: {name}", name)
    return NoConversation(
        "Error: --resume requires a valid session ID or session title when used with --print. Usage: yume-shim -p "
        f'--resume <session-id|title>. Provided value "{name}" is not a UUID and does not match any session title.',
        name,
    )


def _check_unused(projects: str, settings: Settings) -> None:
    from yume_shim.store.index import find

    session_id = settings.session.id
    path = find(projects, session_id, settings.cwd)
    if path and os.path.getsize(path):
        raise BadInvocation(f"Error: Session ID {session_id} is already in use.")


def _lock(path: str, session_id: str, now: Callable[[], str]) -> SessionLock | None:
    from yume_shim.store.lock import InUse, hold

    try:
        return hold(path, now=now)
    except InUse as error:
        raise BadInvocation(
            f"Error: Session {session_id} is being written by {error}. "
            "Wait until it has ended, or add --fork-session to continue under a new id."
        ) from None
