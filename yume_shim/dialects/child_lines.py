"""What the Claude forms print of an agent, and how lines name the agent that they are about."""

from __future__ import annotations

from yume_shim.dialects.records.nested_records import AgentFields
from yume_shim.types.blocks import ToolCall
from yume_shim.types.events import (
    ApprovalAsked,
    ApprovalWithdrawn,
    BlockEnded,
    NoteAdded,
    PartialKept,
    PromptTaken,
    ToolFinished,
)
from yume_shim.types.side_events import (
    ElicitationAsked,
    HookAsked,
    QuestionWithdrawn,
    ServerMessage,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json
    from yume_shim.types.child import Child
    from yume_shim.types.events import Event

_QUESTIONS = (ApprovalAsked, ApprovalWithdrawn, HookAsked, QuestionWithdrawn, ServerMessage, ElicitationAsked)


def is_hidden(event: Event, child: Child) -> bool:
    """As in the Claude CLI: agents in the foreground show their prompt, calls and results, those in the background all
    but their prompt, agents of agents nothing. Questions are always asked."""
    if isinstance(event, _QUESTIONS):
        return False
    if child.shown == "nothing":
        return True
    if isinstance(event, PromptTaken):
        return child.background
    if child.shown == "all" or isinstance(event, ToolFinished):
        return False
    return isinstance(event, (PartialKept, NoteAdded)) or (
        isinstance(event, BlockEnded) and not isinstance(event.block, ToolCall)
    )


def agent_fields(child: Child) -> Json:
    """The fields by which message lines name their agent."""
    return AgentFields(
        agent_id=child.agent_id,
        subagent_type=child.agent_type or None,
        task_description=child.description or None,
    )
