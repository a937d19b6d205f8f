"""Compaction: asks the model for a summary, without showing it to the host, and replaces the messages it covers."""

from __future__ import annotations

from yume_shim.context.compact import MAX_SUMMARY, ask_for_summary, fit_head, rejoin, summary_of
from yume_shim.context.estimate import frame_size, size_of
from yume_shim.context.trim_plan import TrimPlan
from yume_shim.engine.booking import book, note_failure
from yume_shim.engine.model_client import GaveUp, ModelClient, Stopped
from yume_shim.types.blocks import Text
from yume_shim.types.errors import Failure
from yume_shim.types.events import Compacted, CompactEnded, Compacting, NoteAdded, Notice, Retrying
from yume_shim.types.models import Usage
from yume_shim.types.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.engine.conversation import Conversation
    from yume_shim.engine.model_client import ModelAnswer
    from yume_shim.engine.services import EngineServices
    from yume_shim.types.blocks import Message
    from yume_shim.types.events import Event
    from yume_shim.types.models import ModelSpec, Request
    from yume_shim.types.ports import Cancel
    from yume_shim.types.session_events import Trigger

    Build = Callable[[tuple[Message, ...], int], Request]
    """(messages, longest answer) -> a request that calls no tools."""

SUMMARY_TOKENS = 20_000
"""The longest answer asked for; reasoning counts towards it."""
HEAD_SHARE = 0.75
"""The part of the window that the messages to summarise may fill."""
TRIES = 3
"""A summary request that is itself too long is sent again with half the messages, this often in all."""
SUMMARY_SHARE = 8
"""A summary may fill the window divided by this."""
CHARACTERS_PER_TOKEN = 3
MIN_SUMMARY = 100
"""Characters: a summary that would have to be shorter than this to save anything is worth nothing."""
HOOK_REFUSED = "a hook refused it"
NO_GAIN = "the summary would be longer than the messages that it replaces"


class CompactionFailed(Exception):
    """No summary could be made; the history is unchanged. `failure` is None if no request was sent."""

    def __init__(self, message: str, failure: Failure | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.failure = failure


class Summary(Value):
    """A summary that was received and not yet applied."""

    trigger: Trigger
    cut: int
    before: int
    gone: int
    """Tokens of the messages that it replaces."""
    message: Message
    duration_ms: int
    instructions: str


class Compactor:
    """Makes summaries of one conversation with one model."""

    def __init__(
        self, services: EngineServices, conversation: Conversation, spec: ModelSpec, cancel: Cancel, build: Build
    ) -> None:
        self._services, self._conversation, self.spec, self._build = services, conversation, spec, build
        self._cancel = cancel
        self._client = ModelClient(services, cancel, set(), emit=self._emit, on_cut="restart")

    @property
    def api_seconds(self) -> float:
        """Seconds spent waiting for the model."""
        return self._client.api_seconds

    def summarise(self, trigger: Trigger, cut: int, before: int, instructions: str = "") -> Summary:
        """Ask for a summary of the first `cut` messages; `before` is the size of the whole. Raises CompactionFailed or
        Stopped; either way nothing has changed."""
        emit, clock, hooks = self._services.emit, self._services.clock, self._services.hooks()
        begun = clock.monotonic()
        refused = None if hooks is None else hooks.compacting(trigger, instructions, self._cancel)
        if refused is not None:
            emit(Compacting(trigger))
            emit(CompactEnded(refused or HOOK_REFUSED))
            raise CompactionFailed(refused or HOOK_REFUSED)
        head = tuple(self._conversation.history[:cut])
        gone = self._size_of_head(cut, before)
        emit(Compacting(trigger))
        try:
            message = self._message(self._ask(head, instructions), head, gone, trigger)
        except Stopped as stopped:
            self._book(stopped.usage, lost=True)
            emit(CompactEnded("stopped"))
            raise Stopped((), Usage(), None) from None
        except CompactionFailed as failed:
            emit(CompactEnded(failed.message, failed.failure))
            raise
        except Exception as error:
            emit(CompactEnded(f"{type(error).__name__}: {error}"))
            raise
        emit(CompactEnded())
        return Summary(trigger, cut, before, gone, message, round((clock.monotonic() - begun) * 1000), instructions)

    def apply(self, summary: Summary) -> None:
        """Replace the messages before the cut by the summary, and announce it."""
        conversation = self._conversation
        kept = tuple(conversation.history[summary.cut :])
        conversation.history[:] = [summary.message, *kept]
        conversation.measured = None
        conversation.trimming = TrimPlan(
            (0, *conversation.trimming.caps[summary.cut :])
        )  # the summary has no results to trim
        conversation.reasoning_stale_before = len(conversation.history)
        if conversation.memory is not None:
            conversation.memory.forget_later()
        added = size_of((summary.message,))
        conversation.dropped_tokens += max(0, summary.gone - added)
        after = max(summary.before - summary.gone + added, size_of(conversation.history))
        self._services.log("info", f"history compacted ({summary.trigger}): {summary.before} -> about {after} tokens")
        self._services.emit(
            Compacted(
                trigger=summary.trigger,
                before=summary.before,
                after=after,
                dropped=conversation.dropped_tokens,
                duration_ms=summary.duration_ms,
                summary=summary.message,
                kept=kept,
                boundary_uuid=self._services.ids.uuid(),
                instructions=summary.instructions,
            )
        )
        self._run_hooks(summary)

    def _run_hooks(self, summary: Summary) -> None:
        hooks, history = self._services.hooks(), self._conversation.history
        if hooks is None:
            return
        text = "\n".join(block.text for block in summary.message.blocks if isinstance(block, Text))
        for note in hooks.compacted(summary.trigger, text, self._cancel):
            self._services.emit(NoteAdded(note, counts=False))
            history[0] = replace(history[0], blocks=(*history[0].blocks, Text(note)))

    # ------------------------------------------------------------ a history that becomes smaller

    def _size_of_head(self, cut: int, before: int) -> int:
        """Tokens of the messages before the cut. The provider's count of the whole says more than our estimate of a
        part."""
        conversation = self._conversation
        frame = frame_size((*conversation.system, conversation.preamble), self._services.toolbox.specs())
        counted = before - frame - size_of(conversation.history[cut:])
        return max(size_of(conversation.history[:cut]), counted)

    def _message(self, text: str, head: tuple[Message, ...], gone: int, trigger: Trigger) -> Message:
        """The message that replaces `head`, which had `gone` tokens. If it is too long, first the copied request and
        the files are left out, then the summary is clipped. Raises CompactionFailed if nothing makes it shorter."""
        message = rejoin(text, head, self._services.toolbox.specs())
        if trigger == "manual" and self._services.settings.history.compact_small:
            return message
        room = gone - size_of((rejoin("", ()),))
        for made in (message, rejoin(text, ()), rejoin(summary_of(text, max(room, MIN_SUMMARY)), ())):
            if size_of((made,)) < gone:
                return made
        raise CompactionFailed(NO_GAIN)

    # ------------------------------------------------------------ asking

    def _ask(self, head: tuple[Message, ...], instructions: str) -> str:
        window = self.spec.window
        room = round(window * HEAD_SHARE)
        for attempt in range(TRIES):
            fitted = fit_head(head, room)
            request = self._build(ask_for_summary(fitted, instructions), SUMMARY_TOKENS)
            try:
                answered = self._client.ask(request)
            except GaveUp as gave_up:
                note_failure(self._services, self.spec, gave_up.failure, "compact")
                if gave_up.failure.kind != "context_length" or attempt == TRIES - 1:
                    failure = self._services.advise(gave_up.failure, self.spec)
                    raise CompactionFailed(failure.message, failure) from None
                room = size_of(fitted) // 2
                continue
            finally:
                self._book(self._client.take_lost(), lost=True)
            self._book(answered.usage)
            return self._text(answered, window)
        raise CompactionFailed("the history does not fit into one request")

    def _text(self, answered: ModelAnswer, window: int) -> str:
        said = "\n".join(block.text for block in answered.blocks if isinstance(block, Text))
        text = summary_of(said, min(MAX_SUMMARY, window * CHARACTERS_PER_TOKEN // SUMMARY_SHARE))
        if not text:
            message = "the model gave no summary"
            raise CompactionFailed(message, Failure("protocol", message, provider=self.spec.endpoint.name))
        return text

    def _book(self, usage: Usage, *, lost: bool = False) -> None:
        book(self._services, self._conversation, self.spec, usage, "compact", lost=lost)

    def _emit(self, event: Event) -> str:
        """Pass on retries and notices only: the host does not see the answer."""
        return self._services.emit(event) if isinstance(event, (Retrying, Notice)) else ""
