"""The tool calls of one answer: one after another or side by side, each with exactly one result, in call order."""

from __future__ import annotations

from yume_shim.engine.call_pipeline import CallPipeline
from yume_shim.engine.call_results import failed_result
from yume_shim.engine.repeats import Repeats
from yume_shim.types.blocks import ToolResult
from yume_shim.types.errors import Abandoned, Cancelled, HostStopped, ToolFailed
from yume_shim.types.events import Denial, NoteAdded, ToolFinished, ToolQueued, ToolStarted
from yume_shim.types.outputs import CLAUDE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from yume_shim.engine.call_pipeline import JudgedCall
    from yume_shim.engine.services import EngineServices
    from yume_shim.types.blocks import ToolCall
    from yume_shim.types.events import InterruptReason
    from yume_shim.types.models import Stop
    from yume_shim.types.ports import Cancel, Job, Launch, Spawn

MAX_CALLS = 128
"""Calls of one answer that run."""
TOO_MANY = f"Not run: of one answer at most {MAX_CALLS} calls are run. Make this call again, in a later answer."
OVER_LIMIT = "Not run: the run has made as many tool calls as --max-tool-calls allows."


class CallRunner:
    """Runs the calls of one loop and records which were denied.

    All methods run on the loop's thread. The threads of side-by-side calls run only the pipeline; a child that one of
    them starts extends `denials` in one step."""

    def __init__(
        self,
        services: EngineServices,
        cancel: Cancel,
        spawn: Spawn | None = None,
        launch: Launch | None = None,
        *,
        asker: str = CLAUDE,
        used: Callable[[str, Cancel], tuple[str, ...]] | None = None,
        depth: int = 0,
    ) -> None:
        """`asker`: who asks for permissions, as the messages about them say. `used`: what the model reads about a file
        that a call has used. `depth`: of the loop."""
        self._services, self._cancel, self._depth = services, cancel, depth
        self._pipeline = CallPipeline(services, cancel, spawn, launch, asker=asker, used=used)
        self.repeats = Repeats(services.settings.limits, services.toolbox)
        self.denials: list[Denial] = []
        self._started: set[str] = set()
        self._outputs: dict[str, str] = {}
        """What stopped calls had put out."""
        self._abandoned: set[str] = set()
        """Stopped calls that go on all the same."""

    def run_all(
        self, calls: Sequence[ToolCall], done: list[ToolFinished], stop: Stop = "tool_calls", most: int | None = None
    ) -> None:
        """Run them, at most so many; the others get an error as result. Finished ones are added to `done` as they are
        emitted, so that an interrupt finds them there. `stop` says how the answer ended: the output limit may have cut
        the last call. Raises Cancelled or HostStopped; the caller then closes the calls that have no result."""
        limit, why = (MAX_CALLS, TOO_MANY) if most is None or most > MAX_CALLS else (most, OVER_LIMIT)
        rest, too_many = list(calls[:limit]), calls[limit:]
        if self._services.settings.host.details:
            for call in calls[1:]:
                self._services.emit(ToolQueued(call))
        if too_many:
            self._run_calls(rest, done)
            for call in too_many:
                self._start(call)
                self._add(failed_result(call, ToolFailed(why)), done)
            return
        if rest and rest[-1].stopped:  # its answer ended with it, so it is the last
            self._run_calls(rest[:-1], done)
            self._start(rest[-1])
            self._finish(failed_result(rest[-1], ToolFailed(rest[-1].stopped)), done)
            return
        cut = self.repeats.cut(rest, stop)
        if cut is not None:
            self._run_calls(rest[:-1], done)
            self._start(rest[-1])
            self._add(failed_result(rest[-1], cut), done)
        else:
            self._run_calls(rest, done)

    def _run_calls(self, rest: list[ToolCall], done: list[ToolFinished]) -> None:
        while rest:
            self._cancel.check()
            group, waiting = self._side_by_side(rest)
            if len(group) > 1:
                self._run_group(group, done)
            elif group:
                self._run_single(rest[0], group[0], done)
            del rest[: len(group)]
            if waiting is not None or not group:
                self._cancel.check()
                self._run_single(rest.pop(0), waiting, done)

    @property
    def stopped(self) -> str | None:
        """Why hooks end the turn; None = they do not."""
        return self._pipeline.stopped

    @property
    def deferred(self) -> ToolCall | None:
        """The call that a hook has left to the host."""
        return self._pipeline.deferred

    def batch_ended(self, done: list[ToolFinished]) -> None:
        """All calls of an answer have their results. Raises Cancelled."""
        self._pipeline.batch_ended(done)

    def take_notes(self) -> list[str]:
        """Remove and return the notes that hooks added for the model, and the instructions about files that were
        used."""
        notes, self._pipeline.notes = self._pipeline.notes, []
        instructions, self._pipeline.instructions = self._pipeline.instructions, []
        for text in instructions:
            self._services.emit(NoteAdded(text, counts=False, hidden=True))
        return notes + instructions

    def close_stopped(self, call: ToolCall, done: list[ToolFinished], reason: InterruptReason) -> None:
        """Close a call that an interrupt kept from running or from finishing."""
        from yume_shim.engine.stopped_calls import stopped_text

        if call.id not in self._started:
            self._start(call)
        ran, runs_on = call.id in self._pipeline.begun, call.id in self._abandoned
        text = stopped_text(reason, ran=ran, runs_on=runs_on, output=self._outputs.pop(call.id, ""))
        result = ToolResult(call.id, text, is_error=True)
        self._add(ToolFinished(call, result, "User rejected tool use"), done)

    def _start(self, call: ToolCall) -> None:
        self._started.add(call.id)
        self._services.emit(ToolStarted(call))

    def _finish(self, finished: ToolFinished, done: list[ToolFinished]) -> None:
        if finished.denied:
            self._deny(finished.call)
        self._add(self.repeats.judge(finished), done)

    def _add(self, finished: ToolFinished, done: list[ToolFinished]) -> None:
        self._services.emit(finished)
        done.append(finished)
        for note in finished.notes:
            self._services.emit(NoteAdded(note, counts=False))

    def _deny(self, call: ToolCall) -> None:
        self.denials.append(Denial(call.name, call.id, self._pipeline.shown_input(call)))

    def _run_single(self, call: ToolCall, judged: JudgedCall | None, done: list[ToolFinished]) -> None:
        self._start(call)
        judged = judged or self._judge(call)
        try:
            finished = self._result(call, self._begin(judged))
        except HostStopped as stopped:
            if stopped.call is not None:
                self._deny(stopped.call)
            raise
        except Cancelled as stopped:
            self._outputs[call.id] = stopped.output
            if judged.asks and call.id not in self._pipeline.begun:  # the question was not answered
                self._deny(call)
            raise
        self._finish(finished, done)

    # ------------------------------------------------------------ side by side

    def _side_by_side(self, calls: Sequence[ToolCall]) -> tuple[list[JudgedCall], JudgedCall | None]:
        """First: the calls at the head of the list that may run at once, because their tools allow it and the host need
        not be asked. Second: the call after them, if it was judged already and the host must be asked."""
        group: list[JudgedCall] = []
        limit = self._services.settings.tools.concurrency
        for call in calls[:limit] if limit > 1 else ():
            spec = self._services.toolbox.find(call.name)
            if spec is None or not spec.parallel or call.broken is not None:
                break
            judged = self._judge(call)
            if judged.asks:
                return group, judged
            group.append(judged)
        return group, None

    def _run_group(self, group: list[JudgedCall], done: list[ToolFinished]) -> None:
        """Run them at once. Results are emitted in call order, whichever is ready first."""
        jobs: list[Job] = []
        for judged in group:
            self._start(judged.call)
            jobs.append(self._begin(judged))
        failed: Exception | None = None
        for judged, job in zip(group, jobs, strict=True):
            try:
                finished = self._result(judged.call, job)
            except Exception as stopped:  # raised when all have ended
                self._outputs[judged.call.id] = stopped.output if isinstance(stopped, Cancelled) else ""
                failed = failed or stopped
            else:
                self._finish(finished, done)  # also after another one was stopped: this call did its work
        if failed is not None:
            raise failed

    # ------------------------------------------------------------ calls that do not stop

    def _judge(self, call: ToolCall) -> JudgedCall:
        judged: JudgedCall = self._result(call, self._job(call, lambda: self._pipeline.judge(call)))
        return judged

    def _begin(self, judged: JudgedCall) -> Job:
        return self._job(judged.call, lambda: self._pipeline.complete(judged))

    def _job(self, call: ToolCall, work: Callable[[], object]) -> Job:
        return self._cancel.job(work, f"tool-{call.name}", self._depth, self._services.output_blocked)

    def _result(self, call: ToolCall, job: Job) -> Any:
        """What became of it. A call that goes on although it was stopped is abandoned: from then on nothing that the
        calls of this loop do is shown or kept."""
        try:
            return job.result()
        except Abandoned:
            from yume_shim.engine.abandonment import report_abandoned

            self._abandoned.add(call.id)
            self._pipeline.abandon()
            report_abandoned(self._services, f"The call of {call.name}")
            raise
