"""Tasks: work of a session that can go on in the background, a command or an agent. Values that all rooms share."""

from __future__ import annotations

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    TaskKind = Literal["local_bash", "local_agent"]
    TaskStatus = Literal["completed", "failed", "killed"]


class TaskFacts(Value):
    """What does not change about a task. `run_id` names this run of it; a task that runs again gets another."""

    task_id: str
    run_id: str
    kind: TaskKind
    description: str
    call_id: str
    agent_type: str = ""
    prompt: str = ""
    depth: int = 0
    """How deep an agent is nested, from 1; 0 = not an agent."""
    parent_task_id: str = ""
    """The agent that started this one."""
    command: str = ""
    """Of a command: its text."""


class TaskUsage(Value):
    """What an agent has used so far."""

    total_tokens: int
    tool_uses: int
    duration_ms: int


class TaskEnd(Value):
    """How a task ended. `summary` is for the host, `told` for the model ("" = the same)."""

    status: TaskStatus
    summary: str
    output_file: str = ""
    told: str = ""
    result: str = ""
    """The answer of an agent."""
    usage: TaskUsage | None = None


class TaskOrigin(Value):
    """Why a turn began without a prompt of the host: a task has ended."""

    task_id: str
    run_id: str
    kind: Literal["task-notification"] = "task-notification"


class TaskNotice(Value):
    """The end of a background task, for the model. An `urgent` one begins a turn if none runs; another waits for the
    next prompt."""

    facts: TaskFacts
    end: TaskEnd
    urgent: bool = True

    @property
    def origin(self) -> TaskOrigin:
        """The origin of a turn that this notice begins."""
        return TaskOrigin(self.facts.task_id, self.facts.run_id)
