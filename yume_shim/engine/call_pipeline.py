"""One tool call in named steps: prepare, before-hooks, decide, ask, run, after-hooks, finish. Each step is done once.

`judge` does the first three; `complete` does the rest and returns the one result. Between them `engine/calls.py`
chooses the calls that may run side by side.
"""

from __future__ import annotations

from yume_shim.engine.call_decisions import by_answer, by_decision
from yume_shim.engine.call_results import denied_result, failed_result, refusal
from yume_shim.engine.heartbeat import Heartbeat
from yume_shim.engine.scrub import scrub
from yume_shim.text.clean import repair_mojibake
from yume_shim.types.blocks import ToolResult
from yume_shim.types.calls import BeforeCall
from yume_shim.types.errors import BadLine, Cancelled, HostStopped, ToolFailed
from yume_shim.types.events import (
    CallDenied,
    ModeChanged,
    NoteAdded,
    Notice,
    StateChanged,
    TodosChanged,
    ToolFinished,
    ToolOutputAdded,
)
from yume_shim.types.outputs import CLAUDE, Decision, ToolContext, ToolOutput
from yume_shim.types.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from yume_shim.engine.services import EngineServices
    from yume_shim.types.blocks import Json, ToolCall
    from yume_shim.types.calls import PreparedCall
    from yume_shim.types.events import Event
    from yume_shim.types.outputs import Answer
    from yume_shim.types.ports import Cancel, Emit, Launch, Spawn
    from yume_shim.types.prompt_files import PromptFile

ALLOWED = Decision("allow")
UNCHANGED = BeforeCall()
FILE_KINDS = ("read", "edit")
"""Tools whose path is one file."""


class JudgedCall(Value):
    """A call after `judge`: prepared and decided on, or failed before it could be."""

    call: ToolCall
    prepared: PreparedCall | None = None
    decision: Decision = ALLOWED
    failed: ToolFailed | None = None

    @property
    def asks(self) -> bool:
        """The host must be asked before it may run."""
        return self.failed is None and self.decision.verdict == "ask"


class CallPipeline:
    """The steps, for the calls of one loop. `judge` runs on the loop's thread, `complete` also on the threads of
    side-by-side calls. `notes` collects what hooks add for the model; the loop's thread takes it when the calls have
    ended."""

    def __init__(
        self,
        services: EngineServices,
        cancel: Cancel,
        spawn: Spawn | None = None,
        launch: Launch | None = None,
        *,
        asker: str = CLAUDE,
        used: Callable[[str, Cancel], tuple[str, ...]] | None = None,
    ) -> None:
        """`asker`: who asks for permissions, as the messages about them say. `used`: what the model reads about a file
        that a call has used."""
        self._asker, self._used = asker, used
        self._emit: Emit = services.emit
        self._services = replace(services, emit=self._send)
        self._toolbox, self._cancel = services.toolbox, cancel
        self._abandoned = False
        self._spawn, self._launch = spawn, launch
        self.notes: list[str] = []
        self.instructions: list[str] = []
        """Instructions about files that calls have used; they follow all results."""
        self.stopped: str | None = None
        """Why hooks end the turn after these calls; None = they do not."""
        self.deferred: ToolCall | None = None
        """The call that a hook has left to the host: the turn ends after these calls."""
        self.begun: set[str] = set()
        """The calls whose tools have begun to run."""
        self._prepared: dict[str, PreparedCall] = {}

    def abandon(self) -> None:
        """A call goes on although it was stopped: what it does from now on is neither shown nor kept."""
        from yume_shim.engine.abandonment import emit_nothing

        self._abandoned, self._emit = True, emit_nothing

    def _send(self, event: Event) -> str:
        return self._emit(event)

    # ------------------------------------------------------------ the two halves

    def judge(self, call: ToolCall) -> JudgedCall:
        """Prepare, before-hooks, decide. Raises Cancelled, nothing else."""
        judged = self._judge(call)
        if self._services.settings.log.debugs:
            from yume_shim.engine.debug_log import judged_entry

            self._services.log("debug", judged_entry(judged))
        return judged

    def shown_input(self, call: ToolCall) -> Json:
        """The input of a call as the host sees it."""
        prepared = self._prepared.get(call.id)
        return prepared.shown_input if prepared is not None and prepared.call.input == call.input else call.input

    def _judge(self, call: ToolCall) -> JudgedCall:
        try:
            prepared = self._prepared[call.id] = self._toolbox.prepare(call)
            before = self._before(prepared)
            if before.input is not None and before.input not in (prepared.call.input, prepared.shown_input):
                prepared = self._prepared[call.id] = self._prepare_again(prepared.call, before.input)
            prepared, decision = self._decide(prepared, before)
            return JudgedCall(call, prepared, decision)
        except ToolFailed as failed:
            return JudgedCall(call, failed=failed)
        except Cancelled:
            raise
        except Exception as error:
            return JudgedCall(call, failed=self._unexpected(call, error))

    def complete(self, judged: JudgedCall) -> ToolFinished:
        """Ask, run, after-hooks, finish. Raises Cancelled or HostStopped, nothing else."""
        begun = self._services.clock.monotonic()
        finished = self._complete(judged, begun)
        if self._services.settings.log.debugs:
            from yume_shim.engine.debug_log import finished_entry

            took = round((self._services.clock.monotonic() - begun) * 1000)
            self._services.log("debug", finished_entry(finished, took))
        return finished

    def _complete(self, judged: JudgedCall, begun: float) -> ToolFinished:
        permitted = self._permit(judged)
        if isinstance(permitted, ToolFinished):
            return permitted
        call = permitted.call
        try:
            output = self._run(permitted)
        except ToolFailed as failed:
            self._go_on()
            return self._after_failure(permitted, failed_result(call, failed))
        except Cancelled as stopped:
            raise Cancelled(self._clean_text(call, stopped.output)) from None
        except HostStopped:
            raise
        except Exception as error:
            self._go_on()
            return self._after_failure(permitted, failed_result(call, self._unexpected(call, error)))
        took = round((self._services.clock.monotonic() - begun) * 1000)
        output = self._after(permitted, replace(self._clean(call, output), duration_ms=took))
        if self._used is not None and permitted.path and permitted.spec.kind in FILE_KINDS and not output.is_error:
            self.instructions.extend(self._used(permitted.path, self._cancel))
        return self._finish(call, output, took)

    # ------------------------------------------------------------ before, decide

    def _before(self, prepared: PreparedCall) -> BeforeCall:
        hooks = self._services.hooks()
        if hooks is None:
            return UNCHANGED
        before = hooks.before(prepared, self._cancel)
        self._note(before.notes)
        self._stop(before.stop)
        return before

    def _prepare_again(self, call: ToolCall, given: Json) -> PreparedCall:
        """Input that a hook or the host changed is completed and validated like the model's."""
        return self._toolbox.prepare(self._toolbox.complete_for_host(replace(call, input=given)))

    def _decide(self, prepared: PreparedCall, before: BeforeCall) -> tuple[PreparedCall, Decision]:
        """Combine the decisions of gate and hooks."""
        if not prepared.spec.gated:
            return prepared, ALLOWED
        decision = self._named(self._services.gate.decide(prepared.call, prepared.spec))
        return prepared.at(decision.judged), _combined(decision, before.decision)

    def _named(self, decision: Decision) -> Decision:
        """The decision, with the right name for who asks."""
        if self._asker == CLAUDE or not decision.message.startswith(f"{CLAUDE} "):
            return decision
        return replace(decision, message=self._asker + decision.message.removeprefix(CLAUDE))

    # ------------------------------------------------------------ ask

    def _permit(self, judged: JudgedCall) -> PreparedCall | ToolFinished:
        """The call to run, or the result of a call that does not run."""
        call, prepared, decision = judged.call, judged.prepared, judged.decision
        if judged.failed is not None or prepared is None:
            return failed_result(call, judged.failed or ToolFailed(f"No such tool available: {call.name}"))
        if decision.confinement is not None:
            prepared = replace(prepared, confinement=decision.confinement)
        hooks = self._services.hooks() if decision.verdict == "ask" else None
        if hooks is not None:
            decision = hooks.permission(prepared, decision, self._cancel) or decision
        if decision.verdict == "allow":
            allowed = self._allowed(prepared, decision)
            if not isinstance(allowed, ToolFinished):
                self._services.emit(by_decision(allowed.call, decision))
            return allowed
        call = prepared.call
        if decision.verdict == "ask" and self._services.asker.can_ask():
            try:
                return self._ask(prepared, decision)
            except ToolFailed as failed:  # the host's input does not fit the tool
                return failed_result(call, failed)
            except (Cancelled, HostStopped):
                raise
            except Exception as error:
                return failed_result(call, self._unexpected(call, error))
        if decision.deferred:
            self.deferred = self.deferred or call
            return failed_result(call, ToolFailed(decision.message))
        self._services.emit(CallDenied(call, decision.message, decision.reason_type, decision.reason))
        if decision.interrupts:
            raise HostStopped(call)
        return denied_result(call, decision.message)

    def batch_ended(self, results: list[ToolFinished]) -> None:
        """All calls of an answer have their results. Raises Cancelled."""
        hooks = self._services.hooks()
        if hooks is not None:
            verdict = hooks.batch_ended(results, self._cancel)
            self._note(verdict.notes)
            self._stop(verdict.stop)

    def _ask(self, prepared: PreparedCall, decision: Decision) -> PreparedCall | ToolFinished:
        call, hooks = prepared.call, self._services.hooks()
        self._report_state("requires_action")
        if hooks is not None:
            hooks.host_asked(prepared)
        answer = self._ask_host(prepared, decision)
        self._report_state("running")
        self._services.emit(by_answer(call, answer))
        if answer.verdict != "allow":
            return refusal(call, answer)
        self._update(answer.updates)
        if answer.remember:
            self._remember(prepared, answer)
        return self._with_input(prepared, answer.input)

    def _ask_host(self, prepared: PreparedCall, decision: Decision) -> Answer:
        """Ask and wait. A host that wants details reads what the call would change, and that the call still waits."""
        services, call = self._services, replace(prepared.call, input=prepared.shown_input)
        if not services.settings.host.details:
            return services.asker.ask(call, prepared.spec, decision, self._cancel, emit=services.emit)
        decision = with_rules(decision, lambda: services.gate.exact_rule_for(prepared.call, prepared.spec))
        patch = services.preview(prepared, self._cancel) if services.preview is not None else None
        with Heartbeat(services, prepared, self._cancel, waiting=True):
            return services.asker.ask(call, prepared.spec, decision, self._cancel, emit=services.emit, patch=patch)

    def _remember(self, prepared: PreparedCall, answer: Answer) -> None:
        """Keep an answer for the session, and on disk if it is to count longer."""
        services = self._services
        try:
            rules = services.gate.remember(prepared.call, prepared.spec, answer.rules)
            if answer.remember != "session" and services.save_rules is not None:
                services.save_rules(answer.remember, rules)
        except BadLine as bad:
            services.emit(Notice("approval_not_kept", f"The answer counts for this call only: {bad.message}"))
        except OSError as error:
            why = error.strerror or str(error)
            services.emit(Notice("approval_not_kept", f"The answer counts for this session only: {why}"))

    def _allowed(self, prepared: PreparedCall, decision: Decision) -> PreparedCall | ToolFinished:
        """The call that gate or hooks allow; what a hook wants besides is done."""
        if decision.updates:
            self._update(decision.updates)
        if decision.input is None:
            return prepared
        try:
            prepared = self._with_input(prepared, decision.input)
        except ToolFailed as failed:  # the hook's input does not fit the tool
            return failed_result(prepared.call, failed)
        again = self._services.gate.decide(prepared.call, prepared.spec)
        if again.verdict == "deny":  # a rule beats a hook, also for the input that the hook chose
            self._services.emit(CallDenied(prepared.call, again.message, again.reason_type, again.reason))
            return denied_result(prepared.call, again.message)
        return prepared.at(again.judged)

    def _update(self, updates: tuple[Json, ...]) -> None:
        gate, mode = self._services.gate, self._services.gate.mode()
        gate.apply(updates)
        if gate.mode() != mode:
            self._services.emit(ModeChanged(gate.mode()))

    def _with_input(self, prepared: PreparedCall, given: Json | None) -> PreparedCall:
        if given is None or given in (prepared.call.input, prepared.shown_input):
            return prepared
        return replace(self._prepare_again(prepared.call, given), confinement=prepared.confinement)

    def _report_state(self, state: Literal["running", "requires_action"]) -> None:
        if self._services.settings.host.session_states:
            self._services.emit(StateChanged(state))

    # ------------------------------------------------------------ run, after, finish

    def _run(self, prepared: PreparedCall) -> ToolOutput:
        self._cancel.check()
        self.begun.add(prepared.call.id)
        with Heartbeat(self._services, prepared, self._cancel) as heartbeat:
            context = ToolContext(
                prepared.call.id,
                self._cancel,
                spawn=self._spawn,
                launch=self._launch,
                confinement=prepared.confinement,
                show_output=self._live(prepared.call),
                expand=self._expand,
                verdict_on=lambda changed: self._verdict_on(prepared, changed),
                report=heartbeat.report,
            )
            output = self._toolbox.run(prepared, context)
        self._go_on()
        return output

    def _go_on(self) -> None:
        """Raise Cancelled in a call that was abandoned: hooks, modes and rules do not learn what it did."""
        if self._abandoned:
            raise Cancelled

    def _live(self, call: ToolCall) -> Callable[[str, int], None] | None:
        """What shows the output of a running command, if the host wants it."""
        services = self._services
        if not services.settings.host.details:
            return None

        def show(text: str, dropped: int) -> None:
            services.emit(ToolOutputAdded(call, text, dropped))

        return show

    def _expand(self, file: PromptFile, arguments: str) -> str:
        from yume_shim.engine.command_expansion import expand

        return expand(self._services, file, arguments, self._cancel)

    def _verdict_on(self, prepared: PreparedCall, changed: Json) -> str:
        call = replace(prepared.call, input={**prepared.call.input, **changed})
        return self._services.gate.decide(call, prepared.spec).verdict

    def _after(self, prepared: PreparedCall, output: ToolOutput) -> ToolOutput:
        hooks = self._services.hooks()
        if hooks is None:
            return output
        after = hooks.after(prepared, output, self._cancel)
        self._note(after.notes)
        self._stop(after.stop)
        return output if after.output is output else self._clean(prepared.call, after.output)

    def _after_failure(self, prepared: PreparedCall, finished: ToolFinished) -> ToolFinished:
        finished = self._clean_failure(finished)
        if self._services.hooks() is None:
            return finished
        failure = ToolOutput(finished.result.content, finished.structured, is_error=True)
        after = self._after(prepared, failure)
        if after is failure:
            return finished
        result = ToolResult(finished.call.id, after.content, after.is_error)
        return ToolFinished(finished.call, result, after.structured)

    def _clean(self, call: ToolCall, output: ToolOutput) -> ToolOutput:
        """Repair mojibake and remove keys, as the settings say."""
        settings = self._services.settings
        if settings.tools.repair_mojibake and isinstance(output.content, str):
            output = replace(output, content=repair_mojibake(output.content))
        if settings.credentials.redact_output:
            output, count = scrub(output, self._services.secrets)
            if count:
                self._services.log("warning", f"{count} key(s) redacted from the output of {call.name}")
        return output

    def _clean_failure(self, finished: ToolFinished) -> ToolFinished:
        """Remove keys: what a failed command printed is in its message."""
        output = ToolOutput(finished.result.content, finished.structured)
        clean = self._clean(finished.call, output)
        if clean is output:
            return finished
        return replace(finished, result=replace(finished.result, content=clean.content), structured=clean.structured)

    def _clean_text(self, call: ToolCall, text: str) -> str:
        cleaned = self._clean(call, ToolOutput(text)).content if text else ""
        return cleaned if isinstance(cleaned, str) else ""

    def _finish(self, call: ToolCall, output: ToolOutput, took: int) -> ToolFinished:
        self._change_mode(output.mode)
        result = ToolResult(call.id, output.content, output.is_error)
        if output.todos is not None and self._services.settings.host.details:
            self._services.emit(TodosChanged(output.todos))
        return ToolFinished(call, result, output.structured, duration_ms=took, patch=output.patch, notes=output.notes)

    def _change_mode(self, mode: str) -> None:
        """Apply the mode that a tool sets: only to enter or leave plan mode, and not if the host's answer has changed
        the mode already."""
        gate = self._services.gate
        if mode and gate.mode() != mode and "plan" in (mode, gate.mode()):
            gate.set_mode(mode)
            self._services.emit(ModeChanged(gate.mode()))

    def _note(self, notes: tuple[str, ...]) -> None:
        for note in notes:
            self._services.emit(NoteAdded(note, counts=False))
        self.notes.extend(notes)

    def _stop(self, reason: str | None) -> None:
        if reason is not None and self.stopped is None:
            self.stopped = reason

    def _unexpected(self, call: ToolCall, error: Exception) -> ToolFailed:
        self._services.log("error", f"tool {call.name} failed unexpectedly: {type(error).__name__}: {error}")
        return ToolFailed(f"{call.name} failed unexpectedly: {type(error).__name__}: {error}")


def _combined(decision: Decision, hooked: Decision | None) -> Decision:
    """A denial by the gate wins. A hook may refuse or ask in every mode; what it allows is not asked about, unless a
    rule asks. Where both allow, the gate's decision counts: it may confine a command."""
    if hooked is None or decision.verdict == "deny":
        return decision
    if hooked.verdict == "allow" and (decision.verdict == "allow" or decision.reason_type == "rule"):
        return decision
    return hooked


def with_rules(decision: Decision, exact: Callable[[], Json]) -> Decision:
    """The decision with a rule among its suggestions: without one, that for the very same call."""
    if any(update["type"] == "addRules" for update in decision.suggestions):
        return decision
    return replace(decision, suggestions=(*decision.suggestions, exact()))
