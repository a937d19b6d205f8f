"""Watches an answer while it streams: stops one that repeats itself, and a call that cannot succeed.

Loaded only where watchers are on. The work per piece is bounded, and a call is checked once.
"""

from __future__ import annotations

from yume_shim.text.loops import LoopDetector
from yume_shim.types.blocks import Text, Thinking, ToolCall
from yume_shim.types.events import BlockDelta, BlockStarted
from yume_shim.types.watching import StreamStop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.text.partial_json import FieldReader
    from yume_shim.types.events import ModelEvent
    from yume_shim.types.ports import CallCheck, Cancel

REPEATS = "The answer repeated itself and was stopped."
REASONING_REPEATS = "The reasoning repeated itself and was stopped."


class StreamWatch:
    """Implements `types.ports.StreamWatcher` for one answer, on the thread of its loop. `check_for` returns the check
    of a tool, if it has one."""

    def __init__(self, check_for: Callable[[str], CallCheck | None], cancel: Cancel) -> None:
        self._check_for, self._cancel = check_for, cancel
        self._loops: LoopDetector | None = None
        self._reader: FieldReader | None = None
        self._check: CallCheck | None = None
        self._calls = 0
        self._reasons = False

    def see(self, event: ModelEvent) -> StreamStop | None:
        """Look at the next event; a StreamStop ends the answer here."""
        if type(event) is BlockDelta:
            if event.kind == "json":
                if self._reader is None or self._check is None:
                    return None
                return self._argument(self._reader, self._check, event.text)
            return self._text(self._loops, event.text) if self._loops is not None else None
        if isinstance(event, BlockStarted):
            self._open(event)
        return None

    def _open(self, event: BlockStarted) -> None:
        block = event.block
        self._loops = self._reader = None
        if isinstance(block, (Text, Thinking)):
            self._loops, self._reasons = LoopDetector(), isinstance(block, Thinking)
        elif isinstance(block, ToolCall):
            self._calls += 1
            # a later call may count on what the earlier ones do
            self._check = self._check_for(block.name) if self._calls == 1 else None
            if self._check is not None:
                from yume_shim.text.partial_json import FieldReader

                self._reader = FieldReader()

    def _text(self, loops: LoopDetector, piece: str) -> StreamStop | None:
        repeated = loops.feed(piece)
        if not repeated:
            return None
        return StreamStop(REASONING_REPEATS if self._reasons else REPEATS, keep=loops.total - repeated)

    def _argument(self, reader: FieldReader, check: CallCheck, piece: str) -> StreamStop | None:
        reader.feed(piece)
        if reader.done:  # complete: the call itself says what is wrong
            self._reader = None
            return None
        if not all(name in reader.fields for name in check.needs):
            return None
        self._reader = None
        problem = check(reader.fields, self._cancel)
        return StreamStop(problem, fields=dict(reader.fields)) if problem else None
