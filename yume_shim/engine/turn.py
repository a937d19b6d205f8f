"""One turn: request, answer, calls, again, until the model has said what it wanted to say. Always one TurnEnded."""

from __future__ import annotations

from yume_shim.engine.budget import BudgetUsedUp, check_budget, warn_of_budget
from yume_shim.engine.calls import CallRunner, HostSaidStop
from yume_shim.engine.model_client import FAILOVER_KINDS, GaveUp, ModelClient, Stopped
from yume_shim.engine.requests import Requests
from yume_shim.engine.structured import MAX_TRIES, NUDGE, TOOL_NAME, StructuredOutput
from yume_shim.text.codec import dumps
from yume_shim.types.blocks import Message, Text, ToolCall, ToolResult
from yume_shim.types.errors import Cancelled, Failure
from yume_shim.types.events import (
    Interrupted,
    ModelChanged,
    NoteAdded,
    Notice,
    RequestStarted,
    TurnEnded,
    TurnFailed,
)
from yume_shim.types.models import Usage
from yume_shim.types.shapes import interrupt_marker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from yume_shim.engine.conversation import Conversation
    from yume_shim.engine.model_client import ModelAnswer
    from yume_shim.engine.services import EngineServices
    from yume_shim.types.blocks import AssistantBlock, Block
    from yume_shim.types.commands import UserInput
    from yume_shim.types.events import InterruptReason, Outcome, Phase, SessionInfo, ToolFinished
    from yume_shim.types.models import Request
    from yume_shim.types.ports import Cancel

MAX_CONTINUATIONS = 3
"""How often an answer that hit the output limit is asked to go on."""
MAX_PAUSES = 10
"""How often a provider's own pause is resumed."""
MAX_CUTS = 5
"""How often a cut answer is asked to go on where it broke off."""

_GO_ON = "Your answer hit the output limit. Go on directly where it stopped; do not repeat or comment on it."
_CUT = "Your answer was cut off by the connection. Go on directly where it stopped; do not repeat what was said."


class Turn:
    """Runs once. History messages are appended as they come to be, so that an interrupt loses nothing."""

    def __init__(
        self,
        services: EngineServices,
        conversation: Conversation,
        info: SessionInfo,
        cancel: Cancel,
        inject: Callable[[], Sequence[UserInput]],
        reason: Callable[[], InterruptReason],
    ) -> None:
        self._services, self._conversation, self._info, self._cancel = services, conversation, info, cancel
        self._spec = conversation.refined(cancel)  # a tool chain stays on the model that began it
        self._inject, self._reason = inject, reason
        self._client = ModelClient(services, cancel, conversation.used_ids)
        self._client.has_fallback = lambda: conversation.has_fallback(self._spec)
        self._structured = StructuredOutput(conversation.schema) if conversation.schema is not None else None
        self._calls = CallRunner(services, cancel, self._structured)
        more_tools = () if self._structured is None else (self._structured.spec,)
        self._requests = Requests(services, conversation, self._spec, cancel, more_tools)
        if more_tools and not services.toolbox.specs():
            self._requests.wanted = TOOL_NAME  # nothing else can be called
        self._asked = 0
        self._fed_back = 0
        self._usage = Usage()
        self._stop_reason: str | None = None
        self._text = ""
        self._said_before = ""
        """Text of this answer from before a cut or the output limit."""

    def run(self, user_uuids: tuple[str, ...] = ()) -> TurnEnded:
        """The whole turn; never raises. Returns (and has emitted) its end."""
        begun = self._services.clock.monotonic()
        phase: Phase = "idle"
        failure: Failure | None = None
        limit = ""
        outcome: Outcome
        try:
            outcome, limit = self._loop()
        except Stopped as stopped:
            outcome, phase = "cancelled", "streaming"
            self._close_streaming(stopped)
        except (Cancelled, HostSaidStop):
            outcome, phase = "cancelled", "tools"
            self._interrupted("tools")
        except BudgetUsedUp as used_up:
            outcome, limit = "max_budget", used_up.limit
        except GaveUp as gave_up:
            failure = gave_up.failure
            outcome = "auth_error" if failure.kind == "auth" else "provider_error"
            self._services.emit(TurnFailed(failure))
        except Exception as error:
            self._services.log("error", f"the turn broke: {type(error).__name__}: {error}")
            failure = Failure("internal", f"internal error: {type(error).__name__}: {error}")
            outcome = "execution_error"
            self._services.emit(TurnFailed(failure))
        if outcome == "cancelled" and self._reason() == "priority":
            outcome = "success"  # the host's next prompt took over: nothing went wrong
        elapsed = self._services.clock.monotonic() - begun
        ended = TurnEnded(
            outcome=outcome,
            text=self._text if outcome == "success" and phase == "idle" else "",
            num_turns=1 + self._fed_back + self._requests.compactions,
            duration_ms=round(elapsed * 1000),
            duration_api_ms=round((self._client.api_seconds + self._requests.compactor.api_seconds) * 1000),
            usage=self._usage,
            total_cost_usd=self._conversation.tally.total_usd(),
            model_usage=self._conversation.tally.by_model(),
            denials=tuple(self._calls.denials),
            stop_reason=self._stop_reason,
            failure=failure,
            limit=limit,
            phase=phase,
            structured_output=self._structured.value if self._structured is not None else None,
            user_uuids=user_uuids,
            info=self._info,
        )
        self._services.emit(ended)
        return ended

    # ------------------------------------------------------------ the loop

    def _loop(self) -> tuple[Outcome, str]:
        settings = self._services.settings
        continuations = pauses = cuts = 0
        while True:
            if self._cancel.is_set():
                raise Stopped((), Usage(), None)
            check_budget(self._conversation)
            answered = self._ask()
            if answered.cut:
                cuts += 1
                if cuts > MAX_CUTS:
                    raise GaveUp(
                        Failure("stream_interrupted", "the connection kept breaking in the middle of the answer")
                    )
                self._go_on(answered.nudge or _CUT)
                continue
            calls = [block for block in answered.blocks if isinstance(block, ToolCall)]
            if calls:
                try:
                    check_budget(self._conversation)
                except BudgetUsedUp:
                    self._close_unrun(calls)
                    raise
                self._run_calls(calls)
                if self._structured is not None:
                    if self._structured.delivered:
                        self._text = dumps(self._structured.value).decode("utf-8")
                        return "success", ""
                    if self._structured.failures >= MAX_TRIES:
                        return "structured_output_retries", str(MAX_TRIES)
                if settings.limits.max_turns and self._asked >= settings.limits.max_turns:
                    return "max_turns", str(settings.limits.max_turns)
                continue
            if continuations < MAX_CONTINUATIONS and self._can_go_on(answered):
                continuations += 1
                self._go_on(_GO_ON, join=settings.host.join_continuations)
                continue
            if answered.stop == "pause" and pauses < MAX_PAUSES:
                pauses += 1
                continue
            if self._structured is not None and not self._structured.nudged and answered.stop == "end":
                self._structured.nudged = True
                self._requests.wanted = TOOL_NAME
                self._note(NUDGE)
                continue
            self._warn_of(answered)
            return "success", ""

    def _ask(self) -> ModelAnswer:
        request = self._requests.next()
        self._asked += 1
        answered = self._send(request)
        self._book(answered.usage)
        self._stop_reason = answered.stop_reason or self._stop_reason
        self._remember(answered.blocks)
        self._requests.learn(answered.usage)
        said = "\n".join(block.text for block in answered.blocks if isinstance(block, Text))
        self._text = self._said_before + said
        self._said_before = ""
        return answered

    def _send(self, request: Request) -> ModelAnswer:
        while True:
            self._services.emit(RequestStarted(self._spec.id, self._spec.origin))
            try:
                return self._client.ask(request)
            except GaveUp as gave_up:
                again = self._requests.after_overflow(gave_up.failure) or self._fall_back(gave_up)
                if again is None:
                    raise
                request = again
            finally:
                self._book(self._client.take_lost())

    def _fall_back(self, gave_up: GaveUp) -> Request | None:
        """The next model of the chain takes over, if nothing of the answer was visible yet; None if there is none."""
        kind = gave_up.failure.kind
        spec = None if gave_up.shown or kind not in FAILOVER_KINDS else self._conversation.next_fallback(self._spec)
        if spec is None:
            return None
        before, self._spec = self._spec, self._services.refine(spec, self._cancel)
        spec = self._spec
        if self._conversation.spec is before:  # what the host chose meanwhile is for the next turn
            self._conversation.spec = spec
        self._client.start_over()
        self._services.emit(
            ModelChanged(spec.endpoint.name, spec.id, "model_not_found" if kind == "not_found" else kind)
        )
        return self._requests.for_model(spec)

    def _run_calls(self, calls: list[ToolCall]) -> None:
        done: list[ToolFinished] = []
        try:
            self._calls.run_all(calls, done)
        except Exception:  # whatever happened, every call gets its result
            finished = {entry.call.id for entry in done}
            for call in calls:
                if call.id not in finished:
                    self._calls.reject(call, done)
            self._feed_back(done, ())
            raise
        self._feed_back(done, self._inject())

    def _feed_back(self, done: list[ToolFinished], injected: Sequence[UserInput]) -> None:
        blocks: list[Block] = [entry.result for entry in done]
        for prompt in injected:
            blocks.extend(prompt.blocks)
        self._fed_back += len(done)
        if blocks:
            self._conversation.history.append(Message("user", tuple(blocks)))

    def _close_unrun(self, calls: list[ToolCall]) -> None:
        """Calls that a limit kept from running still get their result, in the history only: they were never started."""
        results = tuple(ToolResult(call.id, "Not run: the budget is used up.", is_error=True) for call in calls)
        if results:
            self._conversation.history.append(Message("user", results))

    # ------------------------------------------------------------ small steps

    def _can_go_on(self, answered: ModelAnswer) -> bool:
        """The answer was cut off by a limit, and there is room for the rest of it: a full window needs a summary."""
        return answered.stop == "length" or (answered.stop == "window" and self._requests.after_full_window())

    def _note(self, text: str) -> None:
        self._fed_back += 1
        self._conversation.history.append(Message("user", (Text(text),)))
        self._services.emit(NoteAdded(text))

    def _go_on(self, note: str, *, join: bool = True) -> None:
        self._said_before = self._text if join else ""
        self._note(note)

    def _book(self, usage: Usage) -> None:
        if usage == Usage():
            return
        self._usage = self._usage + usage
        self._conversation.tally.add(self._spec, usage)
        warn_of_budget(self._conversation)

    def _remember(self, blocks: tuple[AssistantBlock, ...]) -> None:
        if blocks:
            self._conversation.history.append(Message("assistant", blocks, self._spec.origin))

    def _warn_of(self, answered: ModelAnswer) -> None:
        match answered.stop:
            case "length" | "window":
                self._services.emit(Notice("max_tokens", "The answer ended at the output limit and may be incomplete."))
            case "refusal":
                self._services.emit(Notice("refusal", "The model declined to answer."))
            case _:
                pass

    # ------------------------------------------------------------ interrupts

    def _close_streaming(self, stopped: Stopped) -> None:
        self._remember(stopped.blocks)
        self._book(stopped.usage)
        calls = [block for block in stopped.blocks if isinstance(block, ToolCall)]
        done: list[ToolFinished] = []
        for call in calls:
            self._calls.reject(call, done)
        self._feed_back(done, ())
        self._interrupted("streaming")
        if stopped.dropped is not None:
            self._services.emit(stopped.dropped)
        self._stop_reason = None

    def _interrupted(self, phase: Phase) -> None:
        reason = self._reason()
        if reason != "priority":  # a prompt that takes over speaks for itself
            self._fed_back += 1
            self._conversation.history.append(Message("user", (Text(interrupt_marker(phase)),)))
        self._services.emit(Interrupted(reason, phase))
