"""The state and the failures that the decoders of the OpenAI APIs and Ollama share."""

from __future__ import annotations

from yume_shim.providers.wire.block_assembler import Assembler
from yume_shim.providers.wire.failures import failure_from_payload, failure_incomplete
from yume_shim.providers.wire.openai_ids import OwnIds
from yume_shim.providers.wire.openai_tools import own_names
from yume_shim.types.events import ResponseFailed
from yume_shim.types.models import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from yume_shim.types.events import ModelEvent
    from yume_shim.types.models import Request


class OpenAiDecoder:
    """One response, from its start to its end or failure."""

    def __init__(self, api: str, request: Request, headers: Mapping[str, str], new_id: Callable[[], str]) -> None:
        self._request = request
        self._request_id = headers.get("x-request-id", "")
        self._new_id = new_id
        self._ids = OwnIds(request, new_id)
        self._names = own_names(request.tools)
        self._blocks = Assembler(api)
        self._started = False
        self._over = False

    def reported(self) -> tuple[Usage, bool]:
        """The usage that the provider has reported so far, and whether these are its final figures. By default it
        comes only with the end of an answer."""
        return Usage(), False

    def _fail(self, payload: Any) -> list[ModelEvent]:
        """The provider reported an error."""
        self._over = True
        return [ResponseFailed(failure_from_payload(payload, self._request.model.endpoint.name))]

    def _cut_off(self) -> list[ModelEvent]:
        """The body ended before the answer did."""
        self._over = True
        return [ResponseFailed(failure_incomplete(self._request.model.endpoint.name))]
