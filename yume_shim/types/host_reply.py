"""How a question to the host ends."""

from __future__ import annotations

from yume_shim.types.blocks import NOTHING
from yume_shim.types.value import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

MAX_WAIT_S = 86_400.0
"""No question stays open longer than a day, whatever the settings say."""


@value
class HostReply:
    """`body` is the host's answer as it sent it; `error` says why there is none. Read `body` only if `outcome` is
    "answered"."""

    outcome: Literal["answered", "error", "timeout", "closed"]
    body: Mapping[str, Any] = NOTHING
    error: str = ""
