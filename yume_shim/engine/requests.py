"""Builds the requests of a loop: the history as it is sent, fitted to the window by trimming or by a summary."""

from __future__ import annotations

import os

from yume_shim.context.estimate import Measured, frame_size, measured, room_for_output, size_of
from yume_shim.context.repair import repair
from yume_shim.context.trim_plan import apply_trim
from yume_shim.engine.turn_preparation import attempt, prepare
from yume_shim.text import codec
from yume_shim.types.blocks import Text
from yume_shim.types.events import ContextMeasured, Notice
from yume_shim.types.models import Request
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from yume_shim.engine.compaction import Compactor
    from yume_shim.engine.conversation import Conversation
    from yume_shim.engine.services import EngineServices
    from yume_shim.engine.tool_search import Offer
    from yume_shim.types.blocks import Message
    from yume_shim.types.errors import Failure, TokenLimits
    from yume_shim.types.models import ModelSpec, ToolSpec, Usage
    from yume_shim.types.ports import Cancel

KEEP_SHARE = 0.2
"""The part of the window that the newest messages may take after a summary."""
OUTPUT_RESERVE = 20_000
"""Tokens that a request leaves for its answer, if the model can write that much."""
BOUND_REASONING = "adaptive"
"""Models that think this way bind their reasoning to the messages before it."""
NEAR_SHARE = 0.1
"""An estimate that is this close to the limit is checked by counting."""
GUESS_SHARE = 0.02
"""Not if less than this part of the limit was estimated, and the rest counted by the provider."""
MIN_WINDOW = 1_024
"""A refusal that names a smaller window is not believed."""
MIN_TOOLS = 8
"""The same for a number of tools: our own must still fit."""
FRAME_ADVICE = (
    "the system prompt and the tools take about {frame} of {window} tokens: offer fewer tools (--tools), or give the "
    "server a larger context"
)
DEFERRED = (
    "{deferred} of {total} tools are deferred: {model} is not offered so many at once. It finds them with the tool "
    "ToolSearch."
)
SMALL_MODEL = (
    "{model} has a window of {window} tokens only: it gets a short system prompt and the tools {tools}. "
    "--prompt-size full gives it everything, --tools names its tools."
)
OVERFLOW_SHARE = 0.7
"""A request that was refused as too long is sent again without a summary only if trimming brings it down to this part
of its size."""


class Requests:
    """The requests of one loop. `compactions` counts the summaries they needed."""

    def __init__(
        self,
        services: EngineServices,
        conversation: Conversation,
        spec: ModelSpec,
        cancel: Cancel,
    ) -> None:
        self._services, self._conversation, self._spec = services, conversation, spec
        self._stuck = False
        """No summary can be made in this loop, so none is tried before each request."""
        self._tried: Literal["", "trimming", "summary"] = ""
        """What was done since the last answer because a request was refused as too long."""
        self._cancel = cancel
        self._compactor: Compactor | None = None
        self.compactions = 0
        self._sent_tools: tuple[ToolSpec, ...] = ()
        self.forced_tool = ""
        """The one tool that must be called now; "" = the model chooses."""

    def prepare(self) -> None:
        """Build the conversation's instructions, if that has not been done."""
        prepare(self._services, self._conversation, self._cancel)

    def for_model(self, spec: ModelSpec) -> Request:
        """The next request, for another model. Raises Stopped."""
        self._use(spec)
        return self.next()

    def next(self) -> Request:
        """The next request; trims or compacts the history if it would not fit. Raises Stopped."""
        self._use(self._services.learned(self._spec))
        return self._request(self._make_room())

    def after_refusal(self, failure: Failure) -> Request | None:
        """The request to send after one was refused for its size; None if nothing can be done. Raises Stopped."""
        return self._after_overflow(failure) or self._after_tool_limit(failure)

    def _after_overflow(self, failure: Failure) -> Request | None:
        """The request to send after one was refused as too long; None if nothing can be done. Raises Stopped."""
        settings = self._services.settings
        if failure.kind != "context_length":
            return None
        small = self._conversation.small
        self._learn_limits(failure.limits)
        if self._conversation.small and not small:  # a short prompt and few tools from now on: that may be enough
            self._conversation.measured = None
            return self._request(self._make_room())
        if not settings.history.auto_compact or self._tried == "summary":
            return None
        size = max(self.size(), self._estimate())  # the size we assumed was too low
        target = min(round(size * OVERFLOW_SHARE), self._compact_limit())
        if not self._tried and settings.history.trimming:
            self._tried = "trimming"
            if size - self._trim(size, target) <= target:
                return self._request(self.size())
        self._tried = "summary"
        return self._request(self.size()) if self._compact(full=True) else None

    def _after_tool_limit(self, failure: Failure) -> Request | None:
        """The request to send after one was refused for its number of tools: the others are deferred from now on. None
        if the refusal is about something else, or fewer tools were offered already."""
        most = 0 if failure.limits is None else failure.limits.max_tools
        endpoint = self._spec.endpoint
        if most < MIN_TOOLS or (endpoint.quirks.max_tools and endpoint.quirks.max_tools <= most):
            return None
        if len(self._tools()) <= most:
            return None
        self._use(replace(self._spec, endpoint=replace(endpoint, quirks=replace(endpoint.quirks, max_tools=most))))
        return self._request(self._make_room())

    def explained(self, failure: Failure) -> Failure:
        """The failure, with advice if system prompt and tools alone fill most of the window that it names."""
        limits = failure.limits
        if failure.kind != "context_length" or limits is None or not limits.window:
            return failure
        frame = frame_size(self._conversation.system, self._tools())
        if frame * 2 < limits.window:
            return failure
        advice = FRAME_ADVICE.format(frame=frame, window=limits.window)
        return replace(failure, message=f"{failure.message}; {advice}")

    def _learn_limits(self, limits: TokenLimits | None) -> None:
        """Use the window and the size that the provider named instead of our own figures."""
        if limits is None or limits.window < MIN_WINDOW:
            return
        if limits.window != self._spec.window:
            self._use(self._spec.with_window(limits.window))
        if limits.input:
            self._conversation.measured = Measured(limits.input, len(self._conversation.history), self._spec.origin)

    def _use(self, spec: ModelSpec) -> None:
        self._spec = spec
        self._conversation.suit(spec)
        if self._conversation.small:
            self._announce_small()
        if self._compactor is not None:
            self._compactor.spec = spec

    def after_full_window(self) -> bool:
        """The window was full in the middle of an answer: compact; True if that made room. Raises Stopped."""
        return self._services.settings.history.auto_compact and not self._stuck and self._compact(full=True)

    def learn(self, usage: Usage) -> None:
        """Record what the provider counted, now that its answer is in the history."""
        conversation = self._conversation
        self._tried = ""
        conversation.measured = measured(usage, len(conversation.history), self._spec.origin) or conversation.measured

    def report_context(self) -> None:
        """Say how full the context is now, from what was sent: the toolbox is not asked again."""
        conversation = self._conversation
        system, tools, memory = conversation.frame_sizes(self._sent_tools)
        measured = conversation.measured
        if measured is not None and self._is_measured():
            used, estimated = measured.size(conversation.history), False
        else:
            used, estimated = system + tools + memory + self._conversation.sizes.of(self._history(), codec.dumps), True
        rest = max(0, used - system - tools - memory)
        self._services.emit(ContextMeasured(used, self._window(), system, tools, memory, rest, estimated))

    def size(self) -> int:
        """Tokens of the next request: what the provider counted last and what was added since, or all estimated."""
        conversation = self._conversation
        if conversation.measured is not None and self._is_measured():
            return conversation.measured.size(conversation.history)
        return self._estimate()

    def _is_measured(self) -> bool:
        """This model's provider has counted a part of the history."""
        return self._conversation.measured is not None and self._conversation.measured.origin == self._spec.origin

    def _estimate(self) -> int:
        frame = frame_size(self._conversation.system, self._tools())
        return frame + self._conversation.sizes.of(self._history(), codec.dumps)

    def _precise(self, size: int, limit: int) -> int:
        """The size, counted where the estimate is too close to the limit to decide: by the provider if it can, else by
        tiktoken if its data is here."""
        conversation = self._conversation
        counted = conversation.measured if self._is_measured() else None
        guessed = size if counted is None else size - counted.tokens
        if abs(size - limit) > limit * NEAR_SHARE or guessed < limit * GUESS_SHARE:
            return size
        history = self._history()
        request = self._build(history, MIN_WINDOW, conversation.reasoning_stale_before)
        asked: int | None = attempt(
            self._services, self._cancel, "Counting tokens", lambda: self._services.count(request, self._cancel)
        )
        if asked is not None:
            self._services.log("info", f"history: the provider counts {asked} tokens, estimated were {size}")
            conversation.measured = Measured(asked, len(history), self._spec.origin)
            return asked
        from yume_shim.context.estimate import load_exact

        exact = load_exact(os.environ)  # tiktoken looks there, and nowhere else
        if exact is None:
            return size
        if counted is not None:
            return counted.size(conversation.history, exact)
        return frame_size(conversation.system, self._tools(), exact) + size_of(history, exact)

    # ------------------------------------------------------------ making room

    def _make_room(self) -> int:
        """Trim and compact as far as needed; returns the size of the next request."""
        settings, size = self._services.settings, self.size()
        if size > self._trim_budget() and settings.history.trimming:
            size -= self._trim(size, self._trim_budget())
        if not settings.history.auto_compact or self._stuck:
            return size
        limit = self._compact_limit()
        size = self._precise(size, limit)
        if size > limit and self._compact():
            size = self.size()
        return size

    def _trim(self, size: int, budget: int) -> int:
        """Trim the history one step further; returns the tokens that this frees."""
        from yume_shim.context.result_trimming import plan_step

        conversation, settings = self._conversation, self._services.settings
        step = plan_step(
            self._history(),
            size,
            budget,
            keep_turns=settings.history.keep_recent_user_turns_in_chained_tool_calls,
            caps=settings.history.trim_caps,
        )
        if step is None:
            return 0
        conversation.trimming = conversation.trimming.joined(step.plan)
        conversation.reasoning_stale_before = len(conversation.history)
        if conversation.measured is not None:
            conversation.measured = replace(
                conversation.measured, tokens=max(0, conversation.measured.tokens - step.freed)
            )
        told = f"history: old tool results trimmed, about {step.freed} of {size} tokens freed"
        self._tell_once("trimmed", told)
        return step.freed

    @property
    def compactor(self) -> Compactor:
        """Created for the first summary: few conversations need one."""
        if self._compactor is None:
            from yume_shim.engine.compaction import Compactor

            self._compactor = Compactor(self._services, self._conversation, self._spec, self._cancel, self._for_summary)
        return self._compactor

    @property
    def compaction_seconds(self) -> float:
        """Seconds spent waiting for summaries."""
        return 0.0 if self._compactor is None else self._compactor.api_seconds

    def _compact(self, *, full: bool = False) -> bool:
        """Replace all but the newest messages by a summary; False if that is not possible. `full`: the provider said
        that the window is full, whatever our count says."""
        from yume_shim.context.compact import choose_cut
        from yume_shim.engine.compaction import CompactionFailed

        most = self._compact_limit() - frame_size(self._conversation.system, self._tools())
        cut = choose_cut(self._conversation.history, round(self._spec.window * KEEP_SHARE), most)
        if cut is None:
            self._stuck = True
            self._services.log("info", "history: too little to summarise")
            return False
        try:
            summary = self.compactor.summarise("auto", cut, max(self.size(), self._spec.window if full else 0))
        except CompactionFailed as failed:
            self._stuck = True
            self._services.emit(Notice("compact", f"The history could not be summarised: {failed.message}"))
            return False
        self.compactor.apply(summary)
        self.compactions += 1
        return True

    def _trim_budget(self) -> int:
        window = self._window()
        return self._services.settings.history.max_tokens or round(window * self._spec.shares(window)[0])

    def _compact_limit(self) -> int:
        """The size at which a summary is due: the model family's share of the window, with room left for the answer."""
        window, asked = self._window(), self._services.settings.history.compact_tokens
        limit = min(round(window * self._spec.shares(window)[1]), window - min(self._longest(), OUTPUT_RESERVE))
        limit = max(limit, window // 2)
        return limit if asked is None else min(limit, asked)

    def _window(self) -> int:
        """The model's window. If the provider accepted more than that, our figure is wrong: assume twice what it
        counted."""
        counted = self._conversation.measured
        if counted is not None and counted.origin == self._spec.origin and counted.tokens > self._spec.window:
            return counted.tokens * 2
        return self._spec.window

    # ------------------------------------------------------------ requests

    def _request(self, size: int) -> Request:
        longest = room_for_output(self._window(), size, self._longest())
        self._mark_stale_reasoning()
        spec = self._spec
        return replace(
            self._build(self._history(), longest, self._conversation.reasoning_stale_before),
            tool_choice=self.forced_tool or "auto",
            temperature=spec.temperature,
            top_p=spec.top_p,
            stop_sequences=spec.stop_sequences,
        )

    def _history(self) -> tuple[Message, ...]:
        """The history as it is sent, message for message."""
        return apply_trim(self._conversation.history, self._conversation.trimming)

    def _mark_stale_reasoning(self) -> None:
        """Mark earlier reasoning as stale if system prompt, memory note or tools have changed since the last
        request."""
        conversation = self._conversation
        beginning = (conversation.system, conversation.preamble, self._tools())
        if conversation.beginning not in (None, beginning):
            conversation.reasoning_stale_before = len(conversation.history)
        conversation.beginning = beginning

    def _for_summary(self, messages: tuple[Message, ...], longest: int) -> Request:
        head = messages[:-1]
        reasoning_stale_before = (
            self._conversation.reasoning_stale_before if head == self._history()[: len(head)] else len(head)
        )
        return replace(
            self._build(messages, min(longest, self._spec.max_output), reasoning_stale_before), tool_choice="none"
        )

    def _build(self, messages: tuple[Message, ...], max_tokens: int, reasoning_stale_before: int) -> Request:
        settings, conversation = self._services.settings, self._conversation
        options = conversation.options.get()
        if reasoning_stale_before and self._spec.thinking == BOUND_REASONING:
            from yume_shim.context.stale_reasoning import without_reasoning

            kept = without_reasoning(messages, reasoning_stale_before)
            if kept != messages:
                self._tell_once("reasoning", "history: reasoning from before a change of the conversation left out")
            messages = kept
        repaired = repair(messages, self._spec, conversation.legal)
        self._report(repaired.notes)
        messages = repaired.messages
        if conversation.preamble and messages:
            first = messages[0]
            messages = (replace(first, blocks=(Text(conversation.preamble), *first.blocks)), *messages[1:])
        self._sent_tools = self._tools()
        options = conversation.options.get()
        return Request(
            model=self._spec,
            messages=messages,
            system=conversation.system,
            tools=self._sent_tools,
            max_tokens=max_tokens,
            effort=options.effort,
            thinking=settings.model.thinking,
            thinking_budget=options.thinking_budget,
            thinking_display=settings.model.thinking_display,
            session_id=conversation.session_id,
        )

    def _report(self, notes: tuple[str, ...]) -> None:
        """Report what was left out or added: each kind once on stderr, or once to the host if another model wrote part
        of the history."""
        conversation, origin = self._conversation, self._spec.origin
        once = f"history {origin}"
        if (
            notes
            and once not in conversation.notices_given
            and any(m.origin not in ("", origin) for m in conversation.history)
        ):
            conversation.notices_given.add(once)
            self._services.emit(Notice("history", f"Continuing with {self._spec.id}: {'; '.join(notes)}"))
            conversation.notices_given.update(_kind_of(note) for note in notes)
        for note in notes:
            self._tell_once(_kind_of(note), f"history: {note}")

    def _tell_once(self, what: str, text: str) -> None:
        """Say something on stderr, once per conversation and kind; later only in a detailed log."""
        given = self._conversation.notices_given
        self._services.log("info" if what in given else "warning", text)
        given.add(what)

    def _longest(self) -> int:
        most = self._spec.max_output
        return min(self._services.settings.model.max_output_tokens or most, most)

    def _tools(self) -> tuple[ToolSpec, ...]:
        toolbox = self._services.toolbox
        offer = toolbox.offer(self._spec, self._services.settings.env)
        if offer is not None and offer.deferred:
            self._announce_deferred(offer)
        specs = toolbox.specs() if offer is None else offer.specs
        if not self._conversation.small:
            return specs
        from yume_shim.engine.instructions import offered

        return offered(self._services, specs, small=True)

    def _announce_small(self) -> None:
        """Say once per model that it gets less, unless a person asked for that."""
        once = f"small_model {self._spec.origin}"
        if once in self._conversation.notices_given or self._services.settings.instructions.prompt_size != "auto":
            return
        self._conversation.notices_given.add(once)
        names = ", ".join(tool.name for tool in self._tools()) or "none"
        text = SMALL_MODEL.format(model=self._spec.id, window=self._spec.window, tools=names)
        self._services.emit(Notice("small_model", text))

    def _announce_deferred(self, offer: Offer) -> None:
        """Say once per model that some tools are found by search only."""
        once = f"tools_deferred {self._spec.origin}"
        if once not in self._conversation.notices_given:
            self._conversation.notices_given.add(once)
            text = DEFERRED.format(deferred=offer.deferred, total=offer.total, model=self._spec.id)
            self._services.emit(Notice("tools_deferred", text))


def _kind_of(note: str) -> str:
    """A note without its count."""
    return note.rsplit(":", 1)[0]
