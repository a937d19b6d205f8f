"""Keeps the checkpoint of a resumed session when it ends, so that its next resume is as quick as a fresh start."""

from __future__ import annotations

import os

from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.engine.conversation import Conversation
    from yume_shim.types.stored_session import StoredSession


def keep_checkpoint(
    transcript: str, stored: StoredSession, conversation: Conversation, log: Callable[[str, str], None]
) -> None:
    """Write the checkpoint of this transcript, which was loaded as `stored` and has grown since. Never raises: without
    a checkpoint the next resume takes longer."""
    try:
        kept = _keep(transcript, stored, conversation)
    except Exception as error:
        log("debug", f"no checkpoint of {transcript} is kept: {type(error).__name__}: {error}")
    else:
        log("debug", f"the checkpoint of {transcript} is {'kept' if kept else 'not kept'}")


def _keep(transcript: str, stored: StoredSession, conversation: Conversation) -> bool:
    from yume_shim.providers.wire.history_memo import MEMOS
    from yume_shim.store.checkpoint import MAX_TRANSCRIPT, MIN_TRANSCRIPT, identity, write_checkpoint

    if stored.reader is None or not MIN_TRANSCRIPT <= os.path.getsize(transcript) <= MAX_TRANSCRIPT:
        return False
    memo = MEMOS.get(conversation.models.current().endpoint.api)
    request = memo.sent_with(stored.history) if memo is not None else None
    if memo is None or request is None or not request.native_tools or request.model.endpoint.quirks.flat_results:
        return False
    from yume_shim.providers.load import load_adapter
    from yume_shim.store.growth import grown

    made_of = identity(transcript)
    now = grown(transcript, stored)  # what a resume would read: not always what this process has in memory
    history = conversation.facts_if_legal(now.history, request.model) if now is not None else None
    if now is None or history is None:
        return False
    memo.forget()
    extended = replace(request, messages=(request.messages[0], *now.history[1:]))
    load_adapter(request.model.endpoint.api).encode_request(extended)
    packed = memo.packed()
    return packed is not None and write_checkpoint(transcript, made_of, now, history, packed)
