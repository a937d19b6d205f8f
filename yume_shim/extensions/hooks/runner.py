"""Runs the hooks of an event side by side, reports them, and combines their answers."""

from __future__ import annotations

import threading
from functools import partial

from yume_shim.extensions.hooks.answers import HookAnswer, HookRun, exit_failure, read_answer
from yume_shim.extensions.hooks.combined import Combined
from yume_shim.extensions.hooks.specs import GUARDS
from yume_shim.text import codec
from yume_shim.types.blocks import NOTHING
from yume_shim.types.errors import ABANDONED, Abandoned, Cancelled
from yume_shim.types.events import Notice
from yume_shim.types.side_events import (
    HookAsked,
    HookEnded,
    HookNotice,
    HookStarted,
    QuestionWithdrawn,
)
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from yume_shim.extensions.hooks.answers import Outcome
    from yume_shim.extensions.hooks.commands import HookCommands
    from yume_shim.extensions.hooks.prompt_hooks import Ask
    from yume_shim.extensions.hooks.specs import Hook
    from yume_shim.extensions.hooks.tool_hooks import CallTool
    from yume_shim.types.blocks import Json
    from yume_shim.types.calls import PreparedCall
    from yume_shim.types.errors import Failure
    from yume_shim.types.ports import Cancel, Emit, HostChannel, Ids, Job
    from yume_shim.types.settings import HookSettings

NEVER_SHOWN = ("PreCompact", "PostCompact", "SessionEnd", "Notification", "InstructionsLoaded", "CwdChanged")
"""Events whose hooks the Claude CLI never reports."""
NAMED_ALONE = ("SubagentStop",)
"""Events whose lines do not name the subject."""
NEVER_BLOCKED = ("Stop", "SubagentStop")
"""Events at which the failure of a hook blocks nothing, also with `onFailure: block`."""
BETWEEN_PROMPTS = ("SessionStart", "SessionEnd", "InstructionsLoaded", "PreModelSwitch", "PostModelSwitch")
"""Events that do not begin a prompt: they have the id of the last one, or none."""
WITHOUT_MODE = (*BETWEEN_PROMPTS, "SubagentStart", "CwdChanged", "PreCompact", "PostCompact")
"""Events whose hooks do not learn the permission mode."""
WITH_EFFORT = (
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "PermissionRequest",
    "Stop",
    "SubagentStop",
)
"""Events whose hooks learn the effort."""
HOST_GONE = "the host no longer answers"
MAX_LOGGED = 500
BELOW_CALLS = 4
"""Hooks that do not stop are abandoned before the deepest call that waits for them (`Cancel.job`)."""
MAX_SIDE_BY_SIDE = 32
"""Hooks that run at the same time; further ones of the same event run after them."""


class HookServices(Value):
    """What hooks need from the rest of the program."""

    facts: Callable[[], Json]
    """Fields that every hook gets: session, transcript, folder."""
    mode: Callable[[], str]
    """The permission mode."""
    effort: Callable[[], str]
    """The effort that the model is asked for; "" = its own."""
    tasks: Callable[[], list[Json]]
    """What runs in the background."""
    conversation: Callable[[], str]
    """The newest messages of the conversation, for a hook of the type `prompt` at the end of a turn."""
    folder: Callable[[], str]
    """The shell's folder."""
    commands: HookCommands
    host: HostChannel
    emit: Emit
    ids: Ids
    log: Callable[[str, str], None]
    shows_all: bool
    """Report all hooks, not only those of SessionStart."""
    fail_closed: bool
    """A guard that fails refuses the call, where the Claude CLI lets it pass."""
    add_variables: Callable[[Mapping[str, str]], None]
    """Gives the commands of tools these variables from now on."""
    agent_transcript: Callable[[str], str]
    """The transcript of the child with this id."""
    covers: Callable[[str, PreparedCall], bool | None]
    """Whether a permission rule covers a call; None if the text is no rule."""
    ask: Ask
    """Asks a model, for hooks of the type `prompt`."""
    ask_agent: Ask
    """Asks a model that may use tools, for hooks of the type `agent`."""
    call_tool: CallTool
    """Calls a tool of an MCP server, for hooks of the type `mcp_tool`."""
    settings: HookSettings
    env: Mapping[str, str]
    """Variables for the headers of addresses, proxies and certificates."""
    category: Callable[[Failure], str]
    """What kind of error a failure is, in the Claude CLI's words."""
    lifetime: Cancel
    """For hooks that nobody waits for."""
    spent: set[tuple[object, ...]]
    """Hooks that run once and have run."""


class HookRunner:
    """The hooks of a session. `add` runs on the stdin reader's thread, `run` on those of loops and calls; the tuple of
    hooks is replaced as a whole."""

    def __init__(self, hooks: Sequence[Hook], services: HookServices) -> None:
        self._hooks, self.services = tuple(hooks), services
        self._prompt_id, self._prompt_ended = "", True
        self._folder = services.folder()

    def has(self, event: str) -> bool:
        """Whether any hook waits for this event."""
        return any(hook.event == event for hook in self._hooks)

    def folder_change(self) -> tuple[str, str]:
        """The shell's folder before and now, since the last call."""
        old, self._folder = self._folder, self.services.folder()
        return old, self._folder

    def run_aside(self, event: str, subject: str, fields: Json) -> None:
        """Run hooks whose end nobody waits for; they end with the turn at the latest."""

        def work() -> None:
            try:
                self.run(event, subject, fields, self.services.lifetime)
            except Cancelled:
                pass

        threading.Thread(target=work, name="hook-aside", daemon=True).start()

    def end_prompt(self) -> None:
        """The hooks from now on belong to another prompt."""
        self._prompt_ended = True

    def run(
        self,
        event: str,
        subject: str,
        fields: Json,
        cancel: Cancel,
        prepared: PreparedCall | None = None,
        env: Mapping[str, str] = NOTHING,
        *,
        judging: bool = False,
    ) -> Combined:
        """Run the hooks that match, their commands with some more variables; raises Cancelled. `judging`: the event is
        one of a hook's own agent, so no hook that asks a model runs: it would judge itself without end."""
        if self._prompt_ended and event not in BETWEEN_PROMPTS:
            self._prompt_id, self._prompt_ended = self.services.ids.uuid(), False
        hooks = self._chosen(event, subject, prepared, judging)
        if not hooks:
            return Combined()
        name = f"{event}:{subject}" if subject and event not in NAMED_ALONE else event
        given = {**self._facts(event), "hook_event_name": event, **fields}
        call_id, runs = "" if prepared is None else prepared.call.id, []
        for first in range(0, len(hooks), MAX_SIDE_BY_SIDE):
            group = hooks[first : first + MAX_SIDE_BY_SIDE]
            runs += self._run_all(group, name, given, cancel, call_id, env)
        return Combined(tuple(self._answer(run, name, call_id) for run in runs))

    def _facts(self, event: str) -> Json:
        """The fields of every event, and those that only some have, as in the Claude CLI."""
        services = self.services
        found = services.facts()
        if self._prompt_id:
            found["prompt_id"] = self._prompt_id
        if event not in WITHOUT_MODE:
            found["permission_mode"] = services.mode()
        if event in WITH_EFFORT and (level := services.effort()):
            found["effort"] = {"level": level}
        return found

    def _chosen(self, event: str, subject: str, prepared: PreparedCall | None, judging: bool) -> list[Hook]:
        """The hooks for this event; identical ones once."""
        chosen: dict[tuple[object, ...], Hook] = {}
        spent = self.services.spent
        for hook in self._hooks:
            if hook.event != event or hook.key in spent or not hook.matches(subject):
                continue
            if judging and hook.kind in ("prompt", "agent"):
                continue
            if hook.condition and prepared is not None and self.services.covers(hook.condition, prepared) is False:
                continue
            chosen.setdefault(hook.key, hook)
        spent.update(key for key, hook in chosen.items() if hook.once)
        return list(chosen.values())

    # ------------------------------------------------------------ running

    def _run_all(
        self, hooks: list[Hook], name: str, given: Json, cancel: Cancel, call_id: str, env: Mapping[str, str]
    ) -> list[HookRun]:
        def begin(hook: Hook) -> Job:
            work = partial(self._run_one, hook, name, given, cancel, call_id, env)
            return cancel.job(work, f"hook {name} [{hook.label}]", BELOW_CALLS)

        jobs = [begin(hook) for hook in hooks]
        runs: list[HookRun] = []
        failed: Exception | None = None
        for job in jobs:
            try:
                runs.append(job.result())
            except Exception as error:  # raised when all have ended
                failed = failed or error
                if isinstance(error, Abandoned):
                    self.services.emit(Notice("abandoned", ABANDONED.format(what=f"The {error.name}")))
        if failed is not None:
            raise failed
        return runs

    def _run_one(
        self, hook: Hook, name: str, given: Json, cancel: Cancel, call_id: str, env: Mapping[str, str]
    ) -> HookRun:
        if hook.problem:
            return HookRun(hook, failed=hook.problem)
        if hook.kind == "callback":
            return self._call_back(hook, given, cancel, call_id)
        if hook.kind in ("prompt", "agent"):
            return self._judge(hook, given, cancel)
        services = self.services
        shown = hook.event == "SessionStart" or (services.shows_all and hook.event not in NEVER_SHOWN)
        hook_id = services.ids.uuid() if shown else ""
        if shown:
            services.emit(HookStarted(hook_id, name, hook.event))
        try:
            run = self._start(hook, given, cancel, env)
        except Cancelled:
            if shown:
                services.emit(HookEnded(hook_id, name, hook.event, "", "", None, "cancelled"))
            raise
        if shown:
            stderr, outcome = _told(run)
            services.emit(HookEnded(hook_id, name, hook.event, run.stdout, stderr, run.shown_code, outcome))
        return run

    def _start(self, hook: Hook, given: Json, cancel: Cancel, env: Mapping[str, str]) -> HookRun:
        services = self.services
        if hook.kind == "http":
            from yume_shim.extensions.hooks.http_hooks import post

            return post(hook, codec.dumps(given), services.settings, services.env, cancel)
        if hook.kind == "mcp_tool":
            from yume_shim.extensions.hooks.tool_hooks import call_tool

            return call_tool(hook, given, services.call_tool, cancel)
        return services.commands.run(hook, codec.dumps(given) + b"\n", cancel, env)

    def _judge(self, hook: Hook, given: Json, cancel: Cancel) -> HookRun:
        from yume_shim.extensions.hooks.prompt_hooks import judge, judge_with_tools

        services, event = self.services, codec.dumps(given).decode("utf-8")
        if hook.kind == "prompt":
            seen = services.conversation() if hook.event == "Stop" else ""
            return judge(hook, event, services.ask, cancel, conversation=seen)
        return judge_with_tools(hook, event, str(given.get("transcript_path") or ""), services.ask_agent, cancel)

    def _call_back(self, hook: Hook, given: Json, cancel: Cancel, call_id: str) -> HookRun:
        """Ask the host; a callback that does not answer in time is withdrawn and fails."""
        services = self.services
        asked: list[str] = []

        def announce(ask_id: str) -> HookAsked:
            asked.append(ask_id)
            return HookAsked(ask_id, hook.callback_id, given, call_id or services.ids.uuid())

        reply = services.host.ask(announce, timeout_s=hook.seconds, cancel=cancel, withdraw=QuestionWithdrawn)
        match reply.outcome:
            case "answered":
                return HookRun(hook, body=reply.body)
            case "timeout":
                services.emit(QuestionWithdrawn(asked[0]))
                return HookRun(hook, timed_out=True, failed=f"the host did not answer within {hook.seconds:g} s")
            case "closed":
                return HookRun(hook, failed=HOST_GONE)
            case _:
                return HookRun(hook, failed=reply.error or "the host reported an error")

    # ------------------------------------------------------------ answers

    def _answer(self, run: HookRun, name: str, call_id: str) -> HookAnswer:
        """The answer; a guard that gave none may refuse in its place."""
        answer, hook, services = read_answer(run), run.hook, self.services
        if answer.message:
            services.emit(HookNotice(f"{name} says: {answer.message}", "notice"))
        quiet = exit_failure(run) if answer == HookAnswer(label=hook.label, text=answer.text) else ""
        why = answer.failure or quiet
        if not why:
            return answer
        said = "" if run.stderr == why else _quoted(run.stderr)
        services.log("warning", f"hook {name} [{hook.label}]: {why}{said}")
        if answer.refuses:
            return answer
        if self._refuses(run):
            return HookAnswer(blocks=True, reason=f"[{hook.label or 'hook'}]: {why}", label=hook.label)
        if hook.event in GUARDS and not quiet:
            tag = "hook_callback_failed" if hook.callback_id else "hook_no_verdict"
            verdict = {"hook_event": hook.event, "tool_use_id": call_id, "timed_out": run.timed_out}
            services.emit(HookNotice(f"{name} hook gave no verdict: {why}", "warning", tag, verdict))
        return HookAnswer(label=hook.label)

    def _refuses(self, run: HookRun) -> bool:
        """What fails open in the Claude CLI fails open here: a command that times out, is missing or fails. A guard
        that we do not run at all, and a callback that does not answer, refuse; so does a hook that asks for it."""
        hook = run.hook
        if hook.on_failure == "block" and not hook.background and hook.event not in NEVER_BLOCKED:
            return True
        if hook.event not in GUARDS:
            return False
        if hook.problem or run.unrun or (hook.callback_id and (run.timed_out or run.failed == HOST_GONE)):
            return True
        return self.services.fail_closed


def _told(run: HookRun) -> tuple[str, Outcome]:
    """(stderr, outcome) of a hook's line: its stderr says why an answer cannot be used, as in the Claude CLI."""
    if run.timed_out:
        return run.stderr, "cancelled"
    why = read_answer(run).failure
    failed = bool(why) or (run.hook.kind == "command" and run.code not in (None, 0))
    return run.stderr or (why if run.hook.kind == "http" or run.code in (0, None) else ""), (
        "error" if failed else "success"
    )


def _quoted(stderr: str) -> str:
    return f": {text}" if (text := stderr.strip()[:MAX_LOGGED]) else ""
