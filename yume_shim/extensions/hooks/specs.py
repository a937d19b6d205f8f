"""A hook as it is configured, and what it matches. Pure."""

from __future__ import annotations

import re

from yume_shim.text.foreign_patterns import compile_foreign
from yume_shim.types.blocks import NOTHING
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    OnFailure = Literal["continue", "block"]
    Kind = Literal["command", "callback", "http", "prompt", "agent", "mcp_tool"]

GUARDS = ("PreToolUse", "PermissionRequest")
"""Events whose hooks may stand between the model and a call: one of these that cannot run refuses what it matches."""
WITHOUT_SUBJECT = ("UserPromptSubmit", "Stop", "PostToolBatch", "CwdChanged")
"""Events that have nothing to match: matchers are ignored."""
COMMAND_SECONDS = 600.0
CALLBACK_SECONDS = 60.0
PROMPT_SECONDS = 30.0
AGENT_SECONDS = 60.0
MAX_SECONDS = 86_400.0
MAX_HOOKS = 500
MAX_QUOTE = 100
"""Characters of a wrong matcher that are shown."""
_NAMES = re.compile(r"[A-Za-z0-9_\-|, ]+\Z")


class Hook(Value):
    """One hook. A hook with a `problem` is never run."""

    event: str
    matcher: str = ""
    command: str = ""
    callback_id: str = ""
    seconds: float = COMMAND_SECONDS
    source: str = ""
    on_failure: OnFailure = "continue"
    problem: str = ""
    args: tuple[str, ...] | None = None
    """The command is a program that is started with these arguments, without a shell."""
    shell: str = ""
    condition: str = ""
    """A permission rule: the hook runs only for calls that it covers (`if`)."""
    background: bool = False
    """Nobody waits for its answer (`async`)."""
    once: bool = False
    url: str = ""
    headers: Mapping[str, str] = NOTHING
    allowed_variables: tuple[str, ...] = ()
    prompt: str = ""
    agentic: bool = False
    """The prompt is judged by an agent, which may use tools."""
    model: str = ""
    server: str = ""
    tool: str = ""
    """A tool of this MCP server is called."""
    given: Mapping[str, Any] = NOTHING
    """Its arguments; `${path}` in their texts stands for a field of the event."""
    continues: bool = False
    """A refusal of a prompt hook does not end the turn (`continueOnBlock`)."""

    @property
    def kind(self) -> Kind:
        if self.prompt:
            return "agent" if self.agentic else "prompt"
        return "callback" if self.callback_id else "http" if self.url else "mcp_tool" if self.server else "command"

    @property
    def label(self) -> str:
        """What it is called in messages."""
        tool = f"{self.server}/{self.tool}" if self.server else ""
        return self.command or self.callback_id or self.url or self.prompt or tool

    @property
    def key(self) -> tuple[object, ...]:
        """Identical hooks run once."""
        given = repr(self.given) if self.server else ""
        return self.kind, self.label, self.args, given, self.condition, self.problem

    def matches(self, subject: str) -> bool:
        """Whether it is meant for this tool, source, trigger …. A matcher that is no regular expression matches all: a
        guard must not be off because of a mistake."""
        if self.matcher in ("", "*") or self.event in WITHOUT_SUBJECT:
            return True
        if _NAMES.match(self.matcher):
            return subject in {name.strip() for name in re.split(r"[|,]", self.matcher)}
        try:
            return compile_foreign(self.matcher).search(subject) is not None
        except re.error:
            return True


def matcher_problem(matcher: str) -> str:
    """Why the matcher cannot be used; "" if it can."""
    if matcher in ("", "*") or _NAMES.match(matcher):
        return ""
    try:
        compile_foreign(matcher)
    except re.error as error:
        return f"the matcher {matcher[:MAX_QUOTE]!r} is not a regular expression ({error})"
    return ""
