"""The answers of all hooks of one event, made one. Pure."""

from __future__ import annotations

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from yume_shim.extensions.hooks.answers import HookAnswer, Verdict
    from yume_shim.types.blocks import Json

_STRONGEST_FIRST: tuple[Verdict, ...] = ("deny", "defer", "ask", "allow")


class Combined(Value):
    """Deny beats defer beats ask beats allow; the last changed input counts."""

    answers: tuple[HookAnswer, ...] = ()

    @property
    def verdict(self) -> Verdict:
        found: set[Verdict] = {"deny" if answer.blocks else answer.verdict for answer in self.answers}
        for verdict in _STRONGEST_FIRST:
            if verdict in found:
                return verdict
        return ""

    @property
    def reason(self) -> str:
        """Why the verdict is what it is."""
        verdict = self.verdict
        said = [a.reason for a in self.answers if (a.blocks and verdict == "deny") or a.verdict == verdict]
        return "\n".join(text for text in said if text)

    @property
    def blocked(self) -> str | None:
        """The reasons of hooks that object; None if none does."""
        return _joined(a.reason for a in self.answers if a.blocks)

    @property
    def stopped(self) -> str | None:
        """The reasons of hooks that end the turn; None if none does."""
        return _joined(a.stop_reason for a in self.answers if a.stops)

    @property
    def input(self) -> Json | None:
        return next((a.input for a in reversed(self.answers) if a.input is not None), None)

    @property
    def output(self) -> Any:
        """The result to use instead, of any tool."""
        return next((a.output for a in reversed(self.answers) if a.output is not None), None)

    @property
    def mcp_output(self) -> Any:
        """The result to use instead, of an MCP tool."""
        return next((a.mcp_output for a in reversed(self.answers) if a.mcp_output is not None), None)


def _joined(texts: Iterable[str]) -> str | None:
    found = list(texts)
    return "\n".join(text for text in found if text) if found else None
