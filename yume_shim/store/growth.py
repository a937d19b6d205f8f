"""Reads what was added to the transcript of a resumed session, for its next checkpoint."""

from __future__ import annotations

from yume_shim.disk.bounded import open_regular
from yume_shim.store.load import counted_by_provider
from yume_shim.store.transcript_reader import READ_BYTES, TranscriptReader
from yume_shim.store.tree import AssistantNode, Node, NoteNode, UserNode, messages
from yume_shim.types.blocks import ToolResult
from yume_shim.types.stored_session import title_of
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.stored_session import StoredSession


def grown(transcript: str, session: StoredSession) -> StoredSession | None:
    """The session as it would be loaded now; None if the new lines do not simply follow the old ones, or if the old
    ones were changed. Raises OSError."""
    before = session.reader
    if before is None or _check_sum(transcript, before["size"]) != before["check_sum"]:
        return None
    reader = TranscriptReader(forget=False)
    reader.go_on(before)
    reader.read(transcript, before["size"])
    tree = reader.tree
    chain = tree.chain(tree.nodes[reader.last])
    packed = reader.packed()
    if packed is None or chain[0] is not tree.places[0] or not _follows(tree.places[1:], chain[1:]):
        return None
    added = messages(chain[1:])
    newest = next((node for node in reversed(chain) if isinstance(node, AssistantNode)), None)
    history = session.history + added
    changed = replace(
        session,
        history=history,
        leaf=reader.last,
        used=reader.costs.by_model(),
        title=title_of(reader.facts),
        last_prompt=reader.last_prompt(),
        skipped=reader.skipped,
        reader=packed,
    )
    if newest is None:
        return changed
    tokens, covered, origin = counted_by_provider(newest, reader.last_usage, added)
    provider, model = newest.model
    return replace(
        changed,
        model=f"{provider}/{model}" if provider else "",
        foreign_model="" if provider else model,
        counted=(tokens, len(session.history) + covered, origin) if tokens else (0, 0, ""),
    )


def _follows(nodes: list[Node], chain: list[Node]) -> bool:
    """Do these lines continue the conversation with a prompt, one after the other? Then they say the same with the
    lines before them as without. Lines without a message may lie beside the chain."""
    on_chain = {node.place for node in chain}
    if any(node.place not in on_chain and (node.kind or not isinstance(node.parent, Node)) for node in nodes):
        return False
    if any(node.kind == "boundary" for node in chain):
        return False
    first = next((node for node in chain if node.kind), None)
    if first is None:
        return True
    if not isinstance(first, UserNode) or isinstance(first, NoteNode) or first.joined:
        return False
    return bool(first.blocks) and not any(isinstance(block, ToolResult) for block in first.blocks)


def _check_sum(path: str, size: int) -> int:
    from zlib import crc32

    total = 0
    with open(open_regular(path), "rb") as file:
        while size > 0 and (data := file.read(min(size, READ_BYTES))):
            total = crc32(data, total)
            size -= len(data)
    return total
