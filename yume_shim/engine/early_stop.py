"""Ends an answer that a watcher has stopped: what was shown of it is closed as if the model had ended there."""

from __future__ import annotations

from yume_shim.context.estimate import size_of
from yume_shim.types.blocks import Message, Text, ToolCall
from yume_shim.types.errors import Failure
from yume_shim.types.events import BlockEnded, Notice, ResponseEnded, ResponseFailed
from yume_shim.types.models import Usage
from yume_shim.types.token_estimate import by_characters
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from yume_shim.engine.model_client import Attempt
    from yume_shim.types.events import ModelEvent
    from yume_shim.types.ports import StreamWatcher
    from yume_shim.types.watching import StreamStop

STOPPED_CALL = "The call was stopped while you were writing it, and nothing was done."
ANSWER_NOW = "Your reasoning repeated itself and was stopped. Answer now, or make the next call."


def watched(stream: Iterator[ModelEvent], make: Callable[[], StreamWatcher], attempt: Attempt) -> Iterator[ModelEvent]:
    """The events of a stream until the watcher stops it, then those that close it. `attempt` is what was received. The
    watcher is made after the first event, which is no block: it delays nothing."""
    watch: StreamWatcher | None = None
    for event in stream:
        yield event
        if watch is None:
            watch = make()
        stop = watch.see(event)
        if stop is not None:
            close = getattr(stream, "close", None)
            if close is not None:
                close()  # the connection is given up: the rest is not paid for
            yield from _closing(stop, attempt)
            return


def _closing(stop: StreamStop, attempt: Attempt) -> Iterator[ModelEvent]:
    index, block = attempt.open_index, attempt.open_block
    if index is None or block is None:
        return
    written = by_characters("".join(attempt.pieces)) + size_of((Message("assistant", tuple(attempt.blocks)),))
    attempt.usage = replace(attempt.usage, output=max(attempt.usage.output, written), estimated=True)
    if isinstance(block, ToolCall) and stop.fields is not None:
        yield BlockEnded(index, replace(block, input=stop.fields, stopped=f"{stop.reason}\n{STOPPED_CALL}"))
        yield _ended("tool_calls", "tool_use")
        return
    yield Notice("repetition_stopped", stop.reason)
    if isinstance(block, Text):
        yield BlockEnded(index, Text("".join(attempt.pieces)[: stop.keep]))
        yield _ended("tool_calls", "tool_use") if attempt.calls() else _ended("end", "end_turn")
    else:
        yield ResponseFailed(Failure("stream_interrupted", stop.reason, retryable=True, nudge=ANSWER_NOW))


def _ended(stop: str, reason: str) -> ResponseEnded:
    return ResponseEnded(stop, reason, Usage(), usage_given=False)  # type: ignore[arg-type]  # one of two words
