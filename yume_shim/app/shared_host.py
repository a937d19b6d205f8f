"""What a session and its host need of each other when several sessions share one process."""

from __future__ import annotations

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from yume_shim.engine.session import Session
    from yume_shim.gate.permissions import Permissions
    from yume_shim.host.host_requests import HostRequests
    from yume_shim.types.blocks import Json
    from yume_shim.types.events import InterruptReason
    from yume_shim.types.models import ToolSpec
    from yume_shim.types.ports import Emit, HostFiles

    class SharedHost(Protocol):
        """The host of several sessions: gets the controls of a session when it can take prompts."""

        def attach(self, controls: SessionControls) -> None: ...

        def files(self, channel: HostRequests) -> HostFiles | None: ...


class SessionControls(Value):
    """What the host of a session may do with it, from any thread."""

    session: Session
    gate: Permissions
    questions: HostRequests
    emit: Emit
    find_tool: Callable[[str], ToolSpec | None]
    stop: Callable[[InterruptReason], None]
    commands: Callable[[], tuple[Json, ...]]
    """The slash commands, with descriptions."""
