"""What the settings configure and what is not used, for init lines."""

from __future__ import annotations

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal


class LeftOut(Value):
    """Something that the settings configure and that is not used."""

    kind: Literal["hooks", "mcp_server", "setting"]
    name: str
    source: str
    reason: Literal["untrusted", "asking", "managed"]
    """"asking" = the host is asked whether the folder is trusted."""

    def line(self) -> dict[str, Any]:
        """The object that init lines print."""
        return {"kind": self.kind, "name": self.name, "source": self.source, "reason": self.reason}
