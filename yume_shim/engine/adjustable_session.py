"""What the host asks a session, and changes for its later requests, besides prompts and interrupts."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from yume_shim.engine.conversation import Conversation
    from yume_shim.engine.prompt_commands import PromptCommands
    from yume_shim.engine.services import EngineServices
    from yume_shim.types.effort import Effort
    from yume_shim.types.models import ModelSpec, ToolSpec
    from yume_shim.types.ports import Cancel
    from yume_shim.types.prompt_files import PromptFile


class AdjustableSession:
    """A part of `Session`. Every method may be called from any thread."""

    _services: EngineServices
    _conversation: Conversation
    _resolve: Callable[[str], ModelSpec]
    _commands: PromptCommands

    def model_of(self, file: PromptFile) -> ModelSpec | None:
        """The model that a skill names, if it may choose it; None = the session's."""
        return self._commands.model_of(file)

    def check_model(self, text: str) -> None:
        """Raises BadInvocation if the session could not change to this model."""
        self._resolve(text)

    def use_model(self, text: str) -> ModelSpec:
        """Change the model from the next turn on; raises BadInvocation. A running turn keeps its model."""
        from yume_shim.engine.model_switch import switch_model

        return switch_model(self._services, self._conversation, self._resolve(text), text)

    def context_usage(self) -> dict[str, Any]:
        """How full the context is."""
        from yume_shim.engine.context_usage import context_usage

        self._conversation.prepare()
        return context_usage(self._conversation)

    def use_effort(self, effort: Effort | None) -> None:
        """Change the reasoning effort from the next request on; None = the model's own."""
        self._conversation.options.change(effort=effort)

    @property
    def effort(self) -> Effort | None:
        """The reasoning effort of the next request."""
        return self._conversation.options.get().effort

    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools of the session."""
        return self._services.toolbox.specs()

    def make_title(self, about: str, cancel: Cancel) -> str:
        """Have the model make a title. Raises BadInvocation or Cancelled."""
        from yume_shim.engine.title import make_title

        return make_title(self._services, self._conversation, about, cancel)

    def use_thinking_budget(self, tokens: int | None) -> None:
        """Change the reasoning budget from the next request on."""
        self._conversation.options.change(thinking_budget=tokens)

    def apply_initialize(self, **given: Any) -> None:
        """Apply what an SDK sends with `initialize` instead of by flags: fields of Options; None = not given."""
        self._conversation.options.change(**{name: item for name, item in given.items() if item is not None})

    def output_styles(self) -> list[str]:
        """The output styles that a user can choose."""
        from yume_shim.engine.instructions import style_names

        return style_names(self._services)
