"""Runs child loops: a tool hands a task to another loop of the same engine, below its call.

A child has its own history, tools, model, cancel signal and transcript; it shares the tally, the budget, the gate and
the approvals of its parent. Its events carry the id of the parent's call. It runs on the thread of that call, or in the
background on a thread of its own. The registry of tasks reports its start, its progress and its end.
"""

from __future__ import annotations

from yume_shim.engine.cancel import CancelSignal
from yume_shim.engine.child_reports import ChildReports, end_of
from yume_shim.engine.conversation import Conversation
from yume_shim.engine.loop import Loop
from yume_shim.types.blocks import Message, Text
from yume_shim.types.child import Child
from yume_shim.types.child_texts import message_text
from yume_shim.types.children import ChildLaunched, ChildResult
from yume_shim.types.commands import UserInput
from yume_shim.types.errors import Cancelled, HostStopped, ToolFailed
from yume_shim.types.events import NoteAdded, PromptTaken
from yume_shim.types.shapes import interrupt_marker
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.engine.loop import LoopEnd
    from yume_shim.engine.services import EngineServices
    from yume_shim.engine.toolbox import Toolbox
    from yume_shim.types.children import ChildRequest
    from yume_shim.types.events import Denial
    from yume_shim.types.models import ModelSpec
    from yume_shim.types.ports import Cancel, Hooks, Task
    from yume_shim.types.tasks import TaskEnd

MAX_DEPTH = 3
"""How deep children may start children."""
MAX_RUNNING = 32
"""Children of a session that may run at the same time."""
AGENT_TOOLS = ("Agent", "Task")
FOR_THE_MAIN_LOOP = ("SendMessage", "AskUserQuestion", "EnterPlanMode", "ExitPlanMode")
"""Tools that a child is not offered: they are a conversation with the user, or with the children of the session."""


class Children:
    """Starts the children of one loop. Its methods run on the threads of calls; it changes nothing after it is made."""

    def __init__(
        self,
        services: EngineServices,
        parent: Conversation,
        spec: ModelSpec,
        depth: int,
        denials: list[Denial],
    ) -> None:
        """`spec` is the parent's model; calls denied inside children are added to `denials`."""
        self._services, self._parent, self._spec = services, parent, spec
        self._depth, self._denials = depth + 1, denials

    def run(self, request: ChildRequest, call_id: str, cancel: Cancel) -> ChildResult:
        """Implements `types.ports.Spawn`: run a child to its end.

        Raises ToolFailed if it may not start, Cancelled if the parent was interrupted, HostStopped if the host stopped
        the turn with a denial. A failing provider or a limit is a ChildResult: the parent continues."""
        run = self._open(request, call_id, background=False)
        task = run.reports.task
        own_cancel = CancelSignal(cancel)
        try:
            with cancel.guard(own_cancel.set):
                if task is None:
                    result = run.finish(own_cancel)
                else:
                    with task.cancel.guard(own_cancel.set):
                        result = run.finish(own_cancel)
        except BaseException:
            run.reports.stopped()
            raise
        run.reports.ended(result)
        if result.outcome == "cancelled":
            raise Cancelled if cancel.is_set() else HostStopped(None)
        return result

    def launch(self, request: ChildRequest, call_id: str, cancel: Cancel) -> ChildLaunched:
        """Implements `types.ports.Launch`: run a child in the background."""
        run = self._open(request, call_id, background=True)
        task = run.reports.task
        if task is None or self._services.open_tasks is None:
            run.close()
            raise ToolFailed("No agent can run in the background here.")
        tasks = self._services.open_tasks()
        if cancel.is_set():  # the interrupt came before the task was registered, so it was not stopped with the others
            tasks.mark_seen(run.child.agent_id)
            run.reports.stopped()
            run.close()
            raise Cancelled
        launched = ChildLaunched(run.child.agent_id, run.spec.id, run.transcript)

        def work(task: Task) -> TaskEnd:
            own_cancel = CancelSignal(task.cancel)
            with task.cancel.guard(own_cancel.set):
                result = run.finish(own_cancel)
            return end_of(result, run.child, run.reports.unread)

        tasks.launch(task, work)
        return launched

    def _open(self, request: ChildRequest, call_id: str, *, background: bool) -> _Run:
        services = self._services
        if services.open_child is None or self._depth > MAX_DEPTH:
            raise ToolFailed(f"No agent can be started here: agents may be nested {MAX_DEPTH} deep at most.")
        allowed = services.agent_types
        if allowed is not None and request.agent_type not in allowed:
            raise ToolFailed(f"This agent may only start these agents: {', '.join(allowed) or 'none'}")
        if services.open_tasks is not None:
            running = sum(task.ended is None and task.facts.depth > 0 for task in services.open_tasks().all())
            if running >= MAX_RUNNING:
                raise ToolFailed(f"{running} agents run already, and no more may: wait until one has ended.")
        spec = self._model(request)
        agent_id = request.agent_id or "a" + services.ids.uuid().replace("-", "")[-16:]
        child = Child(
            agent_id,
            request.begun_by or call_id,
            request.agent_type,
            request.description,
            services.agent_id,
            provider=spec.endpoint.name,
            depth=self._depth,
            background=background or services.in_background,
            leaf=request.leaf,
        )
        return _Run(services, self._parent, child, request, spec, self._denials, call_id)

    def _model(self, request: ChildRequest) -> ModelSpec:
        if request.model is None:
            return self._spec
        if request.same_provider and request.model.endpoint.base_url != self._spec.endpoint.base_url:
            names = f"{request.agent_type} runs on {self._spec.id}, not on {request.model.id}"
            self._services.log("warning", f"agent {names}: an untrusted folder may not choose another provider")
            return self._spec
        return request.model


class _Run:
    """One run of a child, from its first event to the end of its transcript."""

    def __init__(
        self,
        services: EngineServices,
        parent: Conversation,
        child: Child,
        request: ChildRequest,
        spec: ModelSpec,
        denials: list[Denial],
        call_id: str,
    ) -> None:
        """`call_id` is the call that made it run; `child.call_id` the one that started it first."""
        assert services.open_child is not None
        self.child, self.spec = child, spec
        self._parent, self._request, self._denials = parent, request, denials
        self._output = services.open_child(child)
        self.transcript = self._output.transcript
        self.reports = ChildReports(services, child, request.prompt, self._output, call_id)
        self._begun = services.clock.monotonic()
        self._services = replace(
            services,
            emit=self.reports.emit,
            agent_id=child.agent_id,
            agent_type=child.agent_type,
            agent_types=request.agent_types,
            in_background=child.background,
            gate=services.gate.for_agent(request.permission_mode) if request.permission_mode else services.gate,
            hooks=_hooks_for(services, child, request),
        )

    def finish(self, cancel: CancelSignal) -> ChildResult:
        """Run the loop; returns how it ended."""
        request, services = self._request, self._services
        try:
            source = None if request.own_tools is None else request.own_tools.open(cancel)
            toolbox = services.toolbox if source is None else services.toolbox.with_source(source)
            services = replace(services, toolbox=_limited(toolbox, request, self.child.depth))
            conversation = self._conversation(services)
            _begin(services, conversation, cancel)
            loop = Loop(
                services,
                conversation,
                cancel,
                interrupted=interrupt_marker,
                inject=lambda _: self._messages(services),
                max_turns=request.max_turns,
                depth=self.child.depth,
            )
            end = loop.run()
            self._denials += loop.denials
            self.reports.close_messages()
        finally:
            self.close()
        return self._result(loop, end)

    def _messages(self, services: EngineServices) -> list[UserInput]:
        """Messages that were sent to the child while it ran."""
        found = [message_text(text) for text in self.reports.take_messages()]
        for text in found:
            services.emit(NoteAdded(text, counts=False))
        return [UserInput((Text(text),), text) for text in found]

    def close(self) -> None:
        """End what lives as long as the child, and its transcript."""
        try:
            if self._request.own_tools is not None:
                self._request.own_tools.close()
        finally:
            self._output.close()

    def _result(self, loop: Loop, end: LoopEnd) -> ChildResult:
        return ChildResult(
            agent_id=self.child.agent_id,
            outcome=end.outcome,
            text=loop.text,
            requests=loop.requests,
            tool_calls=loop.tool_calls,
            usage=loop.usage,
            duration_ms=round((self._services.clock.monotonic() - self._begun) * 1000),
            failure=end.failure,
            limit=end.limit,
            last_usage=self.reports.last_usage,
            tools_used=tuple(self.reports.tools_used),
            model=self.spec.id,
            transcript=self.transcript,
        )

    def _conversation(self, services: EngineServices) -> Conversation:
        """The child's conversation, with its prompt as the last message."""
        request, parent = self._request, self._parent
        child = Conversation(
            services,
            self.spec,
            parent.session_id,
            parent.models.fallback,
            parent=parent,
            chain=request.fallback_models,
        )
        options = parent.options.get()
        system = options.system_prompt if request.system_prompt is None else request.system_prompt
        append = options.append_system_prompt if request.system_prompt is None else ""
        effort = request.effort or options.effort
        child.options.change(
            system_prompt=system,
            append_system_prompt=append,
            schema=None,
            effort=effort,
            keeps_facts=True,
            output_style="default",
        )
        child.prepare()
        if request.history:
            child.restore(request.history)
        message = Message("user", (Text(request.prompt),))
        services.emit(PromptTaken(message, request.prompt))  # stored before the first request
        child.history.append(message)
        for note in request.notes:
            _add_note(services, child, note)
        return child


def _limited(toolbox: Toolbox, request: ChildRequest, depth: int) -> Toolbox:
    """The tools of a child. One that may not start children is not offered the tool for it."""
    without = (*request.without_tools, *FOR_THE_MAIN_LOOP, *(AGENT_TOOLS if depth >= MAX_DEPTH else ()))
    return toolbox.limited_to(request.tools, without)


def _hooks_for(services: EngineServices, child: Child, request: ChildRequest) -> Callable[[], Hooks | None]:
    """The hooks as they are at each moment, with the child's name in what they are given; a child with hooks of its own
    keeps those of its start."""
    if request.hooks and services.own_hooks is not None:
        all_hooks = services.own_hooks(request.hooks, child.agent_type).for_agent(child.agent_id, child.agent_type)
        return lambda: all_hooks

    def get() -> Hooks | None:
        found = services.hooks()
        return None if found is None else found.for_agent(child.agent_id, child.agent_type)

    return get


def _begin(services: EngineServices, conversation: Conversation, cancel: Cancel) -> None:
    """Run the hooks of the child's start; their texts go to its model with its prompt."""
    hooks = services.hooks()
    for note in () if hooks is None else hooks.agent_started(cancel):
        _add_note(services, conversation, note)


def _add_note(services: EngineServices, conversation: Conversation, note: str) -> None:
    services.emit(NoteAdded(note, counts=False))
    last = conversation.history[-1]
    conversation.history[-1] = replace(last, blocks=(*last.blocks, Text(note)))
