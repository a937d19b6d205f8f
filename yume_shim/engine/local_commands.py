"""Runs slash commands that are not sent to the model: `/compact [instructions]`, `/clear`, those that this program
answers itself, and skills that run as a child. Each ends as a turn does, with one TurnEnded, but the model's figures in
it are zero."""

from __future__ import annotations

from yume_shim.engine.cancel import CancelSignal
from yume_shim.engine.compaction import CompactionFailed
from yume_shim.engine.model_client import Stopped
from yume_shim.engine.requests import Requests
from yume_shim.engine.slash_commands import ONLY_FOR_MODEL, ask_hooks
from yume_shim.engine.turn_preparation import prepare
from yume_shim.types.blocks import Message, Text
from yume_shim.types.children import FORKED_COMMAND, ChildRequest
from yume_shim.types.errors import Cancelled, HostStopped, ToolFailed
from yume_shim.types.events import (
    CommandRefused,
    Interrupted,
    LocalCommandDone,
    NoteAdded,
    PromptTaken,
    SessionChanged,
    TurnEnded,
    TurnStarted,
)
from yume_shim.types.models import Usage
from yume_shim.types.shapes import interrupt_marker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.engine.compaction import Summary
    from yume_shim.engine.conversation import Conversation
    from yume_shim.engine.services import EngineServices
    from yume_shim.engine.slash_commands import LocalCommand
    from yume_shim.types.commands import UserInput
    from yume_shim.types.errors import Failure
    from yume_shim.types.events import InterruptReason, Outcome, SessionInfo
    from yume_shim.types.models import ModelSpec
    from yume_shim.types.ports import Cancel
    from yume_shim.types.prompt_files import PromptFile

NOTHING_TO_COMPACT = "No messages to compact"


class LocalCommands:
    """Runs local commands for one session, on the session's thread."""

    def __init__(
        self,
        services: EngineServices,
        conversation: Conversation,
        describe: Callable[[], SessionInfo],
        use_model: Callable[[str], ModelSpec],
        model_of: Callable[[PromptFile], ModelSpec | None],
    ) -> None:
        """`use_model` changes the session's model; `model_of` returns the one that a file names."""
        self._services, self._conversation, self._describe = services, conversation, describe
        self._use_model, self._model_of = use_model, model_of

    def run(
        self, command: LocalCommand, prompt: UserInput, cancel: Cancel, reason: Callable[[], InterruptReason]
    ) -> TurnEnded:
        """Run a command that came as a prompt; returns its end after emitting it."""
        begun = self._services.clock.monotonic()
        uuids = (prompt.uuid,) if prompt.uuid else ()
        outcome: Outcome = "success"
        failure: Failure | None = None
        api_seconds, text = 0.0, ""
        match command.kind:
            case "clear":
                self.clear()
                self._start(prompt, uuids)
            case "compact":
                requests = Requests(self._services, self._conversation, self._conversation.models.current(), cancel)
                outcome, failure = self._compact(requests, command.arguments, prompt, uuids, reason)
                api_seconds = requests.compaction_seconds
            case _:
                self._start(prompt, uuids)
                text, outcome = self._answer(command, cancel, reason)
        tally = self._conversation.tally
        ended = TurnEnded(
            outcome=outcome,
            text=text,
            num_turns=0,
            duration_ms=round((self._services.clock.monotonic() - begun) * 1000),
            duration_api_ms=round(api_seconds * 1000),
            usage=Usage(),
            total_cost_usd=tally.total_usd(),
            model_usage=tally.by_model(),
            failure=failure,
            phase="streaming" if outcome == "cancelled" else "idle",
            user_uuids=uuids,
            info=self._describe(),
            local_command=command.name,
        )
        self._services.emit(ended)
        return ended

    def refuse(self, name: str, arguments: str, prompt: UserInput, text: str) -> TurnEnded:
        """End the turn of a command that could not be made into a prompt: the text says why."""
        uuids = (prompt.uuid,) if prompt.uuid else ()
        self._start(prompt, uuids)
        self._services.emit(LocalCommandDone(name, text, arguments=arguments, answers=True))
        total = self._conversation.tally.total_usd()
        ended = TurnEnded(
            "success", text, 0, 0, 0, Usage(), total, user_uuids=uuids, info=self._describe(), local_command=name
        )
        self._services.emit(ended)
        return ended

    def clear(self) -> None:
        """Start a new conversation under a new id."""
        hooks, never = self._services.hooks(), CancelSignal()
        if hooks is not None:
            hooks.session_ended("clear", never)
        before = self._conversation.session_id
        self._conversation.clear(self._services.ids.uuid())
        self._services.forget_tools()
        self._services.emit(SessionChanged(self._conversation.session_id, before))
        for note in () if hooks is None else hooks.session_started("clear", never):
            self._conversation.history.append(Message("user", (Text(note),)))
            self._services.emit(NoteAdded(note, counts=False))

    def compact_now(self, cancel: Cancel) -> bool:
        """Compact outside of any turn: the `compact` line of the flat dialect. False if that failed."""
        requests = Requests(self._services, self._conversation, self._conversation.models.current(), cancel)
        try:
            summary = self._summarise(requests, "")
        except CompactionFailed as failed:
            self._services.emit(CommandRefused(failed.message, failure=failed.failure))
            return failed.failure is None
        except Stopped:
            self._services.emit(CommandRefused("compacting was stopped", "cancelled"))
        else:
            requests.compactor.apply(summary)
        return True

    # ------------------------------------------------------------ steps

    def _answer(
        self, command: LocalCommand, cancel: Cancel, reason: Callable[[], InterruptReason]
    ) -> tuple[str, Outcome]:
        """Show what the command answers; returns it."""
        outcome: Outcome = "success"
        if command.kind == "fork" and command.file is not None:
            try:
                text = self._run_child(command.file, command.arguments, cancel)
            except ToolFailed as failed:
                text = failed.message
            except (Cancelled, HostStopped):
                self._services.emit(Interrupted(reason(), "tools"))
                return "", "cancelled"
        elif command.file is not None:
            text = ONLY_FOR_MODEL.format(name=command.name)
        else:
            from yume_shim.engine.local_answers import LocalAnswers

            answers = LocalAnswers(self._conversation, self._describe, self._use_model)
            text = answers.answer(command.name, command.arguments)
        self._services.emit(LocalCommandDone(command.name, text, arguments=command.arguments, answers=True))
        return text, outcome

    def _run_child(self, file: PromptFile, arguments: str, cancel: Cancel) -> str:
        """A skill that runs as a child with its own history: its last answer."""
        from yume_shim.engine.children import Children
        from yume_shim.engine.command_expansion import expand

        prepare(self._services, self._conversation, cancel)
        notes = ask_hooks(self._services, "slash_command", file.name, arguments, cancel)
        request = ChildRequest(
            expand(self._services, file, arguments, cancel),
            agent_type=file.agent or "general-purpose",
            description=file.description or f"/{file.name}",
            model=self._model_of(file),
            notes=notes,
        )
        spec, call_id = self._conversation.models.refined(cancel), f"{FORKED_COMMAND}{file.name}"
        result = Children(self._services, self._conversation, spec, 0, []).run(request, call_id, cancel)
        if result.outcome != "success":
            why = result.failure.message if result.failure is not None else result.outcome
            raise ToolFailed(f"/{file.name} failed: {why}")
        return result.text

    def _compact(
        self,
        requests: Requests,
        instructions: str,
        prompt: UserInput,
        uuids: tuple[str, ...],
        reason: Callable[[], InterruptReason],
    ) -> tuple[Outcome, Failure | None]:
        try:
            summary = self._summarise(requests, instructions)
        except CompactionFailed as failed:
            self._start(prompt, uuids)
            return self._compact_failed(failed)
        except Stopped:
            self._start(prompt, uuids)
            why = reason()
            if why != "priority":  # the prompt that takes over follows at once
                self._conversation.history.append(Message("user", (Text(interrupt_marker("streaming")),)))
            self._services.emit(Interrupted(why, "streaming"))
            return ("success" if why == "priority" else "cancelled"), None
        self._start(prompt, uuids)
        requests.compactor.apply(summary)
        self._services.emit(LocalCommandDone("compact", "Compacted "))
        return "success", None

    def _compact_failed(self, failed: CompactionFailed) -> tuple[Outcome, Failure | None]:
        """A request for a summary that failed is a failure; that there is nothing to compact is not."""
        failure = failed.failure
        code = "bad_input" if failure is None else failure.kind
        self._services.emit(LocalCommandDone("compact", f"Error: {failed.message}", code, failure))
        if failure is None:
            return "success", None
        return ("auth_error" if failure.kind == "auth" else "provider_error"), failure

    def _summarise(self, requests: Requests, instructions: str) -> Summary:
        """Summarise the whole history: the user asked for it, so no message is too recent."""
        history = self._conversation.history
        if not any(message.role == "assistant" for message in history):
            raise CompactionFailed(NOTHING_TO_COMPACT)
        requests.prepare()
        return requests.compactor.summarise("manual", len(history), requests.size(), instructions)

    def _start(self, prompt: UserInput, uuids: tuple[str, ...]) -> None:
        """Announce the turn after its outcome is known: the Claude CLI prints init after the status lines."""
        self._services.emit(TurnStarted(self._describe(), uuids))
        if self._services.settings.host.replay_user_messages:
            message = Message("user", prompt.blocks)
            self._services.emit(PromptTaken(message, prompt.content, prompt.uuid, replay=True, repeated=True))
