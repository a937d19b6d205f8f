"""Events of hooks, background tasks and questions to the host. A plain turn has none of them and does not load this
module: whoever handles one imports it from here, after the events of `types/events.py`."""

from __future__ import annotations

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from yume_shim.types.blocks import Json
    from yume_shim.types.tasks import TaskEnd, TaskFacts, TaskStatus, TaskUsage


class ServerMessage(Value):
    """A message for an MCP server in the host's own process; the host answers with the server's reply."""

    ask_id: str
    server: str
    message: Json


class ElicitationAsked(Value):
    """An MCP server asks the user something. `params` are those of its request."""

    ask_id: str
    server: str
    params: Json


class TrustAsked(Value):
    """May the hooks and servers of this folder start? `left_out` are those that wait for the answer."""

    ask_id: str
    cwd: str
    left_out: tuple[Json, ...]


class PermitAsked(Value):
    """May a request be sent to this model now? Asked of hosts that keep several processes to one rate."""

    ask_id: str
    provider: str
    model: str
    spent_usd: float = 0.0
    """The cost of this process so far."""


class FileAsked(Value):
    """A file tool reads or writes through the host, which may have unsaved text of the file. `path` is resolved and
    judged; `text` None = read it."""

    ask_id: str
    path: str
    text: str | None = None


class HookAsked(Value):
    """A hook of the host is called. `call_id` is the tool call it is about, or a fresh id."""

    ask_id: str
    callback_id: str
    input: Json
    call_id: str


class QuestionWithdrawn(Value):
    """A question to the host no longer needs an answer."""

    ask_id: str


class HookStarted(Value):
    """A hook's command starts. `name` is the event with its subject: `PreToolUse:Bash`."""

    hook_id: str
    name: str
    event: str


class HookEnded(Value):
    """A hook's command has ended."""

    hook_id: str
    name: str
    event: str
    stdout: str
    stderr: str
    code: int | None
    outcome: Literal["success", "error", "cancelled"]


class HookNotice(Value):
    """A message of a hook, or about one, for people. `prevents`: the prompt does not run because of it."""

    text: str
    level: Literal["notice", "warning"]
    tag: str = ""
    no_verdict: Json | None = None
    prevents: bool = False


class TaskStarted(Value):
    """A task goes on in the background, or (not `backgrounded`) the conversation waits for it."""

    facts: TaskFacts
    backgrounded: bool = True


class TaskUpdated(Value):
    """A task has ended with this status, or (without one) it now goes on in the background."""

    facts: TaskFacts
    status: TaskStatus | None = None
    error: str = ""
    """Why it failed."""


class TaskProgress(Value):
    """An agent has called a tool. `description` says what it is doing."""

    facts: TaskFacts
    description: str
    last_tool: str
    usage: TaskUsage


class TaskNotification(Value):
    """A task has ended."""

    facts: TaskFacts
    end: TaskEnd


class TasksChanged(Value):
    """The tasks that run in the background now."""

    tasks: tuple[TaskFacts, ...]


TaskEvent = TaskStarted | TaskUpdated | TaskProgress | TaskNotification | TasksChanged
HookEvent = HookStarted | HookEnded | HookNotice
Question = ServerMessage | ElicitationAsked | HookAsked | TrustAsked | PermitAsked
SideEvent = TaskEvent | HookEvent | Question | FileAsked | QuestionWithdrawn
