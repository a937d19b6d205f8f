"""Calls the hooks at the seams of a session: its start and end, and each prompt."""

from __future__ import annotations

import threading

from yume_shim.engine.cancel import CancelSignal
from yume_shim.types.blocks import Text
from yume_shim.types.calls import PromptVerdict
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from yume_shim.engine.conversation import Conversation
    from yume_shim.types.commands import UserInput
    from yume_shim.types.ports import Cancel, Hooks

SESSION_END_S = 5.0
"""How long the hooks of the session's end may take together."""


class HookSeams:
    """Used on the session's thread."""

    def __init__(self, hooks: Callable[[], Hooks | None], conversation: Conversation) -> None:
        """`hooks` returns the hooks as they are now: a host may replace its own."""
        self._get, self._conversation = hooks, conversation
        self._begun = False

    def begin(self, cancel: Cancel) -> tuple[str, ...]:
        """Run the hooks of the session's start, once; returns their texts for the model."""
        if self._begun:
            return ()
        self._begun = True
        hooks = self._get()
        source = "resume" if self._conversation.history else "startup"
        return () if hooks is None else hooks.session_started(source, cancel)

    def ask(self, prompts: Sequence[UserInput], cancel: Cancel) -> PromptVerdict:
        """What hooks say about prompts that are to run."""
        notes, hooks = self.begin(cancel), self._get()
        if hooks is None:
            return PromptVerdict()
        text = "\n".join(text for prompt in prompts for text in _texts(prompt))
        verdict = hooks.prompt(text, cancel)
        left, self._conversation.pending_notes = self._conversation.pending_notes, ()
        return replace(verdict, notes=(*notes, *left, *verdict.notes))

    def end(self) -> None:
        """Run the hooks of the session's end, if it has begun, for a limited time."""
        hooks = self._get()
        if hooks is None or not self._begun:
            return
        limit = CancelSignal()
        timer = threading.Timer(SESSION_END_S, limit.set)
        timer.daemon = True
        timer.start()
        hooks.session_ended("other", limit)
        timer.cancel()


def _texts(prompt: UserInput) -> list[str]:
    """What hooks read of a prompt: of a notice about a task, its text without the mark for the model."""
    if prompt.origin is not None and isinstance(prompt.content, str):
        return [prompt.content]
    return [block.text for block in prompt.blocks if isinstance(block, Text)]
