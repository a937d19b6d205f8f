"""Says that stopped work went on and was abandoned, once what it may still emit goes nowhere."""

from __future__ import annotations

from yume_shim.engine.cancel import let_settle
from yume_shim.types.errors import ABANDONED
from yume_shim.types.events import Notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.engine.services import EngineServices
    from yume_shim.types.events import Event


def report_abandoned(services: EngineServices, what: str) -> None:
    """Tell host and user. The output of the work must have been taken away before."""
    let_settle()
    services.emit(Notice("abandoned", ABANDONED.format(what=what)))


def emit_nothing(_: Event) -> str:
    """The output of abandoned work."""
    return ""
