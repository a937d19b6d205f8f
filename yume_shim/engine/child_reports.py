"""What a child reports about itself while it runs: a task that starts, makes progress and ends."""

from __future__ import annotations

from yume_shim.types.events import ResponseEnded, ToolStarted
from yume_shim.types.models import Usage
from yume_shim.types.tasks import TaskEnd, TaskFacts, TaskUsage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.engine.services import EngineServices
    from yume_shim.types.blocks import ToolCall
    from yume_shim.types.child import Child
    from yume_shim.types.children import ChildResult
    from yume_shim.types.events import Event
    from yume_shim.types.models import ToolSpec
    from yume_shim.types.ports import ChildOutput, Task

MAX_SUBJECT = 80
"""Characters of what a call is about, in a line of progress."""
_DOING = {"read": "Reading", "edit": "Editing", "search": "Searching", "shell": "Running"}


class ChildReports:
    """Emits the events of one child and counts for its task. Used on the child's thread."""

    def __init__(self, services: EngineServices, child: Child, prompt: str, output: ChildOutput, call_id: str) -> None:
        """`call_id` is the call that made it run."""
        self._services, self._child, self._output = services, child, output
        self._begun = services.clock.monotonic()
        self.last_usage = Usage()
        self.tools_used: dict[str, None] = {}
        self._calls = 0
        self.unread = 0
        """Messages that came too late for it."""
        self.task: Task | None = None
        if services.open_tasks is not None:
            facts = TaskFacts(
                child.agent_id,
                "",
                "local_agent",
                child.description,
                call_id,
                child.agent_type,
                prompt,
                child.depth,
                child.parent_agent_id,
            )
            self.task = services.open_tasks().begin(facts, backgrounded=child.background and not services.in_background)

    def emit(self, event: Event) -> str:
        """Send an event of the child out."""
        uuid = self._output.emit(event)
        if isinstance(event, ResponseEnded):
            self.last_usage = event.usage
        elif isinstance(event, ToolStarted):
            self._calls += 1
            self.tools_used[event.call.name] = None
            if self.task is not None:
                spec = self._services.toolbox.find(event.call.name)
                self.task.progress(doing(event.call, spec), event.call.name, self._usage())
        return uuid

    def _usage(self) -> TaskUsage:
        took = round((self._services.clock.monotonic() - self._begun) * 1000)
        return TaskUsage(size_of(self.last_usage), self._calls, took)

    def take_messages(self) -> tuple[str, ...]:
        """Messages that were sent to the child since the last time."""
        return () if self.task is None else self.task.take_messages()

    def close_messages(self) -> None:
        """The child reads no more messages; those that wait are counted."""
        if self.task is not None:
            self.unread = len(self.task.take_messages(last=True))

    def ended(self, result: ChildResult) -> None:
        """The child has ended on the thread of its call."""
        if self.task is not None:
            self.task.end(end_of(result, self._child, self.unread))

    def stopped(self) -> None:
        """The child was stopped before its loop ran."""
        if self.task is not None:
            self.task.end(TaskEnd("killed", self._child.description, self._output.transcript))


def end_of(result: ChildResult, child: Child, unread: int = 0) -> TaskEnd:
    """How the task of a child ended; `unread` messages came too late for it."""
    if result.outcome == "cancelled":
        return TaskEnd("killed", child.description, result.transcript)
    from yume_shim.types.child_texts import failure_text, report_text, unread_text

    failed = failure_text(result)
    usage = TaskUsage(size_of(result.last_usage), result.tool_calls, result.duration_ms)
    if failed:
        return TaskEnd("failed", failed, result.transcript, told=f'Agent "{child.description}" failed: {failed}')
    text = report_text(result)
    told = " ".join(filter(None, (f'Agent "{child.description}" has ended.', unread_text(unread))))
    return TaskEnd("completed", text, result.transcript, told=told, result=text, usage=usage)


def size_of(usage: Usage) -> int:
    """Tokens of an answer and of what it answered."""
    return usage.input + usage.cache_read + usage.cache_write + usage.output


def doing(call: ToolCall, spec: ToolSpec | None) -> str:
    """What a call does, in a few words: `Reading notes.txt`."""
    fields = () if spec is None else (spec.describing_field, spec.path_field, spec.command_field)
    field = next((name for name in fields if isinstance(call.input.get(name), str) and call.input[name].strip()), "")
    if spec is None or not field:
        return call.name
    subject: str = call.input[field]
    if field == spec.path_field:
        subject = subject.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or subject
    line = " ".join(subject.split())
    line = line if len(line) <= MAX_SUBJECT else line[: MAX_SUBJECT - 1] + "…"
    word = "Writing" if call.name == "Write" else _DOING.get(spec.kind, "")
    return f"{word} {line}" if word else line
