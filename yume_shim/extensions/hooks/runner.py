"""Runs the hooks of an event side by side, reports them, and combines their answers."""

from __future__ import annotations

import threading

from yume_shim.extensions.hooks.answers import Combined, HookAnswer, HookRun, read_answer
from yume_shim.extensions.hooks.specs import GUARDS
from yume_shim.text import codec
from yume_shim.types.blocks import NOTHING
from yume_shim.types.errors import Cancelled
from yume_shim.types.events import HookAsked, HookEnded, HookNotice, HookStarted, QuestionWithdrawn
from yume_shim.types.value import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from yume_shim.extensions.hooks.commands import HookCommands
    from yume_shim.extensions.hooks.specs import Hook
    from yume_shim.types.blocks import Json
    from yume_shim.types.ports import Cancel, Emit, HostChannel, Ids

NEVER_SHOWN = ("PreCompact", "PostCompact", "SessionEnd")
"""Events whose hooks the Claude CLI never reports."""
NAMED_ALONE = ("SubagentStop",)
"""Events whose lines do not name the subject."""
MAX_SIDE_BY_SIDE = 32
"""Hooks that run at the same time; further ones of the same event run after them."""


@value
class HookServices:
    """What hooks need from the rest of the program."""

    facts: Callable[[], Json]
    """Fields that every hook gets: session, transcript, folder, permission mode."""
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


class HookRunner:
    """The hooks of a session. `add` runs on the stdin reader's thread, `run` on those of loops and calls; the tuple of
    hooks is replaced as a whole."""

    def __init__(self, hooks: Sequence[Hook], services: HookServices) -> None:
        self._hooks, self.services = tuple(hooks), services
        self._prompt_id = ""

    def has(self, event: str) -> bool:
        """Whether any hook waits for this event."""
        return any(hook.event == event for hook in self._hooks)

    def end_prompt(self) -> None:
        """The hooks from now on belong to another prompt."""
        self._prompt_id = ""

    def run(
        self,
        event: str,
        subject: str,
        fields: Json,
        cancel: Cancel,
        call_id: str = "",
        env: Mapping[str, str] = NOTHING,
    ) -> Combined:
        """Run the hooks that match, their commands with some more variables; raises Cancelled."""
        chosen: dict[tuple[str, str, str], Hook] = {}
        for hook in self._hooks:
            if hook.event == event and hook.matches(subject):
                chosen.setdefault(hook.key, hook)
        if not chosen:
            return Combined()
        name = f"{event}:{subject}" if subject and event not in NAMED_ALONE else event
        self._prompt_id = self._prompt_id or self.services.ids.uuid()
        given = {**self.services.facts(), "prompt_id": self._prompt_id, "hook_event_name": event, **fields}
        hooks, runs = list(chosen.values()), []
        for first in range(0, len(hooks), MAX_SIDE_BY_SIDE):
            group = hooks[first : first + MAX_SIDE_BY_SIDE]
            runs += self._run_all(group, name, given, cancel, call_id, env)
        answers = tuple(self._answer(run, name, call_id) for run in runs)
        return Combined(answers)

    # ------------------------------------------------------------ running

    def _run_all(
        self, hooks: list[Hook], name: str, given: Json, cancel: Cancel, call_id: str, env: Mapping[str, str]
    ) -> list[HookRun]:
        if len(hooks) == 1:
            return [self._run_one(hooks[0], name, given, cancel, call_id, env)]
        results: dict[int, HookRun | BaseException] = {}

        def work(place: int) -> None:
            try:
                results[place] = self._run_one(hooks[place], name, given, cancel, call_id, env)
            except BaseException as error:  # handed to the caller's thread, which raises it
                results[place] = error

        threads = [
            threading.Thread(target=work, args=(place,), name="hook", daemon=True) for place in range(len(hooks))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        runs = []
        for place in range(len(hooks)):
            found = results[place]
            if isinstance(found, BaseException):
                raise found
            runs.append(found)
        return runs

    def _run_one(
        self, hook: Hook, name: str, given: Json, cancel: Cancel, call_id: str, env: Mapping[str, str]
    ) -> HookRun:
        if hook.problem:
            return HookRun(hook, failed=hook.problem)
        if hook.callback_id:
            return self._call_back(hook, given, cancel, call_id)
        services = self.services
        shown = hook.event == "SessionStart" or (services.shows_all and hook.event not in NEVER_SHOWN)
        hook_id = services.ids.uuid() if shown else ""
        if shown:
            services.emit(HookStarted(hook_id, name, hook.event))
        try:
            run = services.commands.run(hook, codec.dumps(given) + b"\n", cancel, env)
        except Cancelled:
            if shown:
                services.emit(HookEnded(hook_id, name, hook.event, "", "", None, "cancelled"))
            raise
        if shown:
            services.emit(HookEnded(hook_id, name, hook.event, run.stdout, run.stderr, run.code, run.outcome))
        return run

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
                return HookRun(hook, failed="the host no longer answers")
            case _:
                return HookRun(hook, failed=reply.error or "the host reported an error")

    # ------------------------------------------------------------ answers

    def _answer(self, run: HookRun, name: str, call_id: str) -> HookAnswer:
        """The answer; a guard that gave none may refuse in its place."""
        answer, hook = read_answer(run), run.hook
        if answer.message:
            self.services.emit(HookNotice(f"{name} says: {answer.message}", "notice"))
        if not run.failed and run.code not in (0, 2, None):
            self.services.log("warning", f"hook {name} ended with code {run.code}: {run.stderr.strip()[:500]}")
        missing = run.code == 127
        if not run.failed and not missing:
            return answer
        why = run.failed or "the command was not found"
        self.services.log("warning", f"hook {name} [{hook.command or hook.callback_id}]: {why}")
        if self._refuses(run):
            return HookAnswer(blocks=True, reason=f"[{hook.command or hook.callback_id}]: {why}")
        tag = "hook_callback_failed" if hook.callback_id else "hook_no_verdict"
        verdict = {"hook_event": hook.event, "tool_use_id": call_id, "timed_out": run.timed_out}
        self.services.emit(HookNotice(f"{name} hook gave no verdict: {why}", "warning", tag, verdict))
        return answer

    def _refuses(self, run: HookRun) -> bool:
        """What fails open in the Claude CLI fails open here: a command that times out, is missing or fails. A guard
        that we do not run at all, and a callback that does not answer, refuse."""
        hook = run.hook
        if hook.event not in GUARDS:
            return hook.on_failure == "block"
        if hook.problem or (hook.callback_id and (run.timed_out or hook.on_failure == "block")):
            return True
        return self.services.fail_closed or (hook.callback_id != "" and run.failed == "the host no longer answers")
