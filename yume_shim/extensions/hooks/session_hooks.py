"""The hooks of a session at the seams of the engine: calls, permissions, prompts, ends of turns, compaction."""

from __future__ import annotations

import os

from yume_shim.extensions.hooks.answers import REFUSED
from yume_shim.extensions.hooks.combined import Combined
from yume_shim.types.blocks import NOTHING
from yume_shim.types.calls import AfterCall, BatchVerdict, BeforeCall, PromptVerdict, StopVerdict
from yume_shim.types.errors import Cancelled
from yume_shim.types.outputs import Decision
from yume_shim.types.side_events import HookNotice
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from yume_shim.extensions.hooks.runner import HookRunner
    from yume_shim.types.blocks import Json
    from yume_shim.types.calls import ModelSwitch, PreparedCall
    from yume_shim.types.errors import Failure
    from yume_shim.types.events import ToolFinished
    from yume_shim.types.memory import MemoryFile
    from yume_shim.types.outputs import ToolOutput
    from yume_shim.types.ports import Cancel

HOOK_DENIED = "hookDenied"
"""The reason type of a call that a hook refused; only the result says so, as in the Claude CLI."""


DEFERRED = "A hook has deferred this call to the host: it has not run."


class SessionHooks:
    """Implements `types.ports.Hooks`."""

    def __init__(self, runner: HookRunner, agent: Mapping[str, str] = NOTHING, *, judging: bool = False) -> None:
        """`agent`: `agent_id` and `agent_type`, the fields by which hooks know that a child calls them. `judging`: for
        the agent of a hook, whose calls are guarded by the others."""
        self._runner, self._agent, self._judging = runner, agent, judging

    def for_agent(self, agent_id: str, agent_type: str) -> SessionHooks:
        agent = {"agent_id": agent_id, "agent_type": agent_type}
        return SessionHooks(self._runner, agent, judging=self._judging)

    def for_judge(self) -> SessionHooks:
        return SessionHooks(self._runner, self._agent, judging=True)

    def has(self, *events: str) -> bool:
        return any(map(self._runner.has, events))

    def _run(
        self,
        event: str,
        subject: str,
        fields: Json,
        cancel: Cancel,
        prepared: PreparedCall | None = None,
        env: Mapping[str, str] = NOTHING,
    ) -> Combined:
        given = {**self._agent, **fields}
        return self._runner.run(event, subject, given, cancel, prepared, env, judging=self._judging)

    # ------------------------------------------------------------ calls

    def before(self, prepared: PreparedCall, cancel: Cancel) -> BeforeCall:
        call = prepared.call
        fields = {"tool_name": call.name, "tool_input": prepared.shown_input, "tool_use_id": call.id}
        said = self._run("PreToolUse", call.name, fields, cancel, prepared)
        name = f"PreToolUse:{call.name}"
        decision: Decision | None = None
        match said.verdict:
            case "deny":
                decision = Decision("deny", f"{name} hook error: {said.reason or REFUSED}", HOOK_DENIED, name)
            case "defer":
                decision = Decision("deny", DEFERRED, HOOK_DENIED, name, deferred=True)
            case "ask":
                decision = Decision("ask", said.reason or f"{name} hook asks for confirmation", "hook", name)
            case "allow":
                decision = Decision("allow", said.reason, "hook", name)
            case _:
                pass
        notes = _contexts(said, f"{name} hook additional context")
        return BeforeCall(decision, said.input, notes, said.stopped)

    def after(self, prepared: PreparedCall, output: ToolOutput, cancel: Cancel) -> AfterCall:
        call, failed = prepared.call, output.is_error is True
        event = "PostToolUseFailure" if failed else "PostToolUse"
        if not self._runner.has(event):
            self._tell_folder(cancel)
            return AfterCall(output)
        fields: Json = {"tool_name": call.name, "tool_input": prepared.shown_input, "tool_use_id": call.id}
        if failed:
            fields |= {"error": _shown(output), "is_interrupt": False, "duration_ms": output.duration_ms}
        else:
            fields |= {"tool_response": output.structured if output.structured is not None else _shown(output)}
            fields |= {"duration_ms": output.duration_ms}
        said = self._run(event, call.name, fields, cancel, prepared)
        name = f"{event}:{call.name}"
        notes = _contexts(said, f"{name} hook additional context")
        notes = (*notes, *_objections(said, name))
        self._tell_folder(cancel)
        return AfterCall(output if failed else _replaced(output, said, prepared), notes, said.stopped)

    def batch_ended(self, results: Sequence[ToolFinished], cancel: Cancel) -> BatchVerdict:
        if not self._runner.has("PostToolBatch") or not results:
            return BatchVerdict()
        calls = [
            {
                "tool_name": each.call.name,
                "tool_input": each.call.input,
                "tool_use_id": each.call.id,
                "tool_response": text_of(each.result.content),
            }
            for each in results
        ]
        said = self._run("PostToolBatch", "", {"tool_calls": calls}, cancel)
        stop = said.blocked if said.blocked is not None else said.stopped
        return BatchVerdict(_contexts(said, "PostToolBatch hook additional context"), stop)

    def _tell_folder(self, cancel: Cancel) -> None:
        """The shell may have changed its folder."""
        old, new = self._runner.folder_change()
        if old != new:
            self._run("CwdChanged", "", {"old_cwd": old, "new_cwd": new}, cancel)

    def host_asked(self, prepared: PreparedCall) -> None:
        if not self._runner.has("Notification"):
            return
        message = f"Your permission is needed to use {prepared.call.name}"
        fields = {"message": message, "notification_type": "permission_prompt"}
        self._runner.run_aside("Notification", "permission_prompt", {**self._agent, **fields})

    def permission(self, prepared: PreparedCall, decision: Decision, cancel: Cancel) -> Decision | None:
        if not self._runner.has("PermissionRequest"):
            return None
        call = prepared.call
        fields: Json = {"tool_name": call.name, "tool_input": prepared.shown_input, "tool_use_id": call.id}
        fields["permission_suggestions"] = list(decision.suggestions)
        said = self._run("PermissionRequest", call.name, fields, cancel, prepared)
        name = f"PermissionRequest:{call.name}"
        if said.blocked is not None:
            return Decision("deny", f"{name} hook error: {said.blocked}", HOOK_DENIED, name)
        for answer in said.answers:
            given = answer.permission or {}
            if given.get("behavior") == "deny":
                text = given.get("message")
                stops = given.get("interrupt") is True
                message = text if isinstance(text, str) else decision.message
                return Decision("deny", message, HOOK_DENIED, name, interrupts=stops)
        for answer in said.answers:
            given = answer.permission or {}
            if given.get("behavior") == "allow":
                listed, changed = given.get("updatedPermissions"), given.get("updatedInput")
                updates = listed if isinstance(listed, list) else []
                return Decision(
                    "allow",
                    reason_type="hook",
                    reason=name,
                    updates=tuple(each for each in updates if isinstance(each, dict)),
                    input=changed if isinstance(changed, dict) else None,
                )
        return None

    # ------------------------------------------------------------ the session

    def session_started(self, source: str, cancel: Cancel) -> tuple[str, ...]:
        said = self._start(source, cancel)
        return _contexts(said, "SessionStart hook additional context", "SessionStart hook success")

    def _start(self, source: str, cancel: Cancel) -> Combined:
        """Run the hooks, and give later commands the variables that they wrote to CLAUDE_ENV_FILE."""
        services = self._runner.services
        if not self._runner.has("SessionStart") or os.name == "nt":
            return self._quietly("SessionStart", source, {"source": source}, cancel)
        try:
            file = services.commands.env_file()
        except OSError as error:
            services.log("warning", f"CLAUDE_ENV_FILE cannot be made: {error}")
            return self._quietly("SessionStart", source, {"source": source}, cancel)
        said = self._quietly("SessionStart", source, {"source": source}, cancel, {"CLAUDE_ENV_FILE": file.path})
        variables = file.take(services.log)
        if variables:
            services.add_variables(variables)
        return said

    def prompt(self, text: str, cancel: Cancel) -> PromptVerdict:
        said = self._quietly("UserPromptSubmit", "", {"prompt": text}, cancel)
        notes = _contexts(said, "UserPromptSubmit hook additional context", "UserPromptSubmit hook success")
        blocked, stopped = said.blocked, said.stopped
        if blocked is not None:
            reason = f"UserPromptSubmit operation blocked by hook:\n{blocked}"
            self._runner.services.emit(HookNotice(reason, "warning", prevents=True))
            return PromptVerdict(reason)
        if stopped is not None:
            reason = f"Operation stopped by hook: {stopped}" if stopped else "Operation stopped by hook"
            self._runner.services.emit(HookNotice(reason, "warning", prevents=True))
            return PromptVerdict(reason, keeps=True)
        return PromptVerdict(notes=notes)

    def instructions_loaded(self, file: MemoryFile, cancel: Cancel) -> None:
        if not self._runner.has("InstructionsLoaded"):
            return
        fields: Json = {"file_path": file.path, "memory_type": file.kind, "load_reason": file.reason}
        if file.globs:
            fields["globs"] = list(file.globs)
        if file.trigger:
            fields["trigger_file_path"] = file.trigger
        if file.parent:
            fields["parent_file_path"] = file.parent
        self._quietly("InstructionsLoaded", file.reason, fields, cancel)

    def expanding(self, kind: str, name: str, arguments: str, cancel: Cancel) -> PromptVerdict:
        if not self._runner.has("UserPromptExpansion"):
            return PromptVerdict()
        prompt = f"/{name} {arguments}".rstrip()
        fields = {"expansion_type": kind, "command_name": name, "command_args": arguments, "prompt": prompt}
        said = self._quietly("UserPromptExpansion", name, fields, cancel)
        stopped = said.blocked if said.blocked is not None else said.stopped
        if stopped is not None:
            return PromptVerdict(f"a hook stopped the command /{name}: {stopped or REFUSED}")
        return PromptVerdict(notes=_contexts(said, "UserPromptExpansion hook additional context"))

    def model_switching(self, switch: ModelSwitch, cancel: Cancel) -> str | None:
        said = self._quietly("PreModelSwitch", switch.after, _switch_fields(switch), cancel)
        refused = said.verdict in ("deny", "ask", "defer") or said.stopped is not None
        return (said.reason or said.stopped or REFUSED) if refused else None

    def model_switched(self, switch: ModelSwitch, cancel: Cancel) -> tuple[str, ...]:
        said = self._quietly("PostModelSwitch", switch.after, _switch_fields(switch), cancel)
        return _contexts(said, "PostModelSwitch hook additional context")

    def stopping(self, text: str, cancel: Cancel, *, active: bool) -> StopVerdict:
        event = "SubagentStop" if self._agent else "Stop"
        if self._judging or not self._runner.has(event):
            return StopVerdict()
        fields: Json = {"stop_hook_active": active}
        if self._agent:
            fields["agent_transcript_path"] = self._runner.services.agent_transcript(self._agent["agent_id"])
        fields |= {"last_assistant_message": text, "background_tasks": self._runner.services.tasks()}
        fields["session_crons"] = []
        said = self._run(event, self._agent.get("agent_type", ""), fields, cancel)
        if said.stopped is not None:
            return StopVerdict(prevented=True)
        if said.blocked is not None:
            return StopVerdict(f"Stop hook feedback:\n{said.blocked}")
        return StopVerdict("\n".join(_contexts(said, f"{event} hook additional context")), counts=False)

    def failed(self, failure: Failure, text: str, cancel: Cancel) -> None:
        if self._judging:
            return
        kind = self._runner.services.category(failure)
        fields: Json = {"error": kind, "error_details": failure.message}
        self._quietly("StopFailure", kind, fields | ({"last_assistant_message": text} if text else {}), cancel)

    def agent_started(self, cancel: Cancel) -> tuple[str, ...]:
        if self._judging:
            return ()
        said = self._quietly("SubagentStart", self._agent.get("agent_type", ""), {}, cancel)
        return _contexts(said, "SubagentStart hook additional context")

    def compacting(self, trigger: str, instructions: str, cancel: Cancel) -> str | None:
        fields = {"trigger": trigger, "custom_instructions": instructions or None}
        said = self._quietly("PreCompact", trigger, fields, cancel)
        return said.blocked if said.blocked is not None else said.stopped

    def compacted(self, trigger: str, summary: str, cancel: Cancel) -> tuple[str, ...]:
        notes = self.session_started("compact", cancel)
        self._quietly("PostCompact", trigger, {"trigger": trigger, "compact_summary": summary}, cancel)
        return notes

    def turn_ended(self) -> None:
        self._runner.end_prompt()
        self._runner.services.commands.end_turn()

    def session_ended(self, reason: str, cancel: Cancel) -> None:
        self._quietly("SessionEnd", reason, {"reason": reason}, cancel)
        self._runner.services.commands.end_session()

    def _quietly(
        self, event: str, subject: str, fields: Json, cancel: Cancel, env: Mapping[str, str] = NOTHING
    ) -> Combined:
        """Run hooks that an interrupt must not turn into a failure of the session."""
        try:
            return self._run(event, subject, fields, cancel, env=env)
        except Cancelled:
            return Combined()


def _contexts(said: Combined, label: str, text_label: str = "") -> tuple[str, ...]:
    notes = [f"{label}: {answer.context}" for answer in said.answers if answer.context]
    if text_label:
        notes += [f"{text_label}: {answer.text}" for answer in said.answers if answer.text]
    return tuple(notes)


def _switch_fields(switch: ModelSwitch) -> Json:
    return {
        "from_model": switch.before,
        "to_model": switch.after,
        "requested_model": switch.asked or None,
        "source": "sdk",
        "context_tokens": switch.context_tokens,
    }


def _objections(said: Combined, name: str) -> list[str]:
    """What the model reads about hooks that object after a call."""
    blockers = [answer for answer in said.answers if answer.blocks]
    return [f'{name} hook blocking error from command: "{a.label}": {a.reason}' for a in blockers]


def _replaced(output: ToolOutput, said: Combined, prepared: PreparedCall) -> ToolOutput:
    """The output, or what hooks want the model to read instead. A tool's own result is replaced by an object of its
    form, as in the Claude CLI; text replaces the result of an MCP tool only."""
    foreign = prepared.spec.source == "mcp"
    given = said.output if said.output is not None or not foreign else said.mcp_output
    if given is None or not (foreign or isinstance(given, dict)):
        return output
    text = given if isinstance(given, str) else _output_text(given)
    return replace(output, content=text, structured=given)


def _output_text(given: Any) -> str:
    """What a command printed, from the object that describes its result; any other object as JSON."""
    if isinstance(given, dict) and isinstance(given.get("stdout"), str):
        parts = (given["stdout"], given.get("stderr"))
        return "\n".join(part for part in parts if isinstance(part, str) and part)
    return _json(given)


def _shown(output: ToolOutput) -> str:
    return text_of(output.content)


def text_of(content: str | Sequence[Any]) -> str:
    """The text of a result."""
    return content if isinstance(content, str) else "\n".join(getattr(block, "text", "") for block in content)


def _json(given: object) -> str:
    from yume_shim.text import codec

    return codec.dumps(given).decode("utf-8")
