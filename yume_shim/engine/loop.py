"""The loop of a prompt or of a child: request, answer, calls, again, until the model has finished or a limit is hit."""

from __future__ import annotations

from yume_shim.engine.answer_text import AnswerText
from yume_shim.engine.booking import book, note_failure
from yume_shim.engine.budget import BudgetUsedUp
from yume_shim.engine.model_client import FAILOVER_KINDS, GaveUp, ModelClient, Stopped
from yume_shim.engine.requests import Requests
from yume_shim.text.codec import dumps
from yume_shim.types.blocks import Message, Text, ToolCall, ToolResult
from yume_shim.types.errors import Cancelled, Failure, HostStopped, Tried, failure_unexpected
from yume_shim.types.events import ModelChanged, NoteAdded, Notice, RequestStarted
from yume_shim.types.models import Usage
from yume_shim.types.outputs import CLAUDE
from yume_shim.types.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from yume_shim.engine.calls import CallRunner
    from yume_shim.engine.children import Children
    from yume_shim.engine.conversation import Conversation
    from yume_shim.engine.model_client import ModelAnswer
    from yume_shim.engine.services import EngineServices
    from yume_shim.engine.structured import StructuredOutput
    from yume_shim.types.blocks import AssistantBlock, Block
    from yume_shim.types.calls import StopVerdict
    from yume_shim.types.children import ChildLaunched, ChildRequest, ChildResult
    from yume_shim.types.commands import UserInput
    from yume_shim.types.events import Denial, InterruptReason, Outcome, Phase, StoppedBy, ToolFinished
    from yume_shim.types.models import Request, Stop
    from yume_shim.types.ports import Cancel

MAX_CONTINUATIONS = 3
"""How often an answer that hit the output limit is asked to continue."""
MAX_PAUSES = 10
"""How often a provider's own pause is resumed."""
MAX_SENT_BACK = 8
"""How often hooks may send the model back to work in one turn."""
MAX_CUTS = 5
"""How often a cut answer is asked to continue where it broke off."""

_GO_ON = "Your answer hit the output limit. Go on directly where it stopped; do not repeat or comment on it."
_CUT = "Your answer was cut off by the connection. Go on directly where it stopped; do not repeat what was said."


class LoopEnd(Value):
    """How a loop ended. `phase` says where an interrupt struck; `limit` is the limit that was hit, in words."""

    outcome: Outcome
    limit: str = ""
    phase: Phase = "idle"
    failure: Failure | None = None
    stopped_by: StoppedBy = ""


class Loop:
    """Runs once, on one thread. It adds each message to the history at once, so that an interrupt loses nothing.

    It emits what happens inside; the caller reports how it ended: a turn with `TurnEnded`, a child with the result of
    its call. `interrupted` is called once when the cancel signal stopped the loop, after open calls have got their
    results and before the abandoned answer is closed; the text it returns is added to the history as a user message.
    """

    def __init__(
        self,
        services: EngineServices,
        conversation: Conversation,
        cancel: Cancel,
        *,
        interrupted: Callable[[Phase], str],
        reason: Callable[[], InterruptReason] = lambda: "user",
        max_turns: int | None = None,
        inject: Callable[[bool], Sequence[UserInput]] | None = None,
        depth: int = 0,
    ) -> None:
        """`reason` says why the cancel signal was set. `depth` is 0 for a prompt, 1 for its children, and so on."""
        schema = conversation.options.get().schema
        self._structured: StructuredOutput | None = None
        if schema is not None:
            from yume_shim.engine.structured import StructuredOutput

            self._structured = StructuredOutput(schema)
        only_structured = self._structured is not None and not services.toolbox.specs()
        if self._structured is not None:
            services = replace(services, toolbox=services.toolbox.with_source(self._structured))
        self._services, self._conversation, self._cancel = services, conversation, cancel
        self._spec = conversation.models.refined(cancel)  # the whole loop uses one model, unless it fails
        self._reason = reason
        self._interrupted, self._inject, self._max_turns, self._depth = interrupted, inject, max_turns, depth
        self._client = ModelClient(
            services,
            cancel,
            conversation.used_ids,
            has_fallback=lambda: conversation.models.has_fallback(self._spec),
            depth=depth,
        )
        self._runner: CallRunner | None = None
        self._requests = Requests(services, conversation, self._spec, cancel)
        if self._structured is not None and only_structured:
            self._requests.forced_tool = self._structured.spec.name
        self._failed_models: list[str] = []  # another one has taken over from them
        self._fed_back = 0
        self._used_up = False
        """The limit of turns was hit."""
        self._answer = AnswerText()
        self._open_note: Message | None = None  # our last note to the model, while it is not answered
        self.requests = 0
        self.tool_calls = 0
        self.usage = Usage()
        self.stop_reason: str | None = None
        self.deferred: ToolCall | None = None  # the call that a hook has left to the host

    # ------------------------------------------------------------ what the caller reads afterwards

    @property
    def num_turns(self) -> int:
        """Turns as the Claude CLI counts them: after `--max-turns` the requests, else the messages."""
        return 1 + (self.requests if self._used_up else self._fed_back + self._requests.compactions)

    @property
    def api_seconds(self) -> float:
        """Seconds spent waiting for models."""
        return self._client.api_seconds + self._requests.compaction_seconds

    @property
    def denials(self) -> list[Denial]:
        """Calls that were not permitted."""
        return [] if self._runner is None else self._runner.denials

    @property
    def text(self) -> str:
        """The last answer, all parts joined."""
        return self._answer.text

    @property
    def parts(self) -> tuple[str, ...]:
        """Its parts, if it has several."""
        return self._answer.parts

    @property
    def structured_output(self) -> Any:
        """The delivered output; None if there is none."""
        return self._structured.value if self._structured is not None else None

    # ------------------------------------------------------------ the loop

    def run(self) -> LoopEnd:
        """Run the whole loop; never raises. Afterwards every call that the model made has a result in the history, and
        every note to the model an answer."""
        end = self._outcome()
        self._drop_open_note()
        return end

    def _outcome(self) -> LoopEnd:
        try:
            return self._run()
        except Stopped as stopped:
            self._close_streaming(stopped)
            return LoopEnd("cancelled", phase="streaming")
        except (Cancelled, HostStopped):
            self._note_interrupt("tools")
            return LoopEnd("cancelled", phase="tools")
        except BudgetUsedUp as used_up:
            return LoopEnd("max_budget", used_up.limit)
        except GaveUp as gave_up:
            self._close_dead(gave_up)
            failure = self._explained(gave_up.failure)
            return LoopEnd("auth_error" if failure.kind == "auth" else "provider_error", failure=failure)
        except Exception as error:
            self._services.log("error", f"the turn failed unexpectedly: {type(error).__name__}: {error}")
            return LoopEnd("execution_error", failure=self._explained(failure_unexpected(error)))

    def _explained(self, failure: Failure) -> Failure:
        """The failure with what was tried and what the user can do."""
        tried = replace(failure.tried or Tried(), models=tuple(self._failed_models))
        return self._services.advise(replace(failure, tried=tried), self._spec)

    def _run(self) -> LoopEnd:
        continuations = pauses = cuts = sent_back = 0
        while True:
            if self._cancel.is_set():
                raise Stopped((), Usage(), None)
            self._conversation.budget.check()
            answer = self._ask()
            if answer.cut:
                cuts += 1
                self._answer.continues_part()
                if cuts > MAX_CUTS:
                    broken = "the connection kept breaking in the middle of the answer"
                    raise GaveUp(Failure("stream_interrupted", broken, case="again", tried=Tried(cuts)))
                self._note(answer.nudge or _CUT)
            elif calls := [block for block in answer.blocks if isinstance(block, ToolCall)]:
                end = self._after_calls(calls, answer.stop)
                if end is not None:
                    return end
            elif continuations < MAX_CONTINUATIONS and self._can_continue(answer):
                continuations += 1
                self._answer.next_part(answer.blocks)
                self._note(_GO_ON)
            elif answer.stop == "pause" and pauses < MAX_PAUSES:
                pauses += 1
                self._answer.next_part(answer.blocks)
            elif self._structured is not None and not self._structured.nudged and answer.stop == "end":
                self._structured.nudged = True
                self._requests.forced_tool = self._structured.spec.name
                self._note(self._structured.nudge)
            elif late := self._late_prompts():
                self._feed_back([], late)
            elif (stop := self._ask_stop_hooks(sent_back)) is not None and stop.feedback:
                sent_back += 1
                self._note(stop.feedback, counts=stop.counts)
            else:
                self._warn_about(answer)
                prevented = stop is not None and stop.prevented and not self._depth  # a child ends as any other
                return LoopEnd("stop_prevented" if prevented else "success")

    def _late_prompts(self) -> Sequence[UserInput]:
        """Prompts that the host sent to join this turn, and that the model has not read although it has finished."""
        if self._inject is None or (self._max_turns and self.requests >= self._max_turns):
            return ()
        return self._inject(True)

    def _ask_stop_hooks(self, sent_back: int) -> StopVerdict | None:
        """What hooks say to the end of this turn or child; None if they are not asked (any more)."""
        hooks = self._services.hooks()
        if hooks is None or sent_back >= MAX_SENT_BACK:
            return None
        return hooks.stopping(self.text, self._cancel, active=sent_back > 0)

    # ------------------------------------------------------------ requests

    def _ask(self) -> ModelAnswer:
        request = self._requests.next()
        self.requests += 1
        answer = self._send(request)
        self._book(answer.usage)
        self.stop_reason = answer.stop_reason or self.stop_reason
        self._remember(answer.blocks)
        self._requests.learn(answer.usage)
        if self._services.settings.host.details:
            self._requests.report_context()
        self._answer.add(answer.blocks)
        return answer

    def _send(self, request: Request) -> ModelAnswer:
        while True:
            self._services.emit(RequestStarted(self._spec.id, self._spec.origin, self._spec.endpoint.name))
            try:
                return self._client.ask(request, "" if self._open_note is None else self._answer.shown)
            except GaveUp as gave_up:
                note_failure(self._services, self._spec, gave_up.failure)
                again = self._requests.after_refusal(gave_up.failure) or self._fall_back(gave_up)
                if again is None:
                    failure = self._requests.explained(gave_up.failure)
                    raise GaveUp(failure, shown=gave_up.shown, blocks=gave_up.blocks) from None
                request = again
            finally:
                self._book(self._client.take_lost(), lost=True)

    def _fall_back(self, gave_up: GaveUp) -> Request | None:
        """The next model of the chain takes over, if nothing of the answer was visible yet; None if there is none."""
        kind, models = gave_up.failure.kind, self._conversation.models
        spec = None if gave_up.shown or kind not in FAILOVER_KINDS else models.next_fallback(self._spec)
        if spec is None:
            return None
        before, self._spec = self._spec, self._services.refine(spec, self._cancel)
        self._failed_models.append(before.endpoint.name + "/" + before.id)
        models.take_over(before, self._spec)
        self._client.start_over()
        reason = "model_not_found" if kind == "not_found" else kind
        self._services.emit(ModelChanged(self._spec.endpoint.name, self._spec.id, reason))
        return self._requests.for_model(self._spec)

    # ------------------------------------------------------------ calls

    @property
    def _call_runner(self) -> CallRunner:
        """Created for the first call: many turns make none, and start-up time counts."""
        if self._runner is None:
            from yume_shim.engine.calls import CallRunner

            claude = self._services.settings.host.output_format != "flat" and "claude" in self._spec.id.lower()
            asker = CLAUDE if claude else "The model"
            starts = self._services.open_child is not None
            spawn, launch = (self._start_child, self._launch_child) if starts else (None, None)
            used = self._conversation.instructions_for
            self._runner = CallRunner(
                self._services, self._cancel, spawn, launch, asker=asker, used=used, depth=self._depth
            )
        return self._runner

    def _after_calls(self, calls: list[ToolCall], stop: Stop) -> LoopEnd | None:
        """Run the calls; returns the end of the loop, if it ends here."""
        try:
            self._conversation.budget.check()
        except BudgetUsedUp:
            self._close_unrun(calls)
            raise
        allowed = self._conversation.budget.take_calls(len(calls))
        self._run_calls(calls, stop, allowed if allowed < len(calls) else None)
        if self._structured is not None:
            if self._structured.delivered:
                self._answer.put(dumps(self._structured.value).decode("utf-8"))
                return LoopEnd("success")
            if self._structured.failures >= self._structured.max_tries:
                return LoopEnd("structured_output_retries", str(self._structured.max_tries))
        if allowed < len(calls):
            return LoopEnd("execution_error", self._conversation.budget.calls_reached, stopped_by="tool_calls")
        self.deferred = self._call_runner.deferred
        if self.deferred is not None:
            self.stop_reason = "tool_deferred"
            return LoopEnd("tool_deferred")
        if self._call_runner.stopped is not None:
            return LoopEnd("hook_stopped", self._call_runner.stopped)
        if self._call_runner.repeats.reason:
            return LoopEnd("execution_error", self._call_runner.repeats.reason)
        if self._max_turns and self.requests >= self._max_turns:
            self._used_up = True
            return LoopEnd("max_turns", str(self._max_turns))
        return None

    def _run_calls(self, calls: list[ToolCall], stop: Stop, most: int | None) -> None:
        done: list[ToolFinished] = []
        try:
            self._call_runner.run_all(calls, done, stop, most)
            self._call_runner.batch_ended(done)
        except Exception:  # whatever happened, every call gets its result
            finished = {entry.call.id for entry in done}
            for call in calls:
                if call.id not in finished:
                    self._call_runner.close_stopped(call, done, self._reason())
            self._feed_back(done, ())
            raise
        self._feed_back(done, self._inject(False) if self._inject is not None else ())

    def _feed_back(self, done: list[ToolFinished], injected: Sequence[UserInput]) -> None:
        blocks: list[Block] = [entry.result for entry in done]
        texts = [Text(note) for entry in done for note in entry.notes]
        blocks += texts
        blocks += [Text(note) for note in self._call_runner.take_notes()] if done else []
        for prompt in injected:
            blocks.extend(prompt.blocks)
            if self._runner is not None:
                self._runner.repeats.start_over()
        self._fed_back += len(done) + len(texts)
        self.tool_calls += len(done)
        if blocks:
            self._conversation.history.append(Message("user", tuple(blocks)))

    def _start_child(self, request: ChildRequest, call_id: str, cancel: Cancel) -> ChildResult:
        """Implements `types.ports.Spawn` for the tools of this loop."""
        return self._children().run(request, call_id, cancel)

    def _launch_child(self, request: ChildRequest, call_id: str, cancel: Cancel) -> ChildLaunched:
        """Implements `types.ports.Launch`."""
        return self._children().launch(request, call_id, cancel)

    def _children(self) -> Children:
        from yume_shim.engine.children import Children

        return Children(self._services, self._conversation, self._spec, self._depth, self._call_runner.denials)

    def _close_unrun(self, calls: list[ToolCall]) -> None:
        """Add results for calls that a limit kept from running, to the history only: they were never started."""
        results = tuple(ToolResult(call.id, "Not run: the budget is used up.", is_error=True) for call in calls)
        if results:
            self._conversation.history.append(Message("user", results))

    # ------------------------------------------------------------ small steps

    def _can_continue(self, answer: ModelAnswer) -> bool:
        """Was the answer cut off by a limit, and is there room for the rest of it? A full window needs a summary
        first."""
        return answer.stop == "length" or (answer.stop == "window" and self._requests.after_full_window())

    def _note(self, text: str, *, counts: bool = True) -> None:
        self._fed_back += counts
        self._open_note = Message("user", (Text(text),))
        self._conversation.history.append(self._open_note)
        self._services.emit(NoteAdded(text, counts=counts))

    def _drop_open_note(self) -> None:
        """Remove a note that the model did not answer: it must not stand before the user's next prompt. (A transcript
        marks notes, and its reader leaves out those without an answer.)"""
        history = self._conversation.history
        if self._open_note is not None and history and history[-1] is self._open_note:
            history.pop()
        self._open_note = None

    def _book(self, usage: Usage, *, lost: bool = False) -> None:
        self.usage = self.usage + usage
        book(self._services, self._conversation, self._spec, usage, lost=lost)
        self._conversation.budget.warn()

    def _remember(self, blocks: tuple[AssistantBlock, ...]) -> None:
        if blocks:
            self._open_note = None
            named = tuple(self._with_real_name(block) if isinstance(block, ToolCall) else block for block in blocks)
            self._conversation.history.append(Message("assistant", named, self._spec.origin))

    def _with_real_name(self, call: ToolCall) -> ToolCall:
        """A call by an alias, under the name that the model is offered: it reads its own calls again."""
        spec = self._services.toolbox.find(call.name)
        return call if spec is None or spec.name == call.name else replace(call, name=spec.name)

    def _warn_about(self, answer: ModelAnswer) -> None:
        match answer.stop:
            case "length" | "window":
                self._services.emit(Notice("max_tokens", "The answer ended at the output limit and may be incomplete."))
            case "refusal":
                why = f": {answer.detail}" if answer.detail else "."
                self._services.emit(Notice("refusal", f"The model declined to answer{why}"))
            case _ if not any(isinstance(block, Text) and block.text.strip() for block in answer.blocks):
                what = "contains only reasoning" if answer.blocks else "is empty"
                self._services.emit(Notice("empty_answer", f"The model's answer {what}."))
            case _:
                pass

    # ------------------------------------------------------------ interrupts

    def _close_dead(self, gave_up: GaveUp) -> None:
        """The provider failed in the middle: what was shown stays."""
        self._remember(gave_up.blocks)
        self._answer.add(gave_up.blocks)

    def _close_streaming(self, stopped: Stopped) -> None:
        self._remember(stopped.blocks)
        self._book(stopped.usage, lost=True)
        calls = [block for block in stopped.blocks if isinstance(block, ToolCall)]
        done: list[ToolFinished] = []
        for call in calls:
            self._call_runner.close_stopped(call, done, self._reason())
        self._feed_back(done, ())
        self._note_interrupt("streaming")
        if stopped.dropped is not None:
            self._services.emit(stopped.dropped)
        self.stop_reason = None

    def _note_interrupt(self, phase: Phase) -> None:
        marker = self._interrupted(phase)
        self._drop_open_note()
        if marker:
            self._fed_back += 1
            self._conversation.history.append(Message("user", (Text(marker),)))
