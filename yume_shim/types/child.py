"""A child loop, as events and transcripts name it."""

from __future__ import annotations

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal


class Child(Value):
    """A child loop (a subagent). `call_id` is the call that started it: its events carry that as `parent_call_id`.
    `parent_agent_id` is set if another child made that call."""

    agent_id: str
    call_id: str
    agent_type: str = ""
    description: str = ""
    parent_agent_id: str = ""
    provider: str = ""
    """Where its model is; "" = the session's provider."""
    depth: int = 1
    background: bool = False
    """It runs beside the conversation: the call has ended before."""
    leaf: str = ""
    """The last line of its transcript, if it continues one."""
    shown: Literal["all", "calls", "nothing"] = "all"
    """What the Claude forms print of it: everything, its calls and their results, or nothing. Flat prints all."""
