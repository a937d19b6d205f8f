"""Events for hosts that draw what happens while it happens: waiting calls, progress, live output, how full the context
is, the to-do list. Most of them only the flat dialect shows. Part of `types/events.py`, from which other modules import
them."""

from __future__ import annotations

from yume_shim.types.blocks import ToolCall
from yume_shim.types.noted_facts import FactNoted
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json


class ToolQueued(Value):
    """A call of the answer waits until the calls before it have ended."""

    call: ToolCall


class ProgressReport(Value):
    """How far a tool is, in units of its own."""

    progress: float
    total: float | None = None
    message: str = ""


class ToolProgress(Value):
    """A call has been running or waiting for a while, or reports how far it is."""

    call: ToolCall
    elapsed_ms: int
    report: ProgressReport | None = None
    """What the tool itself says; None = nothing but that it still runs."""
    waiting: bool = False
    """It waits for the host's approval."""


class ToolOutputAdded(Value):
    """A running command has printed more. `dropped` counts the bytes before `text` that are not shown."""

    call: ToolCall
    text: str
    dropped: int = 0


class ContextMeasured(Value):
    """How full the context is after an answer, in tokens. The parts are estimates; `messages` is the rest of `used`."""

    used: int
    window: int
    system: int
    tools: int
    memory: int
    messages: int
    estimated: bool = False
    """The provider has not counted: `used` is an estimate, too."""


class TodosChanged(Value):
    """The to-do list of the session as it is now."""

    todos: tuple[Json, ...]


UNNAMED: frozenset[type] = frozenset((ToolQueued, ToolOutputAdded, ContextMeasured, TodosChanged, FactNoted))
"""No line shows an id of these, so they get none: the ids of other events do not depend on who looks on."""
