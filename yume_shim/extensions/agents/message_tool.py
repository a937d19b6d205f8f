"""Runs the SendMessage tool: a message reaches an agent that runs, or makes one that has ended go on."""

from __future__ import annotations

import threading

from yume_shim.extensions.agents.reports import report
from yume_shim.text.codec import dumps
from yume_shim.types.blocks import Text
from yume_shim.types.child_texts import failure_text, message_text
from yume_shim.types.errors import StoreFailed, ToolFailed
from yume_shim.types.outputs import ToolOutput
from yume_shim.types.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.extensions.agents.agent_list import AgentList
    from yume_shim.extensions.agents.agent_tool import AgentTool
    from yume_shim.types.agents import AgentDefinition
    from yume_shim.types.blocks import Json, ToolCall
    from yume_shim.types.children import ChildRequest, StoredChild
    from yume_shim.types.outputs import ToolContext
    from yume_shim.types.ports import BackgroundTasks

END_WAIT_S = 10.0
"""How long a message waits for an agent that is about to end."""


class MessageServices(Value):
    """What the tool needs from the rest of the program."""

    agents: AgentList
    tool: AgentTool
    tasks: Callable[[], BackgroundTasks | None]
    stored: Callable[[str], StoredChild | None]
    """The agent of an id, as the session's files keep it. Raises StoreFailed."""
    background: bool
    """An agent that goes on does so in the background; otherwise the call waits for its report."""


class MessageTool:
    """`run` is called on the threads of calls. The lock keeps two messages from starting the same agent twice."""

    def __init__(self, services: MessageServices) -> None:
        self._services = services
        self._lock = threading.Lock()

    def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        """Deliver the message of a call. Raises ToolFailed, Cancelled or HostStopped."""
        agent_id, message = str(call.input["to"]).strip(), str(call.input["message"])
        if not message.strip():
            return _refused("The message is empty.")
        with self._lock:
            if self._posted(agent_id, message):
                words = (
                    f"The message waits for {agent_id}: it reads it with the results of its next calls, or before it "
                    "reports. You are notified when it ends."
                )
                return _output({"success": True, "message": words})
            try:
                request, agent = self._request(agent_id, message)
            except _Unreachable as reason:
                return _refused(str(reason))
            if context.launch is not None and self._services.background:
                context.launch(request, call.id, context.cancel)
                words = f"Agent {agent_id} goes on in the background. You are notified when it ends."
                return _output({"success": True, "message": words, "resumedAgentId": agent_id})
        if context.spawn is None:
            raise ToolFailed("No agent can be started here.")
        result = context.spawn(request, call.id, context.cancel)
        if failed := failure_text(result):
            raise ToolFailed(failed)
        return report(result, agent, message)

    def _posted(self, agent_id: str, message: str) -> bool:
        """Leave the message with an agent that runs; False if none of that id does (any more)."""
        tasks = self._services.tasks()
        task = None if tasks is None else tasks.find(agent_id)
        if task is None or task.ended is not None or task.facts.kind != "local_agent":
            return False
        if task.post(message):
            return True
        if not task.wait(END_WAIT_S):
            raise ToolFailed(f"Agent {agent_id} takes no message now: send it again when you are notified of its end.")
        return False

    def _request(self, agent_id: str, message: str) -> tuple[ChildRequest, AgentDefinition]:
        """The request that makes an agent go on, and its definition."""
        try:
            stored = self._services.stored(agent_id)
        except StoreFailed as error:
            raise _Unreachable(f"Agent {agent_id} cannot go on: {error}") from None
        if stored is None:
            raise _Unreachable(
                f"There is no agent {agent_id} in this session, or its conversation was not stored. `to` is the "
                "agentId of a result of the tool Agent."
            )
        agent = self._services.agents.get(stored.agent_type)
        if agent is None:
            raise _Unreachable(f"Agent {agent_id} cannot go on: there is no agent type '{stored.agent_type}' any more.")
        request = self._services.tool.request_for(agent, message_text(message))
        more = {"history": stored.history, "agent_id": agent_id, "begun_by": stored.call_id, "leaf": stored.leaf}
        return replace(request, description=stored.description, notes=(), **more), agent


class _Unreachable(Exception):
    """Why a message reaches nobody."""


def _refused(why: str) -> ToolOutput:
    return _output({"success": False, "message": why})


def _output(answer: Json) -> ToolOutput:
    return ToolOutput((Text(dumps(answer).decode("utf-8")),), answer)
