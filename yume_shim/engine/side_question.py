"""Asks a model something beside the conversation: nothing of it is shown or kept, its cost counts."""

from __future__ import annotations

from yume_shim.engine.booking import book, note_failure
from yume_shim.engine.model_client import GaveUp, ModelClient, Stopped
from yume_shim.types.blocks import Message, Text
from yume_shim.types.errors import BadInvocation, Cancelled, ToolFailed
from yume_shim.types.events import Notice, Retrying
from yume_shim.types.models import Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.engine.conversation import Conversation
    from yume_shim.types.events import Event
    from yume_shim.types.models import ModelSpec, Usage
    from yume_shim.types.ports import Cancel

BELOW_HOOKS = 5
"""A request that does not stop is abandoned before the hook that waits for it (`types.ports.Cancel.job`)."""
MAX_TOKENS = 4_096
"""The longest answer; reasoning counts towards it."""


class SideQuestions:
    """Used on the threads of loops and calls. `resolve` finds a model by its name."""

    def __init__(self, conversation: Conversation, resolve: Callable[[str], ModelSpec]) -> None:
        self._services, self._conversation, self._resolve = conversation.services, conversation, resolve

    def ask(self, system: str, text: str, model: str, cancel: Cancel) -> str:
        """The text of the answer; "" for `model` means the session's. Raises ToolFailed or Cancelled."""
        conversation, services = self._conversation, self._services
        try:
            spec = self._resolve(model) if model else conversation.models.current()
        except BadInvocation as error:
            raise ToolFailed(error.message, before_run=True) from None
        request = Request(
            model=services.refine(spec, cancel),
            messages=(Message("user", (Text(text),)),),
            system=(system,),
            max_tokens=min(MAX_TOKENS, spec.max_output),
            session_id=conversation.session_id,
        )
        client = ModelClient(services, cancel, set(), emit=self._emit, on_cut="restart", depth=BELOW_HOOKS)
        try:
            answered = client.ask(request)
        except GaveUp as gave_up:
            note_failure(services, request.model, gave_up.failure, "side_question")
            raise ToolFailed(services.advise(gave_up.failure, request.model).message) from None
        except Stopped as stopped:
            self._book(request.model, stopped.usage, lost=True)
            raise Cancelled from None
        finally:
            self._book(request.model, client.take_lost(), lost=True)
        self._book(request.model, answered.usage)
        return "\n".join(block.text for block in answered.blocks if isinstance(block, Text))

    def _book(self, spec: ModelSpec, usage: Usage, *, lost: bool = False) -> None:
        book(self._services, self._conversation, spec, usage, "side_question", lost=lost)

    def _emit(self, event: Event) -> str:
        """Pass on retries and notices only: the host does not see the answer."""
        return self._services.emit(event) if isinstance(event, (Retrying, Notice)) else ""
