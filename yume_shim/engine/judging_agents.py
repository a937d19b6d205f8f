"""Asks a model that may use tools, beside the conversation: a child loop that shows nothing and asks nobody."""

from __future__ import annotations

from yume_shim.engine.children import AGENT_TOOLS, Children
from yume_shim.types.child_texts import failure_text
from yume_shim.types.children import ChildRequest
from yume_shim.types.errors import BadInvocation, HostStopped, ToolFailed
from yume_shim.types.events import Notice, Retrying
from yume_shim.types.outputs import Answer
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.engine.conversation import Conversation
    from yume_shim.types.blocks import ToolCall
    from yume_shim.types.child import Child
    from yume_shim.types.events import Denial, Event
    from yume_shim.types.models import ModelSpec, ToolSpec
    from yume_shim.types.outputs import Decision
    from yume_shim.types.ports import Cancel, ChildOutput, Emit, Hooks

MAX_REQUESTS = 50
"""Requests of one agent; its time limit usually ends it before."""
AGENT_TYPE = "hook-agent"
NOBODY = "The agent of a hook may only do what needs no permission."


class JudgingAgents:
    """Used on the threads of hooks. `resolve` finds a model by its name."""

    def __init__(self, conversation: Conversation, resolve: Callable[[str], ModelSpec]) -> None:
        self._conversation, self._resolve = conversation, resolve

    def ask(self, system: str, text: str, model: str, cancel: Cancel) -> str:
        """The agent's last text; "" for `model` means the session's. Raises ToolFailed (`before_run` if it could not be
        started) or Cancelled."""
        conversation = self._conversation
        try:
            spec = self._resolve(model) if model else conversation.models.current()
        except BadInvocation as error:
            raise ToolFailed(error.message, before_run=True) from None
        services = replace(
            conversation.services,
            open_child=self._output,
            open_tasks=None,
            agent_types=None,
            asker=_Nobody(),
            hooks=self._hooks,
        )
        request = ChildRequest(
            text,
            AGENT_TYPE,
            system_prompt=system,
            without_tools=AGENT_TOOLS,
            max_turns=MAX_REQUESTS,
            permission_mode="dontAsk",
        )
        denied: list[Denial] = []
        try:
            result = Children(services, conversation, spec, 0, denied).run(request, AGENT_TYPE, cancel)
        except ToolFailed as failed:  # it was not started
            raise ToolFailed(failed.message, before_run=True) from None
        except HostStopped:
            raise ToolFailed("the agent was stopped") from None
        if why := failure_text(result):
            raise ToolFailed(why)
        return result.text

    def _hooks(self) -> Hooks | None:
        found = self._conversation.services.hooks()
        return None if found is None else found.for_judge()

    def _output(self, child: Child) -> ChildOutput:
        return _Unseen(self._conversation.services.emit)


class _Unseen:
    """Implements `types.ports.ChildOutput`: passes on retries and notices only."""

    transcript = ""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit

    def emit(self, event: Event) -> str:
        return self._emit(event) if isinstance(event, (Retrying, Notice)) else ""

    def close(self) -> None:
        pass


class _Nobody:
    """Implements `types.ports.Asker`: what needs a permission is refused."""

    def can_ask(self) -> bool:
        return False

    def ask(
        self, call: ToolCall, spec: ToolSpec, decision: Decision, cancel: Cancel, *, emit: Emit | None = None
    ) -> Answer:
        return Answer("deny", message=NOBODY)
