"""A session: takes commands in order and runs a turn for each prompt. Any thread may interrupt it."""

from __future__ import annotations

import threading

from yume_shim.engine.adjustable_session import AdjustableSession
from yume_shim.engine.cancel import CancelSignal
from yume_shim.engine.conversation import Conversation
from yume_shim.engine.inbox import Inbox
from yume_shim.engine.prompt_commands import PromptCommands
from yume_shim.engine.prompt_intake import PromptIntake
from yume_shim.engine.turn_preparation import prepare
from yume_shim.types.blocks import Message
from yume_shim.types.commands import Clear, Compact, EndOfInput, HistoryInput, SetModel, UserInput
from yume_shim.types.errors import BadInvocation, ToolFailed
from yume_shim.types.events import (
    CommandRefused,
    PromptWithdrawn,
    SessionEnding,
    SessionInfo,
    StateChanged,
    TurnEnded,
    TurnStarted,
)
from yume_shim.types.models import Usage
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, Literal

    from yume_shim.engine.hook_seams import HookSeams
    from yume_shim.engine.local_commands import LocalCommands
    from yume_shim.engine.services import EngineServices
    from yume_shim.engine.slash_commands import LocalCommand
    from yume_shim.engine.task_turns import TaskWait
    from yume_shim.types.calls import PromptVerdict
    from yume_shim.types.commands import Command
    from yume_shim.types.events import InterruptReason, ModelUsage
    from yume_shim.types.models import ModelSpec
    from yume_shim.types.tasks import TaskNotice, TaskOrigin

MAX_STEERING = 100
"""Prompts that may wait to join a turn."""
NO_CHECKPOINTS = "File rewinding is not enabled."


class Session(AdjustableSession):
    """Owns the conversation and the queue of commands.

    `run` and the private methods after it belong to the session's thread. Every public method before it may be called
    from any thread; in practice the stdin reader's and the one of signals. The lock guards the stop signal, its reason
    and whether work is running.
    """

    def __init__(
        self,
        services: EngineServices,
        spec: ModelSpec,
        session_id: str,
        resolve: Callable[[str], ModelSpec],
        describe: Callable[[ModelSpec, str], SessionInfo],
        fallback: Callable[[str], ModelSpec] | None = None,
    ) -> None:
        self._services = services
        self._resolve = resolve
        self._describe = describe
        self._conversation = Conversation(services, spec, session_id, fallback or resolve)
        self._intake = PromptIntake(services, self._conversation)
        self._locals: LocalCommands | None = None
        self._commands = PromptCommands(services, self._conversation, resolve)
        self._inbox = Inbox()
        self._lock = threading.Lock()
        self._cancel: CancelSignal | None = None
        """The stop signal of the work that runs or runs next; None if there is none."""
        self._reason: InterruptReason = "user"
        self._running = False
        self._steering: list[UserInput] = []
        """Prompts that are to join the running turn."""
        self._leaving = False
        self._seams: HookSeams | None = None
        self._task_wait: TaskWait | None = None
        self.last_end: TurnEnded | None = None
        self.compact_failed = False
        """The host's last `compact` failed, and no turn followed it."""

    def restore(
        self, history: Iterable[Message], spent: Iterable[ModelUsage] = (), counted: tuple[int, int, str] = (0, 0, "")
    ) -> None:
        """Continue a stored conversation with its cost and its size; called before `run`."""
        self._conversation.restore(history, spent, counted)

    # ------------------------------------------------------------ from any thread

    @property
    def spec(self) -> ModelSpec:
        """The model that the next turn uses."""
        return self._conversation.models.current()

    @property
    def session_id(self) -> str:
        """The id of the session: `/clear` changes it."""
        return self._conversation.session_id

    @property
    def leaving(self) -> bool:
        """Whether the session is being ended before its input has ended."""
        return self._leaving

    def info(self) -> SessionInfo:
        """The session as it is now."""
        info = self._describe(self.spec, self._conversation.session_id)
        return replace(info, output_style=self._conversation.options.get().output_style)

    @property
    def conversation(self) -> Conversation:
        """The conversation, for questions beside it (`side_question.py`)."""
        return self._conversation

    def submit(self, command: Command) -> bool:
        """Queue a command; False if the queue is full. A prompt of priority "now" stops what runs."""
        if not isinstance(command, (UserInput, Compact)):
            return self._inbox.put(command)
        now = isinstance(command, UserInput) and command.priority == "now"
        with self._lock:
            if now:
                self._inbox.put_first(command)
            elif not self._inbox.put(command):
                return False
            if self._cancel is None:
                self._cancel = CancelSignal()
            running = self._running
        if now and running:
            self.interrupt("priority")
        return True

    def interrupt(self, reason: InterruptReason) -> bool:
        """Stop the turn that runs, or the one that is about to start; False if there is none. A user's interrupt also
        stops the agents in the background, as in the Claude CLI. After a second one, work that goes on all the same is
        soon abandoned."""
        with self._lock:
            cancel = self._cancel
            again = cancel is not None and cancel.is_set()
            if cancel is not None and not again:
                self._reason = reason
        if cancel is not None and (again or self._leaving):
            cancel.hurry()
        elif cancel is not None:
            cancel.set()
        tasks = self._services.tasks() if reason == "user" else None
        if tasks is not None:
            tasks.stop_all(kind="local_agent", wait=False)
        return cancel is not None

    def steer(self, prompt: UserInput) -> bool:
        """Have a prompt join the running turn; False if none runs, or too many wait. It needs a uuid. If the turn ends
        before the model reads it, it gets a turn of its own."""
        with self._lock:
            if not self._running or self._leaving or len(self._steering) >= MAX_STEERING:
                return False
            self._steering.append(prompt)
            return True

    def waiting_uuids(self) -> tuple[str, ...]:
        """The uuids of the prompts that wait."""
        return self._inbox.waiting_uuids()

    def withdraw(self, uuid: str) -> bool:
        """Drop a waiting prompt."""
        dropped = self._inbox.drop(uuid)
        if dropped:
            self._services.emit(PromptWithdrawn(uuid))
        return dropped

    def stop_task(self, task_id: str) -> bool:
        """End a task that runs in the background."""
        tasks = self._services.tasks()
        return tasks is not None and tasks.stop(task_id)

    def notify(self, notice: TaskNotice) -> None:
        """A background task has ended: tell the model, in a turn of its own if none runs."""
        from yume_shim.engine.task_turns import notice_prompt

        with self._lock:
            self._inbox.put_notice(notice_prompt(notice), urgent=notice.urgent)
            if self._cancel is None and notice.urgent:
                self._cancel = CancelSignal()

    def rewind_files(self, uuid: str, *, dry_run: bool) -> dict[str, Any]:
        """Put files back to what they were before a prompt; raises ToolFailed."""
        if self._running:
            raise ToolFailed("Files cannot be rewound while a turn runs: interrupt it first.")
        if self._services.checkpoints is None:
            raise ToolFailed(NO_CHECKPOINTS)
        return self._services.checkpoints.rewind(uuid, dry_run=dry_run)

    def shut_down(self, reason: InterruptReason) -> None:
        """Stop the turn, drop all waiting commands, let `run` return."""
        self._leaving = True
        self._inbox.clear()
        self.interrupt(reason)

    # ------------------------------------------------------------ the session's own thread

    def run(self) -> None:
        """Take commands until the input ends."""
        try:
            self._take_commands()
        finally:
            if self._services.tasks() is not None:
                self._services.emit(SessionEnding())
            if self._seams is not None:
                self._seams.end()

    def _take_commands(self) -> None:
        after_turn = False
        while True:
            command = self._inbox.take()
            match command:
                case EndOfInput():
                    if not self._stay_for_tasks():
                        return
                case UserInput() if command.origin is not None:
                    after_turn = self._run_notices([command, *self._inbox.take_notices()])
                case UserInput() if (local := self._commands.local(command)) is not None:
                    after_turn = self._run_local(local, command)
                case UserInput():
                    prompts = [command]
                    merges = self._services.settings.host.merge_waiting and command.should_query
                    if after_turn and merges and self._commands.is_plain(command):
                        # prompts that waited during a turn become one turn, as hosts of the Claude CLI expect
                        prompts += self._inbox.take_waiting(self._commands.is_plain, later=True)
                    after_turn = self._run_prompts(prompts)
                case HistoryInput(blocks):
                    self._conversation.history.append(Message("assistant", blocks))
                case SetModel(model):
                    self._set_model(model)
                case Clear():
                    self._local().clear()
                case Compact():
                    self.compact_failed = not self._local().compact_now(self._begin_work())
                    self._end_work()
                case _:
                    raise TypeError(f"not a command for a session: {command!r}")
            if self._leaving:
                return

    def _set_model(self, text: str) -> None:
        try:
            self.use_model(text)
        except BadInvocation as error:
            self._services.emit(CommandRefused(error.message, error.kind, error.provider))

    # ------------------------------------------------------------ background tasks

    def _stay_for_tasks(self) -> bool:
        """At the end of input: wait for background tasks, within a limit; True if one has ended and the model is to be
        told."""
        tasks = self._services.tasks()
        if tasks is None or self._leaving:
            return False
        from yume_shim.engine.task_turns import TaskWait

        self._task_wait = self._task_wait or TaskWait(self._services, tasks, self._inbox)
        if not self._task_wait.for_notice(lambda: self._leaving):
            return False
        self._inbox.put_last(EndOfInput())
        return True

    def _run_notices(self, notices: list[UserInput]) -> bool:
        """Run one turn that tells the model about ended tasks; False if it knows about all of them."""
        return self._run_prompts(self._unseen(notices))

    def _unseen(self, notices: list[UserInput]) -> list[UserInput]:
        """Those about tasks whose end the model has not read in a result."""
        tasks = self._services.tasks()
        return [each for each in notices if tasks is None or not each.origin or not tasks.was_seen(each.origin.task_id)]

    # ------------------------------------------------------------ local commands

    def _local(self) -> LocalCommands:
        """Created at the first use: few sessions need it."""
        if self._locals is None:
            from yume_shim.engine.local_commands import LocalCommands

            self._locals = LocalCommands(
                self._services, self._conversation, self.info, self.use_model, self._commands.model_of
            )
        return self._locals

    def _refuse_command(self, prompt: UserInput, failed: ToolFailed) -> None:
        """End the turn of a command that cannot run."""
        from yume_shim.engine.slash_commands import split_command

        self.last_end = self._local().refuse(*split_command(prompt), prompt, failed.message)
        self._end_work()
        self._report_state("idle")

    def _run_local(self, command: LocalCommand, prompt: UserInput) -> bool:
        """Run a command that the model does not see; False if the prompt is a repeated one."""
        fresh = self._intake.register(prompt)
        if fresh:
            if (seams := self._hook_seams()) is not None:
                seams.begin(self._begin_work())
            self.compact_failed = False
            self._report_state("running")
            self.last_end = self._local().run(command, prompt, self._begin_work(), lambda: self._reason)
        self._end_work()
        if fresh:
            self._report_state("idle")
        return fresh

    # ------------------------------------------------------------ turns

    def _run_prompts(self, prompts: list[UserInput]) -> bool:
        """Run one turn for these prompts; False if all of them are repeated ones."""
        fresh = [prompt for prompt in prompts if self._intake.register(prompt)]
        if not fresh:
            self._end_work()
            return False
        uuids = tuple(prompt.uuid for prompt in fresh if prompt.uuid)
        self._begin_work()
        if self._services.await_tools is not None:
            self._services.await_tools(self._begin_work())
        origin = fresh[-1].origin
        seams = self._hook_seams()
        verdict = None if seams is None else seams.ask(fresh, self._begin_work())
        self.compact_failed = False
        self._report_state("running")
        if verdict is not None and verdict.blocked is not None:
            self._block(fresh, uuids, self.info(), verdict)
            return True
        try:
            command = None if origin is not None else self._commands.expand(fresh[0], self._begin_work())
        except ToolFailed as failed:
            self._refuse_command(fresh[0], failed)
            return True
        fresh = fresh if command is None else [command.prompt, *fresh[1:]]
        info = self.info()
        self._conversation.history.append(
            self._intake.announce(fresh)
        )  # stored before the host reads that the turn started
        self._services.emit(TurnStarted(info, uuids, origin))
        if self._services.load_turn is not None:
            self._services.load_turn()
        self._intake.add_notes(() if command is None else command.notes, hidden=True)
        self._intake.add_notes(() if verdict is None else verdict.notes)
        self._intake.add_notes(self._inbox.take_late_texts())
        self._intake.attach(fresh, self._begin_work(), "" if command is None else command.mentions)
        if fresh[0].should_query:
            self.last_end = self._run_turn(info, uuids, origin, None if command is None else command.model)
        else:
            self.last_end = TurnEnded("success", "", 0, 0, 0, Usage(), self._conversation.tally.total_usd(), info=info)
            self._services.emit(self.last_end)
        self._end_work()
        self._report_state("idle")
        return True

    def _report_state(self, state: Literal["running", "idle"]) -> None:
        if self._services.settings.host.session_states:
            self._services.emit(StateChanged(state))

    def _run_turn(
        self, info: SessionInfo, uuids: tuple[str, ...], origin: TaskOrigin | None, model: ModelSpec | None
    ) -> TurnEnded:
        """Run a turn; `model` is used for this one only."""
        # imported late: the first line of the turn is printed before most of the engine loads
        from yume_shim.engine.turn import Turn

        prepare(self._services, self._conversation, self._begin_work())
        self._conversation.report_instructions(self._begin_work())
        give_back = None if model is None else self._conversation.models.lend(model)
        turn = Turn(self._services, self._conversation, info, self._begin_work(), self._injected, lambda: self._reason)
        try:
            return turn.run(uuids, origin)
        finally:
            if give_back is not None:
                give_back()

    def _begin_work(self) -> CancelSignal:
        """Mark the session as running work that can be interrupted; returns the stop signal of that work."""
        with self._lock:
            self._running = True
            self._cancel = self._cancel or CancelSignal()
            return self._cancel

    def _end_work(self) -> None:
        """Mark the work as done: an interrupt from now on stops the next prompt, if one waits."""
        with self._lock:
            while self._steering:  # the turn ended first
                self._inbox.put_first(self._steering.pop())
            self._cancel = CancelSignal() if self._inbox.has_work() else None
            self._reason = "user"
            self._running = False
        self._services.gate.end_grants()
        hooks = self._services.hooks()
        if hooks is not None:
            hooks.turn_ended()

    def _hook_seams(self) -> HookSeams | None:
        """The seams for hooks, from the moment there are hooks."""
        hooks = self._services.hooks()
        if hooks is not None and self._seams is None:
            from yume_shim.engine.hook_seams import HookSeams

            self._seams = HookSeams(self._services.hooks, self._conversation)
        return self._seams

    def _block(
        self, prompts: Sequence[UserInput], uuids: tuple[str, ...], info: SessionInfo, verdict: PromptVerdict
    ) -> None:
        """End a turn that a hook does not let begin: without a request, and without the prompt unless it is kept."""
        if verdict.keeps:
            self._conversation.history.append(self._intake.announce(prompts))
        origin = prompts[-1].origin
        self._services.emit(TurnStarted(info, uuids, origin))
        total, reason = self._conversation.tally.total_usd(), verdict.blocked or ""
        end = TurnEnded("prompt_blocked", reason, 0, 0, 0, Usage(), total, user_uuids=uuids, info=info, origin=origin)
        self.last_end = end
        self._services.emit(self.last_end)
        self._end_work()
        self._report_state("idle")

    def _injected(self, finished: bool) -> Sequence[UserInput]:
        """Take and announce what joins the turn: prompts of `steer`, notices, and in the Claude forms the prompts that
        arrived while tools ran; they are sent with the results. `finished`: the model has made no call."""
        with self._lock:
            steering, self._steering = self._steering, []
        steering = [prompt for prompt in steering if self._intake.register(prompt)]
        self._intake.announce_injected(steering, joined=True)
        if finished:
            return steering
        waiting = self._unseen(self._inbox.take_notices())
        if self._services.settings.host.merge_waiting:
            prompts = self._inbox.take_waiting(self._commands.is_plain, later=False)
            waiting += [prompt for prompt in prompts if self._intake.register(prompt)]
        self._intake.announce_injected(waiting)
        return [*steering, *waiting]
