"""What the host may change by control request for later requests: prompts, style, output schema, reasoning.

Threads: the stdin reader's thread sets them, the session's thread reads them; the lock is here.
"""

from __future__ import annotations

import threading

from yume_shim.types.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from yume_shim.types.effort import Effort
    from yume_shim.types.settings import Settings


class Options(Value):
    """All options at one moment."""

    system_prompt: str | None = None
    append_system_prompt: str = ""
    schema: Mapping[str, Any] | None = None
    """The JSON Schema that answers must fit; None = free text."""
    thinking_budget: int | None = None
    output_style: str = "default"
    exclude_dynamic: bool = False
    """Facts about the machine are not in the system prompt."""
    keeps_facts: bool = False
    """A system prompt of an agent is followed by what every model is told about its surroundings."""
    effort: Effort | None = None
    """None = the model's own."""


class HostOptions:
    """The current options."""

    def __init__(self, settings: Settings) -> None:
        self._lock = threading.Lock()
        self._now = Options(
            settings.instructions.system_prompt,
            settings.instructions.append_system_prompt,
            settings.instructions.json_schema,
            settings.model.thinking_budget,
            settings.instructions.output_style,
            settings.instructions.exclude_dynamic,
            effort=settings.model.effort,
        )

    def get(self) -> Options:
        """The options as they are now."""
        with self._lock:
            return self._now

    def change(self, **changes: Any) -> None:
        """Set some of them."""
        with self._lock:
            self._now = replace(self._now, **changes)
