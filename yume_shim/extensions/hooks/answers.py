"""What hooks answer: exit codes, text and JSON of commands and addresses, JSON of callbacks, judgements of models.

JSON counts whatever the exit code is, and exit code 2 blocks whatever the JSON says. An answer that cannot be used is a
`failure`: what it means is the runner's decision, but a refusal inside it still counts. Pure.
"""

from __future__ import annotations

from yume_shim.extensions.hooks.answer_check import answer_problem
from yume_shim.extensions.hooks.specs import GUARDS
from yume_shim.text import codec
from yume_shim.types.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    from yume_shim.extensions.hooks.specs import Hook
    from yume_shim.types.blocks import Json

    Verdict = Literal["", "allow", "ask", "defer", "deny"]
    Outcome = Literal["success", "error", "cancelled"]

BLOCKED = 2
"""The exit code by which a command blocks."""
NOT_RUN = {126: "the command cannot be run", 127: "the command was not found"}
MAX_CONTEXT = 100_000
"""Characters of a hook's context that the model gets."""
MAX_REASON = 20_000
"""Characters of a reason that the model gets."""
REFUSED = "Blocked by hook"
BEYOND_EXIT_CODE = ("Stop", "SubagentStop")
"""Events at which the refusal of a model sends back to work and never ends the turn."""


class HookRun(Value):
    """How a hook ended: what a command or an address put out, or the JSON of a callback."""

    hook: Hook
    code: int | None = None
    """Exit code, negative after a signal; the status of an address."""
    stdout: str = ""
    stderr: str = ""
    body: Mapping[str, Any] | None = None
    timed_out: bool = False
    failed: str = ""
    """Why it gave no answer: it could not be started, timed out, or the host reported an error."""
    unrun: bool = False
    """It was not run at all: a guard refuses what it matches."""
    cut: bool = False
    """It put out more than is kept."""

    @property
    def shown_code(self) -> int | None:
        """The exit code in lines: 1 after a signal and for a command that did not end, as in the Claude CLI."""
        if self.hook.kind == "command" and (self.code is None or self.code < 0):
            return 1
        return self.code


class HookAnswer(Value):
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
    mcp_output: Any = None
    permission: Json | None = None
    label: str = ""
    """What the hook is called in messages."""
    failure: str = ""
    """Why the answer cannot be used."""

    @property
    def refuses(self) -> bool:
        return self.blocks or self.verdict == "deny"


def read_answer(run: HookRun) -> HookAnswer:
    """What the end of a hook means."""
    hook = run.hook
    if run.body is not None:
        answer = _of_json(run.body)
    elif hook.kind in ("prompt", "agent") and not run.failed:
        answer = _of_judgement(run)
    else:
        answer = _of_output(run)
        if hook.kind == "command" and run.code == BLOCKED and not answer.refuses:
            reason = f"[{hook.label}]: {run.stderr.strip()[:MAX_REASON] or 'No stderr output'}"
            answer = replace(answer, blocks=True, verdict="", reason=reason)
    why = run.failed or answer.failure or _why_not_run(run)
    return replace(answer, label=hook.label, failure=why)


def _why_not_run(run: HookRun) -> str:
    code = run.code
    if run.hook.kind != "command" or code is None:
        return ""
    return NOT_RUN.get(code, f"the command was ended by signal {-code}" if code < 0 else "")


def exit_failure(run: HookRun) -> str:
    """The failure of a command that only its exit code tells: the Claude CLI does not report it."""
    silent = run.hook.kind == "command" and run.code not in (None, 0, BLOCKED)
    return f"it ended with code {run.shown_code}" if silent else ""


def _of_output(run: HookRun) -> HookAnswer:
    hook, text = run.hook, run.stdout.strip()
    if not text.startswith("{"):
        foreign = bool(text) and hook.kind == "http" and not run.failed
        shown = text[:MAX_CONTEXT] if run.code == 0 and hook.kind in ("command", "mcp_tool") else ""
        return HookAnswer(text=shown, failure="its answer is not JSON" if foreign else "")
    guard = hook.event in GUARDS
    if run.cut:
        why = "its answer is too long to be read"
        return HookAnswer(blocks=guard, reason=f"[{hook.label}]: {why}", failure=why)
    body = codec.loads_object(text)
    if body is None:
        if hook.kind == "command" and not guard and not text.endswith("}"):
            return HookAnswer(text=text[:MAX_CONTEXT] if run.code == 0 else "")  # text that begins with a brace
        return HookAnswer(failure="its answer is not valid JSON")
    problem = answer_problem(body, hook.event)
    if problem:
        said = _of_json(body)
        return HookAnswer(blocks=guard and said.refuses, reason=said.reason or REFUSED, failure=problem)
    return _of_json(body)


def is_async(line: bytes) -> bool:
    """Whether a command's first line says that it works on by itself and has no answer: `{"async": true}`."""
    text = line.decode("utf-8", "replace").strip()
    body = codec.loads_object(text) if text.startswith("{") else None
    return body is not None and body.get("async") is True


def async_seconds(line: bytes) -> float | None:
    """The time limit that such a line sets (`asyncTimeout`, in milliseconds)."""
    body = codec.loads_object(line.decode("utf-8", "replace").strip()) or {}
    given = body.get("asyncTimeout")
    return given / 1000 if isinstance(given, int | float) and not isinstance(given, bool) and given > 0 else None


def _of_json(body: Mapping[str, Any]) -> HookAnswer:
    special = body.get("hookSpecificOutput")
    special = special if isinstance(special, dict) else {}
    decision, asked = body.get("decision"), special.get("permissionDecision")
    verdict: Verdict = asked if asked in ("allow", "ask", "defer", "deny") else "allow" if decision == "approve" else ""
    given = special.get("updatedInput")
    permission = special.get("decision")
    return HookAnswer(
        verdict=verdict,
        reason=(_text(special, "permissionDecisionReason") or _text(body, "reason"))[:MAX_REASON],
        blocks=decision == "block",
        context=_text(special, "additionalContext")[:MAX_CONTEXT],
        stops=body.get("continue") is False,
        stop_reason=_text(body, "stopReason")[:MAX_REASON],
        message=_text(body, "systemMessage")[:MAX_REASON],
        input=given if isinstance(given, dict) else None,
        output=special.get("updatedToolOutput"),
        mcp_output=special.get("updatedMCPToolOutput"),
        permission=permission if isinstance(permission, dict) else None,
    )


def _of_judgement(run: HookRun) -> HookAnswer:
    """A model's `{"ok": …, "reason": …}`; other models than Claude put it into a block of code."""
    hook, text = run.hook, run.stdout
    body = codec.loads_object(text[text.find("{") : text.rfind("}") + 1]) if "{" in text else None
    if body is None or not isinstance(body.get("ok"), bool):
        return HookAnswer(failure="the model gave no judgement")
    if body["ok"]:
        return HookAnswer()
    reason = _text(body, "reason")[:MAX_REASON]
    ends = not hook.continues and hook.event not in BEYOND_EXIT_CODE
    shown = f"Agent hook condition was not met: {reason}" if hook.agentic else f"[{hook.prompt}]: {reason}"
    keeps_prompt = ends and hook.event == "UserPromptSubmit"  # the turn is stopped, the prompt is not blocked
    return HookAnswer(blocks=not keeps_prompt, reason=shown, stops=ends, stop_reason=reason if ends else "")


def _text(body: Mapping[str, Any], name: str) -> str:
    found = body.get(name)
    return found if isinstance(found, str) else ""
