"""What scripts ask of a run: exit codes, limits of the whole run, patience, where errors are printed."""

from __future__ import annotations

from yume_shim.types.value import Value


class ScriptSettings(Value):
    """The flags of unattended runs; by default nothing differs from the Claude CLI."""

    detailed_codes: bool = False
    """Exit codes tell the cause (`--exit-codes detailed`)."""
    fail_on: tuple[str, ...] = ()
    """Successful ends that count as failures: truncated, denied, refused (`--fail-on`)."""
    deadline: float = 0.0
    """Seconds that the whole run may take; 0 = no limit (`--deadline`)."""
    max_tool_calls: int = 0
    """Tool calls of the whole run, agents included; 0 = no limit (`--max-tool-calls`)."""
    retry_forever: bool = False
    """Requests refused with 429 or 529 are repeated without end (`--retry-forever`)."""
    errors_to_stderr: bool = False
    """Text output: errors go to stderr (`--errors stderr`)."""
