"""Judges calls of tools that handle neither files nor commands: MCP, the web, plans, questions, todos."""

from __future__ import annotations

from yume_shim.gate import wording
from yume_shim.types.outputs import Decision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.gate.rulebook import RuleBook
    from yume_shim.types.blocks import ToolCall
    from yume_shim.types.models import ToolSpec


class OtherCall:
    """One call of a tool that handles neither files nor commands."""

    def __init__(self, call: ToolCall, spec: ToolSpec, book: RuleBook) -> None:
        self._call = call
        self._spec = spec
        self._book = book

    def denied(self) -> Decision | None:
        rule = self._book.for_content("deny", self._spec, self._call)
        return Decision("deny", wording.tool_denied(self._spec.name), "rule", rule.text) if rule else None

    def must_ask(self, mode: str) -> Decision | None:
        rule = self._book.for_content("ask", self._spec, self._call)
        return Decision("ask", wording.rule_asks(self._spec.name), "rule", rule.text) if rule else None

    def allowed(self, mode: str, remembered_only: bool = False) -> bool:
        if self._book.for_content("allow", self._spec, self._call, remembered_only) is not None:
            return True
        return not remembered_only and self._spec.harmless

    def ask_decision(self, mode: str) -> Decision:
        content = rule_content(self._call, self._spec)
        readable = content is None or self._spec.rule_field or content.startswith("domain:")
        offers = (wording.add_rule(self._spec.name, content),) if readable else ()
        return Decision("ask", wording.tool_request(self._spec.name), "mode", mode, offers)


def rule_content(call: ToolCall, spec: ToolSpec) -> str | None:
    """The content of a rule that covers this call and no other kind of it; None = the tool as a whole."""
    if not spec.rule_field:
        return web_domain(call)
    named = call.input.get(spec.rule_field)
    return named if isinstance(named, str) else None


def web_domain(call: ToolCall) -> str | None:
    """Rule content for the host of a call's `url`: `domain:x.org`. The URL itself if its host cannot be read: such a
    rule allows nothing, while no content would allow every call. None for a call without a URL."""
    from yume_shim.text.web_host import host_of

    url = call.input.get("url")
    if not isinstance(url, str):
        return None
    try:
        return f"domain:{host_of(url)}"
    except ValueError:
        return url
