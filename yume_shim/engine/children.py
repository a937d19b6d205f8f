"""Runs child loops: a tool hands a task to another loop of the same engine, below its call.

A child has its own history, tools, model, cancel signal and transcript; it shares the tally, the budget, the gate and
the approvals of its parent. Its events carry the id of the parent's call. It runs on the thread of that call.
"""

from __future__ import annotations

from yume_shim.engine.cancel import CancelSignal
from yume_shim.engine.conversation import Conversation
from yume_shim.engine.loop import Loop
from yume_shim.types.blocks import Message, Text
from yume_shim.types.children import Child, ChildResult
from yume_shim.types.errors import Cancelled, HostStopped, ToolFailed
from yume_shim.types.events import NoteAdded, PromptTaken
from yume_shim.types.shapes import interrupt_marker
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.engine.services import EngineServices
    from yume_shim.types.children import ChildRequest
    from yume_shim.types.events import Denial
    from yume_shim.types.models import ModelSpec
    from yume_shim.types.ports import Cancel, Hooks

MAX_DEPTH = 3
"""How deep children may start children."""


def run_child(
    services: EngineServices,
    parent: Conversation,
    request: ChildRequest,
    call_id: str,
    cancel: Cancel,
    *,
    spec: ModelSpec,
    depth: int,
    denials: list[Denial],
) -> ChildResult:
    """Run a child to its end. `spec` is the parent's model; calls denied inside are added to `denials`.

    Raises ToolFailed if it may not start, Cancelled if the parent was interrupted, HostStopped if the host stopped the
    turn with a denial. A failing provider or a limit is a ChildResult: the parent continues.
    """
    if services.open_child is None or depth > MAX_DEPTH:
        raise ToolFailed(f"No agent can be started here: agents may be nested {MAX_DEPTH} deep at most.")
    begun = services.clock.monotonic()
    agent_id = services.ids.uuid().replace("-", "")[-16:]
    child = Child(agent_id, call_id, request.agent_type, request.description, services.agent_id)
    output = services.open_child(child)
    try:
        toolbox = services.toolbox if request.tools is None else services.toolbox.limited_to(request.tools)
        hooks = _hooks_for(services.hooks, agent_id, request.agent_type)
        services = replace(services, emit=output.emit, toolbox=toolbox, agent_id=agent_id, hooks=hooks)
        conversation = _conversation(services, parent, request, spec)
        own_cancel = CancelSignal()
        with cancel.guard(own_cancel.set):
            _begin(services, conversation, own_cancel)
        loop = Loop(
            services,
            conversation,
            own_cancel,
            interrupted=interrupt_marker,
            max_turns=request.max_turns,
            depth=depth,
        )
        with cancel.guard(own_cancel.set):
            end = loop.run()
        denials += loop.denials
    finally:
        output.close()
    if end.outcome == "cancelled":
        raise Cancelled if cancel.is_set() else HostStopped(None)
    return ChildResult(
        agent_id=agent_id,
        outcome=end.outcome,
        text=loop.text,
        requests=loop.requests,
        tool_calls=loop.tool_calls,
        usage=loop.usage,
        duration_ms=round((services.clock.monotonic() - begun) * 1000),
        failure=end.failure,
        limit=end.limit,
    )


def _hooks_for(hooks: Callable[[], Hooks | None], agent_id: str, agent_type: str) -> Callable[[], Hooks | None]:
    """The hooks as they are at each moment, with the child's name in what they are given."""

    def get() -> Hooks | None:
        found = hooks()
        return None if found is None else found.for_agent(agent_id, agent_type)

    return get


def _begin(services: EngineServices, conversation: Conversation, cancel: Cancel) -> None:
    """Run the hooks of the child's start; their texts go to its model with its prompt."""
    hooks, history = services.hooks(), conversation.history
    for note in () if hooks is None else hooks.agent_started(cancel):
        services.emit(NoteAdded(note, counts=False))
        history[0] = replace(history[0], blocks=(*history[0].blocks, Text(note)))


def _conversation(
    services: EngineServices, parent: Conversation, request: ChildRequest, spec: ModelSpec
) -> Conversation:
    """The child's conversation, with its prompt as the first message."""
    child = Conversation(services, request.model or spec, parent.session_id, parent=parent)
    options = parent.options.get()
    system = options.system_prompt if request.system_prompt is None else request.system_prompt
    append = options.append_system_prompt if request.system_prompt is None else ""
    child.options.change(system_prompt=system, append_system_prompt=append, schema=None)
    child.prepare()
    message = Message("user", (Text(request.prompt),))
    services.emit(PromptTaken(message, request.prompt))  # stored before the first request
    child.history.append(message)
    return child
