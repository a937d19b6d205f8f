"""Makes a history legal before it is sent: pure, deterministic, and without effect on a history that already is.

The store keeps what happened; every API refuses some of it. The result of `repair` follows these rules, in this order:

1. no blank text, no empty message, no block that its role cannot have or the target cannot read;
2. neighbours with the same role are one message, and the first message is the user's;
3. every call has exactly one result, in the next message, before anything else, in the order of the calls;
4. call ids are unique.

A legal history is returned as the same values, so that each request extends the one before it and the prompt cache
hits.
"""

from __future__ import annotations

from _operator import is_

from yume_shim.types.blocks import Message, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.models import ANTHROPIC_MESSAGES
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from yume_shim.types.models import ModelSpec

SIGNED_API = ANTHROPIC_MESSAGES
"""The API that checks signatures on thinking ("Invalid `signature` in `thinking` block") and refuses an assistant
message that ends on thinking ("The final block in an assistant message cannot be `thinking`")."""


class Repaired(Value):
    """A legal history, and one sentence for each kind of change that lost or added something."""

    messages: tuple[Message, ...]
    notes: tuple[str, ...] = ()


def repair(messages: tuple[Message, ...], target: ModelSpec, legal: LegalPrefix | None = None) -> Repaired:
    """Make `messages` acceptable to `target`. `legal` remembers what it has seen of a history that grows."""
    if (legal or LegalPrefix()).covers(messages, target):
        return Repaired(messages)
    from yume_shim.context.thorough_repair import thoroughly

    return thoroughly(messages, target)


class LegalPrefix:
    """Is there certainly nothing to do? A quick check of the ordinary case: text, reasoning of the same model, calls
    and their results, in turns. Anything else is checked thoroughly. A long history is sent again with every request,
    so only the messages that were added since are looked at."""

    def __init__(self) -> None:
        self._forget("")

    def _forget(self, origin: str) -> None:
        self._origin = origin
        self._known: list[Message] = []
        """The messages that are legal."""
        self._seen: set[str] = set()
        """The ids of all calls."""
        self._waiting: list[str] = []
        """The ids of the calls of the last message."""

    def trust(self, messages: Sequence[Message]) -> None:
        """The history of a checkpoint is legal for the model that it was written for, and begins with a prompt."""
        stored: Any = getattr(messages[1], "stored", None) if len(messages) > 1 else None
        if stored is None:
            return
        self._forget(stored.origin)
        self._seen.update(stored.call_ids)
        self._known += messages[: len(stored.messages) + 1]

    def covers(self, messages: tuple[Message, ...], target: ModelSpec) -> bool:
        """Is all of this history legal?"""
        known = self._known
        if target.origin != self._origin or len(messages) < len(known) or not all(map(is_, known, messages)):
            self._forget(target.origin)
        for message in messages[len(self._known) :]:
            user = len(self._known) % 2 == 0
            if not (self._user(message) if user else self._answer(message, target)):
                self._forget(target.origin)
                return False
            self._known.append(message)
        return not self._waiting

    def _user(self, message: Message) -> bool:
        """One result for each call, in order, and only text after them."""
        blocks, count = message.blocks, len(self._waiting)
        if message.role != "user" or not blocks or len(blocks) < count:
            return False
        for block, call_id in zip(blocks, self._waiting, strict=False):
            if type(block) is not ToolResult or block.call_id != call_id or not isinstance(block.content, str):
                return False
        self._waiting = []
        return all(type(block) is Text and bool(block.text.strip()) for block in blocks[count:])

    def _answer(self, message: Message, target: ModelSpec) -> bool:
        if message.role != "assistant" or not message.blocks:
            return False
        api = target.endpoint.api
        for block in message.blocks:
            if type(block) is ToolCall and block.id not in self._seen:
                self._seen.add(block.id)
                self._waiting.append(block.id)
            elif type(block) is Thinking:
                if message.origin != target.origin or not replayable(block, api):
                    return False
            elif type(block) is not Text or not block.text.strip():
                return False
        return api != SIGNED_API or type(message.blocks[-1]) is not Thinking


def replayable(block: Thinking, api: str) -> bool:
    """Is there something to send back, and the signature that it needs?"""
    own = block.opaque.get(api)
    if api == SIGNED_API:
        return isinstance(own, dict) and bool(own.get("signature") or own.get("data"))
    return bool(block.text.strip() or own)
