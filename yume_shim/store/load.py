"""Loads a transcript as one `StoredSession`: the conversation in it and everything else that a resume needs.

Lines form a tree through `parentUuid`. The conversation is the path from the last line back to the root; a compaction
starts a new root. Torn and foreign lines are skipped; the file is never changed here.
"""

from __future__ import annotations

import gc
import os

from yume_shim.store.transcript_reader import TranscriptReader
from yume_shim.store.tree import AssistantNode, Node, messages
from yume_shim.text import codec
from yume_shim.types.errors import StoreFailed
from yume_shim.types.stored_session import StoredSession, title_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.types.blocks import Message

WORTH_WARMING = 600_000
"""From this file size in bytes on, loading the fast parser costs less than it saves."""


class NoSuchMessage(StoreFailed):
    """The uuid to continue from is not in the transcript."""


def read_history(path: str, size: int, check_sum: int) -> tuple[Message, ...]:
    """The history in the first `size` bytes of a transcript; () if they have another check sum. Raises OSError."""
    reader = TranscriptReader(forget=True)
    reader.read(path, end=size)
    if reader.check_sum != check_sum:
        return ()
    return messages(reader.tree.with_parallel_calls(reader.tree.chain(reader.tree.nodes[reader.last])))


def load(path: str, at: str = "", *, child: bool = False) -> StoredSession | None:
    """Read a session, or a `child` of one; None if there is no conversation in it. `at` is the uuid of the line to
    continue from. Raises StoreFailed if the file cannot be read, NoSuchMessage if it has no such line."""
    gc.disable()  # all objects made here stay alive: the collector would scan them again and again
    try:
        return _load(path, at, child=child)
    finally:
        gc.enable()
        gc.freeze()


def _load(path: str, at: str, *, child: bool) -> StoredSession | None:
    try:
        if os.path.getsize(path) > WORTH_WARMING:
            codec.warm()
        reader = TranscriptReader(forget=not at, child=child)
        reader.read(path)
        if reader.forgot_start(at):  # a branch that starts before a compaction: read again, keeping everything
            reader = TranscriptReader(forget=False, child=child)
            reader.read(path)
    except OSError as error:
        raise StoreFailed(f"{path} cannot be read: {error.strerror or error}") from None
    leaf = reader.tree.nodes.get(at or reader.last)
    if leaf is not None:
        return _stored_session(reader, leaf, os.path.basename(path).removesuffix(".jsonl"))
    if at:
        raise NoSuchMessage(at)
    return None


def _stored_session(reader: TranscriptReader, leaf: Node, session_id: str) -> StoredSession:
    chain = reader.tree.with_parallel_calls(reader.tree.chain(leaf))
    newest = next((node for node in reversed(chain) if isinstance(node, AssistantNode)), None)
    provider, model = newest.model if newest is not None else ("", "")
    facts, history = reader.facts, messages(chain)
    return StoredSession(
        session_id=session_id,
        history=history,
        leaf=leaf.uuid,
        model=f"{provider}/{model}" if provider else "",
        foreign_model="" if provider else model,
        used=reader.costs.by_model(),
        title=title_of(facts),
        last_prompt=reader.last_prompt(),
        cwd=facts.get("cwd", ""),
        chain=tuple([node.uuid for node in chain]),
        skipped=reader.skipped,
        reader=reader.packed() if leaf.uuid == reader.last else None,
        counted=counted_by_provider(newest, reader.last_usage, history),
    )


def counted_by_provider(
    newest: AssistantNode | None, last_usage: tuple[str, Any], history: tuple[Message, ...]
) -> tuple[int, int, str]:
    """The size of the context after the newest answer of the conversation, if its line has complete figures."""
    uuid, usage = last_usage
    if newest is None or newest.uuid != uuid or not isinstance(usage, dict):
        return 0, 0, ""
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    figures = [figure for name in names if isinstance(figure := usage.get(name), int)]
    if len(figures) != len(names) or not sum(figures[:3]):
        return 0, 0, ""
    covered = next((n for n in range(len(history), 0, -1) if history[n - 1].role == "assistant"), 0)
    return sum(figures), covered, newest.origin
