"""Tool calls, from the model's wish to the one result each of them gets: check, permission, run, result."""

from __future__ import annotations

import threading

from yume_shim.engine.scrub import scrub
from yume_shim.text.clean import repair_mojibake
from yume_shim.types.blocks import ToolResult
from yume_shim.types.errors import Cancelled, ToolFailed
from yume_shim.types.events import (
    CallDenied,
    Denial,
    ModeChanged,
    StateChanged,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from yume_shim.types.outputs import ToolContext
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from yume_shim.engine.services import EngineServices
    from yume_shim.engine.structured import StructuredOutput
    from yume_shim.types.blocks import ToolCall
    from yume_shim.types.models import ToolSpec
    from yume_shim.types.outputs import Answer, Decision, ToolOutput
    from yume_shim.types.ports import Cancel

JOIN_SECONDS = 5.0
"""How long a stopped side-by-side call may take to give up its thread."""

REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected: nothing it would have done was "
    "kept. STOP what you are doing and wait for the user to tell you how to proceed."
)


class HostSaidStop(Exception):
    """The host denied a call and asked to stop the turn with it."""


class CallRunner:
    """Runs the calls of one turn and remembers what was denied."""

    def __init__(self, services: EngineServices, cancel: Cancel, structured: StructuredOutput | None = None) -> None:
        self._services = services
        self._cancel = cancel
        self._structured = structured
        self.denials: list[Denial] = []
        self._started: set[str] = set()

    def run_all(self, calls: Sequence[ToolCall], done: list[ToolFinished]) -> None:
        """Run them; finished ones are added to `done` as they are emitted, so that an interrupt finds them there.
        Raises Cancelled or HostSaidStop; calls without a result then are the caller's to close."""
        rest = list(calls)
        while rest:
            group = self._side_by_side(rest)
            if len(group) > 1:
                self._run_group(group, done)
            else:
                self._cancel.check()
                self._start(group[0])
                self._finish(self._run_one(group[0]), done)
            del rest[: len(group)]

    def reject(self, call: ToolCall, done: list[ToolFinished]) -> None:
        """Close a call that an interrupt kept from running or from finishing."""
        if call.id not in self._started:
            self._start(call)
        result = ToolResult(call.id, REJECTED, is_error=True)
        self._finish(ToolFinished(call, result, "User rejected tool use"), done)

    def _start(self, call: ToolCall) -> None:
        self._started.add(call.id)
        self._services.emit(ToolStarted(call))

    def _finish(self, finished: ToolFinished, done: list[ToolFinished]) -> None:
        if finished.denied:
            self.denials.append(Denial(finished.call.name, finished.call.id, finished.call.input))
        self._services.emit(finished)
        done.append(finished)

    # ------------------------------------------------------------ side by side

    def _side_by_side(self, calls: Sequence[ToolCall]) -> list[ToolCall]:
        """The longest head of the list that may run at once: calls that only look, and need no question."""
        limit = self._services.settings.tools.concurrency
        group: list[ToolCall] = []
        for call in calls[:limit]:
            spec = self._services.toolbox.find(call.name)
            if spec is None or not spec.parallel or call.broken is not None:
                break
            if self._services.gate.decide(call, spec).verdict == "ask":
                break
            group.append(call)
        return group or [calls[0]]

    def _run_group(self, group: list[ToolCall], done: list[ToolFinished]) -> None:
        """Results are emitted in call order, whichever is ready first."""
        self._cancel.check()
        results: dict[str, ToolFinished | BaseException] = {}

        def work(call: ToolCall) -> None:
            try:
                results[call.id] = self._run_one(call)
            except BaseException as error:  # handed to the turn's own thread, which raises it
                results[call.id] = error

        threads = []
        for call in group:
            self._start(call)
            threads.append(threading.Thread(target=work, args=(call,), daemon=True, name=f"tool-{call.name}"))
            threads[-1].start()
        for call, thread in zip(group, threads, strict=True):
            while thread.is_alive() and not self._cancel.is_set():
                thread.join(0.05)
            thread.join(JOIN_SECONDS)
            outcome = results.get(call.id, Cancelled())
            if isinstance(outcome, BaseException):
                raise outcome
            self._finish(outcome, done)

    # ------------------------------------------------------------ one call

    def _run_one(self, call: ToolCall) -> ToolFinished:
        begun = self._services.clock.monotonic()
        try:
            if self._structured is not None and call.name == self._structured.spec.name:
                text = self._structured.take(call)
                return ToolFinished(call, ToolResult(call.id, text), text)
            self._services.toolbox.check(call)
            refused, call = self._permit(call)
            if refused is not None:
                return refused
            with _Heartbeat(self._services, call):
                output = self._services.toolbox.run(call, ToolContext(call.id, self._cancel))
        except ToolFailed as failed:
            return _failed(call, failed)
        except (Cancelled, HostSaidStop):
            raise
        except Exception as error:
            self._services.log("error", f"tool {call.name} broke: {type(error).__name__}: {error}")
            return _failed(call, ToolFailed(f"{call.name} failed unexpectedly: {type(error).__name__}: {error}"))
        took = round((self._services.clock.monotonic() - begun) * 1000)
        output = self._scrubbed(call, self._mended(output))
        self._change_mode(output.mode)
        result = ToolResult(call.id, output.content, output.is_error)
        return ToolFinished(call, result, output.structured, duration_ms=took)

    def _change_mode(self, mode: str) -> None:
        """Plan mode begins and ends by tools; an end is void if the host's answer has set another mode already."""
        gate = self._services.gate
        if mode and gate.mode() != mode and "plan" in (mode, gate.mode()):
            gate.set_mode(mode)
            self._services.emit(ModeChanged(gate.mode()))

    def _mended(self, output: ToolOutput) -> ToolOutput:
        """Text that was decoded wrongly somewhere on its way is put right, where the user wants that."""
        if not self._services.settings.tools.repair_mojibake or not isinstance(output.content, str):
            return output
        return replace(output, content=repair_mojibake(output.content))

    def _scrubbed(self, call: ToolCall, output: ToolOutput) -> ToolOutput:
        if not self._services.settings.credentials.redact_output:
            return output
        output, count = scrub(output, self._services.secrets)
        if count:
            self._services.log("warning", f"{count} key(s) redacted from the output of {call.name}")
        return output

    def _permit(self, call: ToolCall) -> tuple[ToolFinished | None, ToolCall]:
        """(None, the call to run), or (its refusal, the call)."""
        spec = self._services.toolbox.find(call.name)
        if spec is None:
            return _failed(call, ToolFailed(f"No such tool available: {call.name}", before_run=True)), call
        decision = self._services.gate.decide(call, spec)
        if decision.verdict == "allow":
            return None, call
        if decision.verdict == "ask" and self._services.asker.can_ask():
            return self._ask(call, spec, decision)
        self._services.emit(CallDenied(call, decision.message, decision.reason_type, decision.reason))
        return _denied(call, decision.message), call

    def _ask(self, call: ToolCall, spec: ToolSpec, decision: Decision) -> tuple[ToolFinished | None, ToolCall]:
        self._tell_state("requires_action")
        answer = self._services.asker.ask(call, decision, self._cancel)
        self._tell_state("running")
        if answer.verdict == "allow":
            gate, mode = self._services.gate, self._services.gate.mode()
            gate.apply(answer.updates)
            if answer.remember:
                gate.apply((gate.exact_rule_for(call, spec),))
            if gate.mode() != mode:
                self._services.emit(ModeChanged(gate.mode()))
            if answer.input is not None and answer.input != call.input:
                call = self._services.toolbox.complete(replace(call, input=answer.input))
                self._services.toolbox.check(call)
            return None, call
        return self._refusal(call, answer), call

    def _tell_state(self, state: Literal["running", "requires_action"]) -> None:
        if self._services.settings.host.session_states:
            self._services.emit(StateChanged(state))

    def _refusal(self, call: ToolCall, answer: Answer) -> ToolFinished:
        match answer.verdict:
            case "deny":
                if answer.interrupt:
                    self.denials.append(Denial(call.name, call.id, call.input))
                    raise HostSaidStop
                text = answer.message or "The host denied this tool use."
            case "timeout":
                text = f"Nobody answered the permission request for {call.name} in time, so it was not run."
            case "closed":
                text = (
                    "Tool permission request failed: AbortError: Tool permission stream closed before response received"
                )
            case _:
                text = f"Tool permission request failed: Error: {answer.message}"
        return _denied(call, text)


class _Heartbeat:
    """Tells at a fixed interval that a tool still runs. The timer thread starts only for tools that may take long."""

    def __init__(self, services: EngineServices, call: ToolCall) -> None:
        self._services = services
        self._call = call
        self._stop = threading.Event()
        self._telling = threading.Lock()

    def __enter__(self) -> None:
        spec = self._services.toolbox.find(self._call.name)
        if spec is not None and spec.kind in ("shell", "other"):
            self._begun = self._services.clock.monotonic()
            threading.Thread(target=self._beat, daemon=True, name="heartbeat").start()

    def __exit__(self, *_: object) -> None:
        with self._telling:  # no heartbeat may come after the call's result
            self._stop.set()

    def _beat(self) -> None:
        while not self._stop.wait(self._services.settings.limits.timeouts.tool_heartbeat):
            elapsed = round((self._services.clock.monotonic() - self._begun) * 1000)
            with self._telling:
                if not self._stop.is_set():
                    self._services.emit(ToolProgress(self._call, elapsed))


def _failed(call: ToolCall, failed: ToolFailed) -> ToolFinished:
    """Failures found before running are wrapped, as clients of the Claude CLI know them."""
    text = f"<tool_use_error>{failed.message}</tool_use_error>" if failed.before_run else failed.message
    structured = failed.structured or f"Error: {failed.message}"
    return ToolFinished(call, ToolResult(call.id, text, is_error=True), structured)


def _denied(call: ToolCall, message: str) -> ToolFinished:
    return ToolFinished(call, ToolResult(call.id, message, is_error=True), f"Error: {message}", denied=True)
