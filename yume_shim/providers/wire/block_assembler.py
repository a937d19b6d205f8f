"""Builds blocks from vendor deltas, for all decoders: deltas in, block events out.

Whatever a vendor sends, one block is open at a time, indexes rise from 0, every started block ends once, and tool
arguments are parsed once, at the end. The adapter chooses the key of a block. A block that starts while another is open
is held back with its pieces and emitted when the earlier ones have ended, so interleaved parallel calls come in order.
"""

from __future__ import annotations

from yume_shim.providers.wire.failures import failure_too_large
from yume_shim.text.clean import SurrogateJoiner
from yume_shim.text.tool_arguments import parse_arguments
from yume_shim.types.blocks import NOTHING, Other, Text, Thinking, ToolCall
from yume_shim.types.errors import ProviderFailed
from yume_shim.types.events import BlockDelta, BlockEnded, BlockStarted
from yume_shim.types.model_events import piece
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable
    from typing import Any

    from yume_shim.types.blocks import AssistantBlock, Opaque
    from yume_shim.types.events import DeltaKind, ModelEvent


MAX_CONTENT = 8_000_000
"""Characters of one answer, all blocks together: eight times what the largest output limit allows."""
MAX_BLOCKS = 2_000
"""Blocks of one answer."""
MAX_ODD_NAME = 200
"""Characters that are kept of an id or a name that is no text."""

_KINDS: dict[type, DeltaKind] = {Thinking: "thinking", ToolCall: "json"}
"""Of the content of blocks that are not text."""


class _Slot:
    """One block under construction."""

    __slots__ = ("done", "first", "held", "index", "joiner", "pieces", "private", "shown", "signature")

    def __init__(self, first: AssistantBlock) -> None:
        self.first = first
        self.pieces: list[str] = []
        self.signature: list[str] = []
        self.held: list[tuple[DeltaKind, str]] = []
        self.private: dict[str, Any] = {}
        self.joiner: SurrogateJoiner | None = None
        self.done = False
        self.shown = False
        self.index = -1


def _named(call: Any) -> ToolCall:
    """The call with texts as id and name, whatever the provider sent."""
    wrong = {name: str(item)[:MAX_ODD_NAME] for name in ("id", "name") if type(item := getattr(call, name)) is not str}
    named: ToolCall = replace(call, **wrong) if wrong else call
    return named


class Assembler:
    """Builds the blocks of one response."""

    def __init__(self, api: str) -> None:
        self._api = api
        self._slots: dict[Hashable, _Slot] = {}
        self._queue: list[_Slot] = []
        self._next_index = 0
        self._size = self._started = 0
        self.calls = 0
        """Tool calls started so far: they, not the vendor's stop reason, mean that the answer stops for tools."""

    def is_open(self, key: Hashable) -> bool:
        """Is the block started and not yet ended?"""
        slot = self._slots.get(key)
        return slot is not None and not slot.done

    def gathered(self, key: Hashable) -> str:
        """The text or arguments gathered so far."""
        return "".join(self._slots[key].pieces)

    def start(self, key: Hashable, block: AssistantBlock) -> list[ModelEvent]:
        """Open a block, given in its empty form; the caller adds initial text as a delta."""
        if isinstance(block, ToolCall):
            self.calls += 1
            block = _named(block)
        slot = _Slot(block)
        self._started += 1
        if self._started > MAX_BLOCKS:
            raise ProviderFailed(failure_too_large(f"more than {MAX_BLOCKS:,} blocks"))
        self._slots[key] = slot
        self._queue.append(slot)
        return self._advance()

    def delta(self, key: Hashable, kind: DeltaKind, text: str) -> list[ModelEvent]:
        """Add a piece. Empty pieces give no event."""
        return self._add(self._slots[key], kind, text)

    def delta_if_open(self, key: Hashable, kind: DeltaKind, text: str) -> list[ModelEvent] | None:
        """The same if the block is started and not yet ended, else None."""
        slot = self._slots.get(key)
        return None if slot is None or slot.done else self._add(slot, kind, text)

    def run(self, key: Hashable, kind: DeltaKind, texts: list[str]) -> list[ModelEvent]:
        """Add pieces that arrived together to an open block, in one step where each of them is whole."""
        slot, whole = self._slots[key], "".join(texts)
        simple = slot.shown and slot.joiner is None and whole.isascii() and "" not in texts
        if not simple or kind == "signature" or self._size + len(whole) > MAX_CONTENT or len(texts) < 2:
            return [event for text in texts for event in self._add(slot, kind, text)]
        self._size += len(whole)
        slot.pieces.append(whole)
        return [BlockDelta(slot.index, kind, whole, tuple(texts))]

    def _add(self, slot: _Slot, kind: DeltaKind, text: str) -> list[ModelEvent]:
        if slot.joiner is not None or not text.isascii():
            text = _whole_characters(slot, kind, text)
        if not text:
            return []
        self._size += len(text)
        if self._size > MAX_CONTENT:
            raise ProviderFailed(failure_too_large(f"more than {MAX_CONTENT:,} characters"))
        (slot.signature if kind == "signature" else slot.pieces).append(text)
        if slot.shown:
            return [piece(slot.index, kind, text)]
        slot.held.append((kind, text))
        return []

    def rename(self, key: Hashable, *, id: str = "", name: str = "") -> None:
        """Complete a held call's id or name when a vendor sends them late."""
        slot = self._slots[key]
        if isinstance(slot.first, ToolCall):
            slot.first = replace(slot.first, id=id or slot.first.id, name=name or slot.first.name)

    def attach(self, key: Hashable, **private: Any) -> None:
        """Add provider-private data: the finished block carries it as `opaque[api]`."""
        self._slots[key].private.update(private)

    def end(self, key: Hashable) -> list[ModelEvent]:
        """Close a block; closing it again does nothing."""
        slot = self._slots.get(key)
        if slot is None or slot.done:
            return []
        rest = self._rest_of(slot)
        slot.done = True
        return rest + self._advance()

    def end_all(self) -> list[ModelEvent]:
        """Close all open blocks, in order."""
        rest: list[ModelEvent] = []
        for slot in self._queue:
            rest += self._rest_of(slot)
            slot.done = True
        return rest + self._advance()

    def _rest_of(self, slot: _Slot) -> list[ModelEvent]:
        """Emit a surrogate whose other half never came."""
        rest = slot.joiner.finish() if slot.joiner is not None and not slot.done else ""
        if not rest:
            return []
        kind: DeltaKind = _KINDS.get(type(slot.first), "text")
        slot.pieces.append(rest)
        if slot.shown:
            return [BlockDelta(slot.index, kind, rest)]
        slot.held.append((kind, rest))
        return []

    def _advance(self) -> list[ModelEvent]:
        out: list[ModelEvent] = []
        while self._queue:
            slot = self._queue[0]
            if not slot.shown:
                slot.shown = True
                slot.index = self._next_index
                self._next_index += 1
                out.append(BlockStarted(slot.index, slot.first))
                out.extend(BlockDelta(slot.index, kind, text) for kind, text in slot.held)
                slot.held.clear()
            if not slot.done:
                break
            out.append(BlockEnded(slot.index, self._finished(slot)))
            self._queue.pop(0)
        return out

    def _finished(self, slot: _Slot) -> AssistantBlock:
        first, whole = slot.first, "".join(slot.pieces)
        if slot.signature:
            slot.private["signature"] = "".join(slot.signature)
        opaque: Opaque = {self._api: slot.private} if slot.private else NOTHING
        match first:
            case Text():
                return Text(first.text + whole, opaque or first.opaque)
            case Thinking():
                return Thinking(first.text + whole, first.redacted, opaque or first.opaque)
            case ToolCall():
                given, broken = parse_arguments(whole)
                return ToolCall(first.id, first.name, given or first.input, broken, opaque or first.opaque)
            case Other():
                return first


def _whole_characters(slot: _Slot, kind: DeltaKind, text: str) -> str:
    """A character beyond the basic plane may come as two escaped halves, in two pieces."""
    if kind == "signature":
        return text
    if slot.joiner is None:
        slot.joiner = SurrogateJoiner()
    return slot.joiner.feed(text)
