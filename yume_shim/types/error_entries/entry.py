"""One row of the catalogue of errors."""

from __future__ import annotations

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Group = Literal["failure", "outcome", "warning", "start", "line", "request", "tool", "mcp", "hook", "store"]


class Entry(Value):
    """`code` is what lines carry; entries with one code and different causes differ in `case`."""

    group: Group
    code: str
    means: str
    advice: str
    """What the user can do. In failures `{provider}`, `{address}`, `{keys}` and `{model}` are filled in."""
    case: str = ""
    raised_in: tuple[str, ...] = ()
    """The modules whose messages belong here, without `yume_shim/` and `.py`; "" = found by code alone."""

    @property
    def id(self) -> str:
        """Its name in tests and in the document."""
        return f"{self.code}.{self.case}" if self.case else self.code
