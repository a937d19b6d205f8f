"""The port of hooks: what the engine calls at its seams. Imported for type checking only, through `types/ports.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from yume_shim.types.calls import (
    AfterCall,
    BatchVerdict,
    BeforeCall,
    ModelSwitch,
    PreparedCall,
    PromptVerdict,
    StopVerdict,
)
from yume_shim.types.errors import Failure
from yume_shim.types.events import ToolFinished
from yume_shim.types.memory import MemoryFile
from yume_shim.types.outputs import Decision, ToolOutput

if TYPE_CHECKING:
    from yume_shim.types.ports import Cancel


class Hooks(Protocol):
    """Hooks at the seams of the engine. Methods about calls and `stopping` may raise Cancelled; the others never
    raise."""

    def has(self, *events: str) -> bool:
        """Whether any hook waits for one of these events."""
        ...

    def before(self, prepared: PreparedCall, cancel: Cancel) -> BeforeCall:
        """After validation and before the gate decides."""
        ...

    def after(self, prepared: PreparedCall, output: ToolOutput, cancel: Cancel) -> AfterCall:
        """After the tool ran; a failure is an output with `is_error`."""
        ...

    def permission(self, prepared: PreparedCall, decision: Decision, cancel: Cancel) -> Decision | None:
        """Before the host is asked, or a call is denied because there is none; None = no opinion."""
        ...

    def host_asked(self, prepared: PreparedCall) -> None:
        """The host is asked about a call; nobody waits for the hooks."""
        ...

    def batch_ended(self, results: Sequence[ToolFinished], cancel: Cancel) -> BatchVerdict:
        """When all calls of an answer have their results, before the next request."""
        ...

    def failed(self, failure: Failure, text: str, cancel: Cancel) -> None:
        """When a turn ends because the provider failed; `text` is what the model said last."""
        ...

    def session_started(self, source: str, cancel: Cancel) -> tuple[str, ...]:
        """Before the first prompt (startup, resume), after `/clear`, after a compaction; returns text for the model."""
        ...

    def prompt(self, text: str, cancel: Cancel) -> PromptVerdict:
        """Before a prompt runs."""
        ...

    def instructions_loaded(self, file: MemoryFile, cancel: Cancel) -> None:
        """After a file of standing instructions was loaded."""
        ...

    def expanding(self, kind: str, name: str, arguments: str, cancel: Cancel) -> PromptVerdict:
        """Before a slash command becomes a prompt; `kind` is `slash_command` or `mcp_prompt`."""
        ...

    def model_switching(self, switch: ModelSwitch, cancel: Cancel) -> str | None:
        """Before the host's choice of a model counts; the reason why it must not, or None."""
        ...

    def model_switched(self, switch: ModelSwitch, cancel: Cancel) -> tuple[str, ...]:
        """After the host's choice of a model; returns text for the model."""
        ...

    def stopping(self, text: str, cancel: Cancel, *, active: bool) -> StopVerdict:
        """When the model is done with its answer `text`, in a turn or in a child; `active`: hooks have sent it back to
        work already."""
        ...

    def compacting(self, trigger: str, instructions: str, cancel: Cancel) -> str | None:
        """Before a compaction; the reason why it must not happen, or None."""
        ...

    def compacted(self, trigger: str, summary: str, cancel: Cancel) -> tuple[str, ...]:
        """After a compaction; returns text for the model."""
        ...

    def for_agent(self, agent_id: str, agent_type: str) -> Hooks:
        """The same hooks for a child: for its calls, its start, and its end (`stopping`)."""
        ...

    def for_judge(self) -> Hooks:
        """The same hooks for the agent of a hook: its calls are guarded, except by hooks that ask a model."""
        ...

    def agent_started(self, cancel: Cancel) -> tuple[str, ...]:
        """Before a child's first request, on the hooks of `for_agent`; returns text for the child's model."""
        ...

    def turn_ended(self) -> None:
        """After each turn: what hooks have left running is ended."""
        ...

    def session_ended(self, reason: str, cancel: Cancel) -> None:
        """After the last turn, and before `/clear`."""
        ...
