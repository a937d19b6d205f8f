"""What hooks answer: exit codes, text and JSON of commands, JSON of callbacks; and several answers made one. Pure."""

from __future__ import annotations

from yume_shim.text import codec
from yume_shim.types.value import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Literal

    from yume_shim.extensions.hooks.specs import Hook
    from yume_shim.types.blocks import Json

    Verdict = Literal["", "allow", "ask", "deny"]
    Outcome = Literal["success", "error", "cancelled"]

BLOCKED = 2
"""The exit code by which a command blocks."""
MAX_CONTEXT = 100_000
"""Characters of a hook's context that the model gets."""


@value
class HookRun:
    """How a hook ended: what a command put out, or the JSON of a callback."""

    hook: Hook
    code: int | None = None
    stdout: str = ""
    stderr: str = ""
    body: Mapping[str, Any] | None = None
    timed_out: bool = False
    failed: str = ""
    """Why it gave no answer: it could not be started, timed out, or the host reported an error."""

    @property
    def outcome(self) -> Outcome:
        if self.timed_out:
            return "cancelled"
        return "success" if not self.failed and self.code in (None, 0) else "error"


@value
class HookAnswer:
    """What one hook wants. The default wants nothing."""

    verdict: Verdict = ""
    reason: str = ""
    blocks: bool = False
    """The hook objects: exit code 2, or `decision: block`."""
    context: str = ""
    text: str = ""
    """Plain text of a command, for events that pass it on to the model."""
    stops: bool = False
    stop_reason: str = ""
    message: str = ""
    """For the user."""
    input: Json | None = None
    output: Any = None
    permission: Json | None = None


def read_answer(run: HookRun) -> HookAnswer:
    """What the end of a hook means."""
    if run.failed or run.timed_out:
        return HookAnswer()
    if run.body is not None:
        return _of_json(run.body)
    if run.code == BLOCKED:
        return HookAnswer(blocks=True, reason=f"[{run.hook.command}]: {run.stderr.strip()}")
    if run.code != 0:
        return HookAnswer()
    text = run.stdout.strip()
    body = codec.loads_object(text) if text.startswith("{") else None
    return _of_json(body) if body is not None else HookAnswer(text=run.stdout.strip()[:MAX_CONTEXT])


def is_async(line: bytes) -> bool:
    """Whether a command's first line says that it works on by itself and has no answer: `{"async": true}`."""
    text = line.decode("utf-8", "replace").strip()
    body = codec.loads_object(text) if text.startswith("{") else None
    return body is not None and body.get("async") is True


def _of_json(body: Mapping[str, Any]) -> HookAnswer:
    special = body.get("hookSpecificOutput")
    special = special if isinstance(special, dict) else {}
    decision, asked = body.get("decision"), special.get("permissionDecision")
    verdict: Verdict = asked if asked in ("allow", "ask", "deny") else "allow" if decision == "approve" else ""
    given = special.get("updatedInput")
    permission = special.get("decision")
    return HookAnswer(
        verdict=verdict,
        reason=_text(special, "permissionDecisionReason") or _text(body, "reason"),
        blocks=decision == "block",
        context=_text(special, "additionalContext")[:MAX_CONTEXT],
        stops=body.get("continue") is False,
        stop_reason=_text(body, "stopReason"),
        message=_text(body, "systemMessage"),
        input=given if isinstance(given, dict) else None,
        output=special.get("updatedMCPToolOutput"),
        permission=permission if isinstance(permission, dict) else None,
    )


def _text(body: Mapping[str, Any], name: str) -> str:
    found = body.get(name)
    return found if isinstance(found, str) else ""


@value
class Combined:
    """The answers of all hooks of one event. Deny beats ask beats allow; the last changed input counts."""

    answers: tuple[HookAnswer, ...] = ()

    @property
    def verdict(self) -> Verdict:
        found = {"deny" if answer.blocks else answer.verdict for answer in self.answers}
        if "deny" in found:
            return "deny"
        if "ask" in found:
            return "ask"
        return "allow" if "allow" in found else ""

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
        return next((a.output for a in reversed(self.answers) if a.output is not None), None)


def _joined(texts: Iterable[str]) -> str | None:
    found = list(texts)
    return "\n".join(text for text in found if text) if found else None
