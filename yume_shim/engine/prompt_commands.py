"""Recognises slash commands in prompts; loads what knows them with the first prompt that begins with a slash."""

from __future__ import annotations

from yume_shim.types.blocks import Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.engine.conversation import Conversation
    from yume_shim.engine.services import EngineServices
    from yume_shim.engine.slash_commands import Expansion, LocalCommand, SlashCommands
    from yume_shim.types.commands import UserInput
    from yume_shim.types.models import ModelSpec
    from yume_shim.types.ports import Cancel
    from yume_shim.types.prompt_files import PromptFile


class PromptCommands:
    """For one session. On the session's thread."""

    def __init__(
        self, services: EngineServices, conversation: Conversation, resolve: Callable[[str], ModelSpec]
    ) -> None:
        self._services, self._conversation, self._resolve = services, conversation, resolve
        self._loaded: SlashCommands | None = None

    @property
    def _commands(self) -> SlashCommands:
        if self._loaded is None:
            from yume_shim.engine.slash_commands import SlashCommands

            self._loaded = SlashCommands(self._services, self._conversation, self._resolve)
        return self._loaded

    def local(self, prompt: UserInput) -> LocalCommand | None:
        """The command, if it is answered here; None if the prompt goes to the model in some form."""
        return self._commands.local(prompt) if self._may_be(prompt) else None

    def is_plain(self, prompt: UserInput) -> bool:
        """No command: it may be joined with other prompts."""
        return not self._may_be(prompt) or not self._commands.knows(prompt)

    def expand(self, prompt: UserInput, cancel: Cancel) -> Expansion | None:
        """What a command becomes for the model; None for any other prompt, and if it was stopped. Raises ToolFailed."""
        if not self._may_be(prompt):
            return None
        from yume_shim.engine.turn_preparation import attempt

        found: Expansion | None = attempt(
            self._services, cancel, "The command of the prompt", lambda: self._commands.expand(prompt, cancel)
        )
        return found

    def model_of(self, file: PromptFile) -> ModelSpec | None:
        """The model that a command or skill names; None = the session's."""
        return self._commands.model_of(file)

    def _may_be(self, prompt: UserInput) -> bool:
        last = prompt.blocks[-1] if prompt.blocks and prompt.should_query else None
        return self._services.settings.host.slash_commands and isinstance(last, Text) and last.text[:1] == "/"
