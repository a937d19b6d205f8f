"""What tools, the gate and the host return to the engine."""

from __future__ import annotations

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal

    from yume_shim.types.blocks import Document, Image, Json, Text
    from yume_shim.types.confinement import Confinement
    from yume_shim.types.events import ProgressReport
    from yume_shim.types.file_patch import FilePatch
    from yume_shim.types.permission_records import PermissionUpdate
    from yume_shim.types.ports import Cancel, Launch, Spawn
    from yume_shim.types.prompt_files import PromptFile


class ToolOutput(Value):
    """What a tool returns. `structured` is the nested dialect's `tool_use_result`."""

    content: str | tuple[Text | Image | Document, ...]
    structured: Any = None
    is_error: bool | None = None
    mode: str = ""
    """The permission mode that this call sets (the tools of plan mode)."""
    duration_ms: int = 0
    """How long the call took; the pipeline fills it in."""
    patch: FilePatch | None = None
    """What it changed in a file."""
    todos: tuple[Json, ...] | None = None
    """The to-do list, if the call has replaced it."""
    notes: tuple[str, ...] = ()
    """Texts that the model reads after the result, as messages of their own: the instructions of a skill."""


class ToolContext(Value):
    """What one run of a tool may use."""

    call_id: str
    cancel: Cancel
    judged: str = ""
    """The real path that the gate decided on. The tool must open exactly that."""
    spawn: Spawn | None = None
    """Starts a child loop; None where no child may be started."""
    launch: Launch | None = None
    """Starts a child loop in the background; None where that is not possible."""
    confinement: Confinement | None = None
    """What the operating system must enforce on the command; None = it runs as it was allowed."""
    show_output: Callable[[str, int], None] | None = None
    """Shows output of a running command: (text, bytes before it that are left out). None = nobody looks."""
    dry: bool = False
    """Change nothing: only what the call would change is asked for."""
    expand: Callable[[PromptFile, str], str] | None = None
    """The text of a command or skill with these arguments: its commands are judged and run. Raises ToolFailed or
    Cancelled."""
    verdict_on: Callable[[Json], str] | None = None
    """What the gate says about the same call with other input ("allow", "ask", "deny"): for a redirect."""
    report: Callable[[ProgressReport], None] | None = None
    """Tells the host how far the call is; reports that come too fast are dropped."""


CLAUDE = "Claude"
"""Who asks, in the gate's messages: hosts of the Claude CLI recognise them by it. The engine names other models."""


class Decision(Value):
    """May this call run? `message` is what the model and the host read when it may not."""

    verdict: Literal["allow", "ask", "deny"]
    message: str = ""
    reason_type: str = ""
    """"rule", "mode", "safetyCheck", "workingDir", "other" …"""
    reason: str = ""
    suggestions: tuple[PermissionUpdate, ...] = ()
    blocked_path: str = ""
    judged: str = ""
    """Of a call of a file tool: the resolved path that was decided on."""
    confinement: Confinement | None = None
    """How the command must be confined if it runs; None if a rule or a person allowed it as it is."""
    updates: tuple[Json, ...] = ()
    """Of a hook that allows the call: permission updates in the Claude shape, as the host's in `Answer`."""
    input: Json | None = None
    """Of a hook that allows the call: the input to run it with."""
    deferred: bool = False
    """Of a hook that denies the call: it is left to the host, and the turn ends."""
    interrupts: bool = False
    """Of a hook that denies the call: the turn is stopped, as when the host denies with `interrupt`."""


class Answer(Value):
    """What the host said to a question. "error" = it could not answer; "closed" = the channel to the host was
    closed."""

    verdict: Literal["allow", "deny", "error", "timeout", "closed"]
    input: Json | None = None
    message: str = ""
    interrupt: bool = False
    updates: tuple[Json, ...] = ()
    """Permission updates in the Claude shape (addRules, setMode, addDirectories …)."""
    remember: str = ""
    """How long the answer counts: "" = once, "session", "project" (this folder, saved) or "user" (saved)."""
    rules: tuple[str, ...] = ()
    """The rules to remember; () = one for the very same call."""
