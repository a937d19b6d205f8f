"""Makes the lines of an answer: one per block, when the block is complete and again when the answer has ended.

The blocks of an answer are complete before its usage and stop reason are known. Usage counters need these figures on
every line (ccusage 18 reads the first line of an answer, ccusage 20 the largest), so adding one more line at the end
would not help: the lines are "open" at first, and `settle` returns them again with the final figures.
"""

from __future__ import annotations

from yume_shim.types.blocks import Other, Text, ToolCall
from yume_shim.types.models import Usage
from yume_shim.types.shapes import assistant_block, message_usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.types.blocks import AssistantBlock, Json
    from yume_shim.types.events import RequestStarted, ResponseStarted

    Price = Callable[[str, Usage], "float | None"]
    """The cost in USD of an answer from a model; None = unknown."""


class AnswerLines:
    """Completes the lines of the current answer and keeps the open ones."""

    def __init__(self, price: Price | None = None) -> None:
        self.price = price
        self.provider = ""
        """That of the next request, if the request does not say."""
        self._origin = self._requested_model = self._asked = ""
        self._response: ResponseStarted | None = None
        self._message_id = ""
        self._requested_at: float | None = None
        self._first_ms = 0
        self._open: list[tuple[int | None, Json]] = []
        """(index of the block, line). A kept partial block has no index: it never becomes void."""

    def request_started(self, event: RequestStarted, at: float) -> None:
        """Answers from here on come from this model."""
        self._origin, self._requested_model = event.origin, event.model
        self._asked = event.provider
        self._requested_at = at

    def requested(self, at: float) -> None:
        """A request is sent (again) at this time."""
        self._requested_at = at

    def response_started(self, event: ResponseStarted, uuid: str, at: float) -> None:
        """A new answer. `uuid` is its message id if the provider gave none."""
        self._response, self._open = event, []
        self._first_ms = round((at - self._requested_at) * 1000) if self._requested_at is not None else 0
        self._requested_at = None
        self._message_id = event.id or uuid

    def add(self, index: int | None, block: AssistantBlock, line: Json) -> Json:
        """Complete the line of a block. A block without a shape here leaves `content` empty; its data is private."""
        shape, started = assistant_block(block), self._response
        message: Json = {
            "id": self._message_id or line["uuid"],
            "type": "message",
            "role": "assistant",
            "model": started.model if started is not None else self._requested_model,
            "content": [] if shape is None else [shape],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": message_usage(started.usage if started is not None else Usage()),
        }
        # Counters identify an answer by message.id and requestId together; many providers have no request ids.
        line["requestId"] = (started.request_id if started is not None else "") or f"req_{message['id']}"
        if self._requested_model:
            line["requestedModel"] = self._requested_model
        private = self._private(block)
        if private:
            line["yume"] = private
        line["message"] = message  # last, because settling rewrites the end of the line
        self._open.append((index, line))
        return line

    def early(self, block: AssistantBlock, line: Json) -> Json:
        """Complete the line of a block that is not complete itself, and forget it."""
        made = self.add(None, block, line)
        self._open.pop()
        return made

    def _private(self, block: AssistantBlock) -> Json:
        private: Json = {}
        if self._origin:
            private["origin"] = self._origin
        if self._asked or self.provider:
            private["provider"] = self._asked or self.provider
        if self._first_ms > 0:  # on the first line of the answer only
            private["first_ms"], self._first_ms = self._first_ms, 0
        return private | private_fields(block)

    def settle(self, stop_reason: str | None, stop_sequence: str | None, usage: Usage) -> list[Json]:
        """The open lines in their final form."""
        lines, self._open = self._open, []
        if usage == Usage() and self._response is not None:
            usage = self._response.usage
        cost = self.price(self._requested_model, usage) if self.price is not None and usage != Usage() else None
        settled = []
        for _, line in lines:
            message = line["message"] | {"stop_reason": stop_reason, "stop_sequence": stop_sequence}
            line = line | {"message": message | {"usage": message_usage(usage)}}
            if cost is not None:
                line["costUSD"] = cost
            settled.append(line)
        return settled

    def leaf_without(self, from_index: int, leaf: str | None) -> str | None:
        """The leaf of the chain when the blocks from `from_index` on are void. Their lines stay in the file as a dead
        branch: the next line follows the line before them."""
        for index, line in self._open:
            if index is not None and index >= from_index:
                parent: str | None = line["parentUuid"]
                return parent if leaf == self._open[-1][1]["uuid"] else leaf
        return leaf


def is_empty(block: AssistantBlock) -> bool:
    """Text without a character gets no line."""
    return isinstance(block, Text) and not block.text


def private_fields(block: AssistantBlock) -> Json:
    """What only this program reads back: provider data, a block without a shape, arguments that are not JSON."""
    if isinstance(block, Other):
        return {"block": {"api": block.api, "data": block.data}}
    private: Json = {"opaque": dict(block.opaque)} if block.opaque else {}
    if isinstance(block, ToolCall) and block.broken is not None:
        private["broken"] = block.broken
    return private
