"""Ids of calls for the OpenAI APIs and Ollama: ours in requests, the vendor's in answers."""

from __future__ import annotations

from yume_shim.providers.wire.thought_suffix import without_thought
from yume_shim.text.late_pattern import late_pattern
from yume_shim.types.blocks import ToolCall, calls_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from yume_shim.types.blocks import Json, Message
    from yume_shim.types.models import Request

CALL_ID = late_pattern(r"[A-Za-z0-9_-]{1,40}")
"""40 is Chat's limit: "Invalid 'messages[1].tool_calls[0].id': string too long. Expected … maximum length 40"."""
MINT_TRIES = 100


class WireIds:
    """The call ids of one request, the same for a call and its result.

    A provider gets its own id back (`opaque[api]["id"]`); an id that it would refuse is replaced by a hash.
    """

    def __init__(self, request: Request, api: str, known: Json | None = None) -> None:
        """`known`: what `packed` returned, for the messages before those of the request."""
        pattern = request.model.endpoint.quirks.id_pattern
        self._legal = late_pattern(pattern) if pattern else CALL_ID
        self._map: dict[str, str] = {}
        self._used: set[str] = set()
        self._api = api
        if known is None:
            self.add(request.messages, request.model.origin)
        else:
            self._map.update(known["ids"])
            self._used.update(self._map.values(), known["used"])

    def packed(self) -> Json:
        """What is known, as JSON."""
        return {"ids": self._map, "used": sorted(self._used.difference(self._map.values()))}

    def add(self, messages: Sequence[Message], origin: str) -> None:
        """The calls of further messages; `origin` is the model that the request goes to."""
        for message in messages:
            own = message.origin == origin
            for block in message.blocks:
                if isinstance(block, ToolCall):
                    self._take(block.id, str(block.opaque.get(self._api, {}).get("id", "")) if own else "")

    def __getitem__(self, call_id: str) -> str:
        return self._map.get(call_id) or self._take(call_id, "")

    def _take(self, call_id: str, vendor_id: str) -> str:
        wire = call_id
        if vendor_id and vendor_id not in self._used:
            wire = vendor_id
        elif not self._legal.fullmatch(call_id) or call_id in self._used:
            wire = self._derived(call_id)
        self._used.add(wire)
        return self._map.setdefault(call_id, wire)

    def _derived(self, call_id: str) -> str:
        from yume_shim.providers.wire.hashing import digest

        hashed = digest(call_id)
        candidates = (f"call_{hashed[:24]}", *(hashed[:length] for length in range(len(hashed), 0, -1)))
        return next((wire for wire in candidates if self._legal.fullmatch(wire)), call_id)


class OwnIds:
    """Our ids for incoming calls: short, plain and unique in the session.

    Some servers count from `call_0` in every response (Bedrock Mantle), some give none, some give long ones (xAI 43
    characters, older vLLM 46) or `functions.name:0` (Kimi).
    """

    def __init__(self, request: Request, new_id: Callable[[], str]) -> None:
        self._messages = request.messages
        self._new_id = new_id
        self._used: set[str] | None = None

    def take(self, vendor_id: str) -> tuple[str, Json]:
        """Our id for a call, and the private data to keep if the provider's differs."""
        if self._used is None:  # computed only for answers with calls
            self._used = set(calls_in(self._messages)[0])
        own = without_thought(vendor_id)
        for _ in range(MINT_TRIES):
            if CALL_ID.fullmatch(own) and own not in self._used:
                break
            own = self._new_id()
        self._used.add(own)
        return own, {"id": vendor_id} if vendor_id and vendor_id != own else {}
