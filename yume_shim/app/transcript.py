"""Opens the transcript of a session: new, continued or forked, with the prices of its answers."""

from __future__ import annotations

from yume_shim import CLAUDE_VERSION
from yume_shim.types.events import EntriesWritten, Notice, SessionReady, Tagged
from yume_shim.types.models import COST_DECIMALS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.app.resume import OpenedSession
    from yume_shim.engine.session import Session
    from yume_shim.store.fork import Fork
    from yume_shim.store.jsonl import JsonlStore
    from yume_shim.types.blocks import Json
    from yume_shim.types.models import ModelSpec, Usage
    from yume_shim.types.ports import Clock, Emit, Ids
    from yume_shim.types.settings import Settings


def open_transcript(
    settings: Settings,
    opened: OpenedSession,
    session: Session,
    spec_of: Callable[[str], ModelSpec | None],
    *,
    emit: Emit,
    clock: Clock,
    ids: Ids,
    log: Callable[[str, str], None],
) -> JsonlStore:
    """The store of this session. `spec_of` gives the model of an id that was asked, for prices."""
    from yume_shim.context.environment import facts
    from yume_shim.dialects.results import error_text, nested_error_category
    from yume_shim.store.entries import Entries
    from yume_shim.store.jsonl import JsonlStore

    fork = _fork_of(opened, ids)
    leaf = fork.leaf if fork is not None else opened.stored.leaf if opened.stored is not None else None
    entries = Entries(
        CLAUDE_VERSION,
        lambda failure: (nested_error_category(failure), error_text(failure)),
        ids.uuid,
        entrypoint=settings.session.entrypoint,
        git_branch=facts(settings.cwd, clock.now(), settings.env).branch,
        leaf=leaf,
        price=lambda model, usage: price(spec_of(model), usage),
    )

    def warn(text: str) -> None:
        emit(Notice("store", text))

    def mirror(path: str, written: tuple[Json, ...]) -> None:
        emit(EntriesWritten(path, written))

    store = JsonlStore(
        opened.transcript,
        log,
        entries,
        lock=opened.lock,
        first=None if fork is None else fork.lines,
        warn_host=warn,
        mirror=mirror if settings.host.session_mirror and settings.host.output_format == "stream-json" else None,
    )
    # The session's first event may have been sent before the store existed.
    store.feed(Tagged(SessionReady(session.info()), "", clock.now()))
    stored = opened.stored
    if stored is not None and stored.reader is not None and not opened.source:

        def keep() -> None:
            from yume_shim.app.checkpoint import keep_checkpoint

            keep_checkpoint(opened.transcript, stored, session.conversation, log)

        store.at_end = keep
    return store


def price(spec: ModelSpec | None, usage: Usage) -> float | None:
    """What an answer cost; None if the price is not known."""
    from yume_shim.catalog.cost import cost_usd

    if spec is None:
        return None
    cost = cost_usd(spec, usage)
    return round(cost.usd, COST_DECIMALS) if cost.known else None


def _fork_of(opened: OpenedSession, ids: Ids) -> Fork | None:
    if opened.stored is None or not opened.source:
        return None
    from yume_shim.store.fork import Fork

    return Fork(opened.source, opened.stored, opened.session_id, ids.uuid)
