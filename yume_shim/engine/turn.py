"""One turn: a loop for one prompt, with exactly one TurnEnded at its end."""

from __future__ import annotations

from yume_shim.engine.loop import Loop
from yume_shim.types.events import Interrupted, TurnEnded, TurnFailed
from yume_shim.types.shapes import interrupt_marker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from yume_shim.engine.conversation import Conversation
    from yume_shim.engine.services import EngineServices
    from yume_shim.types.commands import UserInput
    from yume_shim.types.events import InterruptReason, Phase, SessionInfo, StoppedBy
    from yume_shim.types.ports import Cancel
    from yume_shim.types.tasks import TaskOrigin


SHOWN = ("stop_prevented", "provider_error", "auth_error")
"""Outcomes besides success whose result holds what the model said."""


class Turn:
    """Runs once, on the session's thread. `inject` returns the prompts that join the turn (True: the model has finished
    otherwise), `reason` says why the cancel signal was set."""

    def __init__(
        self,
        services: EngineServices,
        conversation: Conversation,
        info: SessionInfo,
        cancel: Cancel,
        inject: Callable[[bool], Sequence[UserInput]],
        reason: Callable[[], InterruptReason],
    ) -> None:
        self._services, self._conversation, self._info = services, conversation, info
        self._cancel, self._inject, self._reason = cancel, inject, reason

    def run(self, user_uuids: tuple[str, ...] = (), origin: TaskOrigin | None = None) -> TurnEnded:
        """Run the whole turn; never raises. Returns its end after emitting it."""
        services, conversation = self._services, self._conversation
        begun = services.clock.monotonic()
        loop = Loop(
            services,
            conversation,
            self._cancel,
            interrupted=self._interrupted,
            reason=self._reason,
            max_turns=services.settings.limits.max_turns,
            inject=self._inject,
        )
        end = loop.run()
        if end.failure is not None:
            services.emit(TurnFailed(end.failure))
            if (hooks := services.hooks()) is not None and end.outcome in ("provider_error", "auth_error"):
                hooks.failed(end.failure, loop.text, self._cancel)
        outcome = end.outcome
        if outcome == "cancelled" and self._reason() == "priority":
            outcome = "success"  # the host's next prompt took over: nothing went wrong
        stopped_by: StoppedBy = end.stopped_by
        limit = end.limit
        if outcome == "cancelled" and self._reason() == "deadline":
            seconds = services.settings.script.deadline
            outcome, stopped_by, limit = "execution_error", "deadline", f"Reached the deadline ({seconds:g} s)"
        shown = (outcome == "success" and end.phase == "idle") or outcome in SHOWN
        ended = TurnEnded(
            outcome=outcome,
            text=loop.text if shown else "",
            parts=loop.parts if shown else (),
            num_turns=loop.num_turns,
            duration_ms=round((services.clock.monotonic() - begun) * 1000),
            duration_api_ms=round(loop.api_seconds * 1000),
            usage=loop.usage,
            total_cost_usd=conversation.tally.total_usd(),
            model_usage=conversation.tally.by_model(),
            agent_usage=conversation.tally.by_agent(),
            denials=tuple(loop.denials),
            stop_reason=loop.stop_reason,
            failure=end.failure,
            limit=limit,
            phase=end.phase,
            structured_output=loop.structured_output,
            user_uuids=user_uuids,
            info=self._info,
            deferred=loop.deferred,
            origin=origin,
            stopped_by=stopped_by,
        )
        services.emit(ended)
        return ended

    def _interrupted(self, phase: Phase) -> str:
        """Announce the interrupt; returns the text that marks it in the history."""
        reason = self._reason()
        self._services.emit(Interrupted(reason, phase))
        return "" if reason == "priority" else interrupt_marker(phase)  # the next prompt follows at once
