"""Commands under the Claude CLI's `sandbox` settings: which run in the sandbox, and which of them unasked."""

from __future__ import annotations

from yume_shim.gate import wording
from yume_shim.gate.command_calls import CommandCall
from yume_shim.gate.rules import command_matches
from yume_shim.types.outputs import Decision
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.gate.file_calls import FileCall
    from yume_shim.gate.other_calls import OtherCall
    from yume_shim.types.blocks import ToolCall
    from yume_shim.types.confinement import Confinement
    from yume_shim.types.settings import SandboxSettings

ASKING_MODES = ("plan", "interactive", "deny")
"""Modes in which a sandbox does not make a command run unasked."""


def in_sandbox(
    call: ToolCall,
    decision: Decision,
    subject: CommandCall | FileCall | OtherCall,
    sandbox: SandboxSettings,
    confinement: Callable[[], tuple[Confinement | None, str]],
    mode: str,
) -> Decision:
    """The decision, changed by the sandbox. A denial stays. A command that was judged to only read keeps its stricter
    confinement. `confinement` returns the sandbox, or why there is none."""
    if decision.verdict == "deny" and decision.reason_type != "mode":
        return decision
    if not isinstance(subject, CommandCall) or _runs_outside(call, subject, sandbox):
        return decision
    if decision.verdict == "allow" and decision.confinement is not None:
        return decision
    found, why = confinement()
    if found is None:
        if sandbox.required:
            return Decision("deny", wording.no_sandbox(why), "safetyCheck", why)
        return decision
    asks = decision.verdict != "allow"
    if asks and sandbox.auto_allow and mode not in ASKING_MODES and subject.must_ask(mode) is None:
        return Decision("allow", confinement=found)
    return replace(decision, confinement=found)


def _runs_outside(call: ToolCall, subject: CommandCall, sandbox: SandboxSettings) -> bool:
    """Whether the command runs outside, and so is decided on as without a sandbox."""
    if sandbox.allow_open and call.input.get("dangerouslyDisableSandbox") is True:
        return True
    return any(_names(pattern, subject) for pattern in sandbox.excluded)


def _names(pattern: str, subject: CommandCall) -> bool:
    """`docker` and `docker:*` are every use of a command, `docker ps *` is a pattern as in rules."""
    if pattern in subject.programs:
        return True
    return command_matches(pattern, subject.text, tuple(subject.text.split()))
