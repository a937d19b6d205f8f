"""How a question to the host ends."""

from __future__ import annotations

from yume_shim.types.blocks import NOTHING
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

MAX_WAIT_S = 86_400.0
"""The longest time-out of a question."""
NO_LIMIT = float("inf")
"""The time-out of a question that waits until it is answered or its turn ends (`--approval-timeout 0`)."""


class HostReply(Value):
    """`body` is the host's answer as it sent it; `error` says why there is none. Read `body` only if `outcome` is
    "answered"."""

    outcome: Literal["answered", "error", "timeout", "closed"]
    body: Mapping[str, Any] = NOTHING
    error: str = ""
