"""One answer of the model: sends the request, passes its events on, retries failures or keeps what can be kept."""

from __future__ import annotations

from yume_shim.context.estimate import estimate_request, size_of
from yume_shim.types.blocks import Message, Text, Thinking, ToolCall
from yume_shim.types.errors import Abandoned, BadInvocation, Cancelled, Failure, Tried
from yume_shim.types.events import (
    BlockDelta,
    BlockEnded,
    BlockStarted,
    LimitsReported,
    Notice,
    PartialKept,
    ResponseDropped,
    ResponseEnded,
    ResponseFailed,
    ResponseStarted,
)
from yume_shim.types.models import Usage
from yume_shim.types.token_estimate import by_characters
from yume_shim.types.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Literal

    from yume_shim.engine.services import EngineServices
    from yume_shim.text.repetition import ContinuationJoiner
    from yume_shim.types.blocks import AssistantBlock
    from yume_shim.types.events import ModelEvent
    from yume_shim.types.models import Request, Stop
    from yume_shim.types.ports import Cancel, Emit, StreamWatcher

    OnCut = Literal["continue", "restart"]


FAILOVER_KINDS = ("overloaded", "rate_limit", "server", "network", "dns", "timeout", "stream_interrupted", "not_found")
"""Failures that another model may not have: never a wrong key, a bad request or an exhausted budget."""
RETRIES_BEFORE_FALLBACK = 2
"""Three tries, then the fallback model, as in the Claude CLI."""
QUOTING = ("message", "provider_code", "detail", "param", "nudge", "request_id")
"""Fields of a failure that quote the server."""
UNSENT = ("missing", "header")
"""Causes that keep a request from being sent."""
MAX_NUDGES = 2
"""How often a model that wrote an unreadable call is asked again with a note about it."""


class ModelAnswer(Value):
    """A usable answer. `cut` = the stream broke after these blocks; the rest must be requested, with the `nudge` if the
    model itself caused the failure."""

    blocks: tuple[AssistantBlock, ...]
    stop: Stop
    stop_reason: str
    usage: Usage
    cut: bool = False
    nudge: str = ""
    detail: str = ""
    """The provider's reason for a refusal."""


class GaveUp(Exception):
    """The provider failed for good. `shown` = part of the answer was visible already; `blocks` are the texts of it that
    stay in the history."""

    def __init__(self, failure: Failure, *, shown: bool = False, blocks: tuple[AssistantBlock, ...] = ()) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.shown = shown
        self.blocks = blocks


class Stopped(Exception):
    """The answer was interrupted. `blocks` stay in the history; `dropped` says which blocks are void."""

    def __init__(self, blocks: tuple[AssistantBlock, ...], usage: Usage, dropped: ResponseDropped | None) -> None:
        super().__init__()
        self.blocks = blocks
        self.usage = usage
        self.dropped = dropped


class Attempt:
    """What one attempt has received so far."""

    __slots__ = (
        "blocks",
        "emit",
        "ended",
        "failure",
        "joiner",
        "open_block",
        "open_index",
        "pieces",
        "renamed",
        "started",
        "usage",
        "usage_given",
    )

    def __init__(self, emit: Emit, joiner: ContinuationJoiner | None = None) -> None:
        self.emit = emit
        """Where its events go: nowhere once it was abandoned."""
        self.joiner = joiner
        """Removes what a continuation repeats; None when that is decided, or this is no continuation."""
        self.started = False
        self.usage = Usage()
        self.usage_given = False
        self.blocks: list[AssistantBlock] = []
        self.open_index: int | None = None
        self.open_block: AssistantBlock | None = None
        self.pieces: list[str] = []
        self.renamed = ""
        self.ended: ResponseEnded | None = None
        self.failure: Failure | None = None

    def visible(self) -> bool:
        return bool(self.blocks or self.open_index is not None)

    def abandon(self, nowhere: Emit) -> Attempt:
        """What it has received until now. The thread that reads the stream still holds this one, and loses its
        output."""
        self.emit = nowhere
        kept = Attempt(nowhere)
        for name in Attempt.__slots__:
            value = getattr(self, name)
            setattr(kept, name, list(value) if isinstance(value, list) else value)
        kept.ended, kept.failure = None, Failure("cancelled", "the stream was abandoned")
        return kept

    def calls(self) -> bool:
        return any(isinstance(block, ToolCall) for block in self.blocks)

    def partial_text(self) -> Text | None:
        """The text of the open block, if it is text and has any."""
        whole = "".join(self.pieces)
        return Text(whole) if isinstance(self.open_block, Text) and whole.strip() else None


class ModelClient:
    """Gets the answers of one loop. Retries are counted since the last good answer."""

    def __init__(
        self,
        services: EngineServices,
        cancel: Cancel,
        used_ids: set[str],
        *,
        has_fallback: Callable[[], bool] | None = None,
        emit: Emit | None = None,
        on_cut: OnCut | None = None,
        depth: int = 0,
    ) -> None:
        """`has_fallback`: can another model take over? Then this one is not asked as often. `emit` and `on_cut` replace
        those of the services and the settings. `depth`: of the loop that asks."""
        self._services = services
        self._cancel = cancel
        self._used_ids = used_ids
        self._has_fallback = has_fallback
        self._emit = emit or services.emit
        self._on_cut = on_cut or services.settings.network.on_cut
        self._depth = depth
        self._retries = 0
        self._lost = Usage()
        self.api_seconds = 0.0

    def start_over(self) -> None:
        """Another model takes over: retries are counted from zero."""
        self._retries = 0

    def take_lost(self) -> Usage:
        """The usage of answers that broke off and were requested again, since the last call."""
        lost, self._lost = self._lost, Usage()
        return lost

    def ask(self, request: Request, shown: str = "") -> ModelAnswer:
        """The answer to this request, after retries. `shown` is the text that it continues. Raises GaveUp or
        Stopped."""
        while True:
            attempt = self._attempt(request, shown)
            if attempt.ended is not None:
                self._retries = 0
                end = attempt.ended
                detail = self._without_keys_in(end.detail) if end.detail else ""
                return ModelAnswer(tuple(attempt.blocks), end.stop, end.stop_reason, end.usage, detail=detail)
            failure = attempt.failure or Failure("internal", "the answer ended without its last event")
            if failure.kind == "cancelled" or self._cancel.is_set():
                raise self._stopped(attempt)
            answered = self._salvage(request, attempt, failure)
            if answered is not None:
                return replace(answered, nudge=failure.nudge)
            if failure.nudge:
                request = _nudged(request, failure.nudge)

    # ------------------------------------------------------------ one attempt

    def _attempt(self, request: Request, shown: str) -> Attempt:
        attempt = Attempt(self._emit, _joiner(shown) if shown else None)
        services = self._services
        begun = services.clock.monotonic()
        reading = self._cancel.job(
            lambda: self._receive(request, attempt), "answer", self._depth, services.output_blocked
        )
        try:
            reading.result()
        except BadInvocation as error:  # a provider that cannot be set up at all
            attempt.failure = Failure(error.kind, error.message, provider=error.provider)
        except Abandoned:
            from yume_shim.engine.abandonment import emit_nothing, report_abandoned

            attempt = attempt.abandon(emit_nothing)
            report_abandoned(services, f"The request to {request.model.endpoint.name}/{request.model.id}")
        finally:
            self.api_seconds += services.clock.monotonic() - begun
        if attempt.failure is not None:
            attempt.failure = self._without_keys(attempt.failure)
        if attempt.ended is None and not attempt.usage_given and (attempt.started or attempt.usage != Usage()):
            attempt.usage = _at_least(attempt.usage, _estimated(request, attempt))
        return attempt

    def _receive(self, request: Request, attempt: Attempt) -> None:
        """Pass on the stream; runs on a thread of its own."""
        stream = self._services.provider_for(request.model).stream(request, self._cancel)
        if self._services.watch is not None:
            stream = self._watched(stream, self._services.watch, attempt)
        for event in stream:
            self._on_event(event, attempt, request)

    def _watched(
        self, stream: Iterator[ModelEvent], make: Callable[[Cancel], StreamWatcher], attempt: Attempt
    ) -> Iterator[ModelEvent]:
        from yume_shim.engine.early_stop import watched

        return watched(stream, lambda: make(self._cancel), attempt)

    def _without_keys(self, failure: Failure) -> Failure:
        """Redact the failure: servers quote the key that they refuse, and failures are shown, stored and sent to
        models."""
        return replace(failure, **{name: self._without_keys_in(getattr(failure, name)) for name in QUOTING})

    def _without_keys_in(self, text: str) -> str:
        from yume_shim.text.redact import redact

        return redact(text, self._services.secrets)

    def _on_event(self, event: ModelEvent, attempt: Attempt, request: Request) -> None:
        emit = attempt.emit
        if type(event) is BlockDelta:  # first: by far the most frequent
            if attempt.joiner is not None and event.kind == "text":
                text = attempt.joiner.feed(event.text)
                if not text:
                    return
                event = BlockDelta(event.index, event.kind, text)
            attempt.pieces.append(event.text if event.kind != "signature" else "")
            emit(event)
            return
        match event:
            case ResponseStarted():
                if event.id in self._used_ids:  # some endpoints name all their answers alike: this one gets our name
                    event = replace(event, id="")
                self._used_ids.add(event.id)
                attempt.started, attempt.usage = True, event.usage
                emit(event)
            case BlockStarted(index, block):
                attempt.open_index, attempt.pieces, attempt.renamed = index, [], ""
                if isinstance(block, ToolCall) and (not block.id or block.id in self._used_ids):
                    attempt.renamed = self._services.ids.call_id()  # some send no id, or begin at call_0 again
                    block = replace(block, id=attempt.renamed)
                if isinstance(block, ToolCall):
                    self._used_ids.add(block.id)
                attempt.open_block = block
                emit(BlockStarted(index, block))
            case BlockEnded(index, block):
                if attempt.joiner is not None and isinstance(block, Text):
                    block = self._joined(block, index, attempt)
                attempt.open_index = attempt.open_block = None
                if isinstance(block, ToolCall):
                    fix = request.model.endpoint.quirks.fix_arguments and not request.model.is_claude
                    block = replace(block, id=attempt.renamed or block.id)
                    if not block.stopped:
                        block = self._services.toolbox.complete(block, fix_arguments=fix)
                attempt.blocks.append(block)
                emit(BlockEnded(index, block))
            case ResponseEnded():
                if not event.usage_given:
                    event = replace(event, usage=_at_least(attempt.usage, _estimated(request, attempt)))
                attempt.ended = event
                self._lost = self._lost + event.lost
                emit(event)
            case ResponseFailed(failure, usage, given, lost):
                attempt.failure = failure
                self._lost = self._lost + lost
                if usage != Usage():
                    attempt.usage, attempt.usage_given = usage, given
            case Notice() | LimitsReported():
                emit(event)

    def _joined(self, block: Text, index: int, attempt: Attempt) -> Text:
        """The first text block of a continuation, without what it repeats."""
        assert attempt.joiner is not None
        rest, attempt.joiner = attempt.joiner.finish(), None
        if rest:
            attempt.pieces.append(rest)
            attempt.emit(BlockDelta(index, "text", rest))
        whole = "".join(attempt.pieces)
        return block if whole == block.text else Text(whole)

    # ------------------------------------------------------------ failures

    def _salvage(self, request: Request, attempt: Attempt, failure: Failure) -> ModelAnswer | None:
        """Wait and return None to send the request again, return what can be kept, or raise GaveUp."""
        if attempt.calls() and failure.retryable:  # finished calls run, once; of what was cut after them, text stays
            return self._keep(attempt, attempt.partial_text() if self._on_cut == "continue" else None)
        backoff = request.model.endpoint.backoff
        if failure.kind in FAILOVER_KINDS and self._has_fallback is not None and self._has_fallback():
            backoff = replace(backoff, retries=min(backoff.retries, RETRIES_BEFORE_FALLBACK))
        if failure.nudge:
            backoff = replace(backoff, retries=min(backoff.retries, MAX_NUDGES))
        from yume_shim.engine.patience import Patience

        forever = self._services.settings.script.retry_forever and not (self._has_fallback and self._has_fallback())
        plan = Patience(failure, self._retries, backoff, self._services.clock.jitter(), forever=forever)
        wait = plan.wait
        if self._services.settings.log.debugs:
            from yume_shim.engine.debug_log import retry_entry

            self._services.log("debug", retry_entry(failure, self._retries, backoff, wait))
        if wait is None:
            failure = replace(failure, tried=Tried(0 if failure.case in UNSENT else self._retries + 1))
            raise GaveUp(failure, shown=attempt.visible(), blocks=self._keep_shown(attempt))
        kept = None
        if attempt.visible():
            kept = self._cut(attempt)
        else:
            self._drop(attempt, 0)  # a host that follows the stream has seen its start
        self._retries += 1
        self._services.log(
            "info", f"{failure.kind}: {failure.message}; retry {self._retries}/{backoff.retries} in {wait:.1f} s"
        )
        plan.spend(self._retries, self._emit, self._pause)
        return kept

    def _pause(self, seconds: float) -> None:
        try:
            self._services.clock.wait(self._cancel, seconds)
        except Cancelled:
            raise Stopped((), Usage(), None) from None

    def _count_lost(self, attempt: Attempt) -> None:
        """Nothing of the answer was shown: only its usage is left of it."""
        self._lost = self._lost + attempt.usage

    def _cut(self, attempt: Attempt) -> ModelAnswer | None:
        """A stream cut after something was shown: keep it and ask for the rest, or (None) start over."""
        texts = any(isinstance(block, Text) for block in attempt.blocks)
        if self._on_cut == "continue":
            partial = attempt.partial_text()
            if texts or partial is not None:
                return self._keep(attempt, partial)
        elif texts and attempt.open_index is None:
            return self._keep(attempt)
        self._drop(attempt, 0)
        return None

    def _keep(self, attempt: Attempt, partial: Text | None = None) -> ModelAnswer:
        blocks = list(attempt.blocks)
        if not attempt.calls():  # a cut answer is continued: its reasoning would be replayed without its end
            blocks = [block for block in blocks if not isinstance(block, Thinking)]
        if partial is not None and attempt.open_index is not None:
            self._emit(PartialKept(partial, attempt.open_index, interrupted=False))
            blocks = [*blocks, partial]
        self._drop(attempt, len(attempt.blocks) + (partial is not None))
        stop: Stop = "tool_calls" if attempt.calls() else "other"
        return ModelAnswer(
            tuple(blocks), stop, "tool_use" if attempt.calls() else "", attempt.usage, cut=not attempt.calls()
        )

    def _keep_shown(self, attempt: Attempt) -> tuple[AssistantBlock, ...]:
        """The texts of a dead answer that stay in the history. Its calls are void, and what the dialect takes back."""
        kept: list[AssistantBlock] = []
        for block in attempt.blocks:
            if isinstance(block, ToolCall):
                break
            kept.append(block)
        partial = attempt.partial_text() if self._on_cut == "continue" and not attempt.calls() else None
        texts: list[AssistantBlock] = [block for block in kept if isinstance(block, Text)]
        if partial is not None and attempt.open_index is not None:
            self._emit(PartialKept(partial, attempt.open_index, interrupted=False))
            texts.append(partial)
        if not texts:
            self._drop(attempt, 0)
            return ()
        self._lost = self._lost + attempt.usage
        self._drop(attempt, len(kept) + (partial is not None))
        return tuple(texts)

    def _stopped(self, attempt: Attempt) -> Stopped:
        partial = attempt.partial_text()
        blocks = tuple(attempt.blocks)
        if partial is not None and attempt.open_index is not None:
            self._emit(PartialKept(partial, attempt.open_index, interrupted=True))
            blocks = (*blocks, partial)
        if not attempt.started:
            return Stopped(blocks, attempt.usage, None)
        dropped = ResponseDropped(len(blocks), attempt.open_index, interrupted=True, usage=attempt.usage)
        return Stopped(blocks, attempt.usage, dropped)

    def _drop(self, attempt: Attempt, from_index: int) -> None:
        if from_index == 0:
            self._count_lost(attempt)
        if attempt.started:
            self._emit(ResponseDropped(from_index, attempt.open_index, interrupted=False, usage=attempt.usage))


def _joiner(shown: str) -> ContinuationJoiner:
    from yume_shim.text.repetition import ContinuationJoiner

    return ContinuationJoiner(shown)


def _nudged(request: Request, nudge: str) -> Request:
    """The request with a note to the model at its end, once; the note is not part of the history."""
    *before, last = request.messages
    note = Text(nudge)
    if last.role != "user":
        return replace(request, messages=(*request.messages, Message("user", (note,))))
    if last.blocks[-1] == note:
        return request
    return replace(request, messages=(*before, replace(last, blocks=(*last.blocks, note))))


def _estimated(request: Request, attempt: Attempt) -> Usage:
    """An estimate of the usage of what has arrived, for answers without the provider's figures."""
    written = by_characters("".join(attempt.pieces)) if attempt.open_index is not None else 0
    written += size_of((Message("assistant", tuple(attempt.blocks)),))
    return Usage(estimate_request(request), written, estimated=True)


def _at_least(reported: Usage, estimated: Usage) -> Usage:
    """The figures of an answer that broke off: those reported so far, completed by the estimate. Counts in the middle
    of an answer are often too low, and most APIs send none before the end."""
    asked = reported.input + reported.cache_read + reported.cache_write
    if not asked:
        reported = replace(reported, input=estimated.input, estimated=True)
    if estimated.output > reported.output:
        reported = replace(reported, output=estimated.output, estimated=True)
    return reported
