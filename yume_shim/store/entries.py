"""Events -> transcript lines in the Claude CLI's form: a chain of `user` and `assistant` lines.

Every line is made the moment its event is told, so that what a host has read is on disk. The blocks of an answer are
complete before its usage and stop reason are known: their lines come first as "open", and again as "settled", with the
final figures, when the answer has ended. Usage counters need these on every line (ccusage 18 takes the first line of
an answer, ccusage 20 the largest), so a line added behind would not do.

Readers need only `user` and `assistant`. The other lines are `last-prompt`, which session lists show, `cost-state`,
from which a resumed session goes on counting, and `system` for the boundary of a compaction.

Provider-private data rides in the extra key `yume`: `origin` ("api/model"), `provider`, `opaque` (to be echoed to that
API), `block` (a block that has no shape here), `broken` (raw arguments), `joined` (one message with the prompt before).
"""

from __future__ import annotations

from yume_shim.store.cost_state import state_line
from yume_shim.store.message_entries import answer_fields, user_content
from yume_shim.types.blocks import Other, Text, ToolCall
from yume_shim.types.events import (
    BlockEnded,
    Compacted,
    Interrupted,
    ModeChanged,
    ModelChanged,
    NoteAdded,
    PartialKept,
    PromptTaken,
    RequestStarted,
    ResponseDropped,
    ResponseEnded,
    ResponseStarted,
    SessionChanged,
    SessionReady,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
)
from yume_shim.types.models import Usage
from yume_shim.types.shapes import assistant_block, interrupt_marker, message_usage, result_block, timestamp
from yume_shim.types.value import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from yume_shim.types.blocks import AssistantBlock, Json
    from yume_shim.types.errors import Failure
    from yume_shim.types.events import SessionInfo, Tagged

    Wording = Callable[[Failure], tuple[str, str]]
    """(category, text) of a failure, as the dialects word it."""
    Price = Callable[[str, Usage], "float | None"]
    """What an answer of a model costs in USD; None = not known."""

LONGEST_LAST_PROMPT = 200
"""Characters of the last prompt that a session list gets to show."""


@value
class Entry:
    """A transcript line. "open" ones are on disk before their figures are known and come again as "settled"."""

    line: Json
    state: Literal["whole", "open", "settled"] = "whole"


class Entries:
    """Makes the lines of one session. `leaf` is the uuid of the last line of a transcript that is continued."""

    def __init__(
        self,
        version: str,
        word: Wording,
        fresh_uuid: Callable[[], str],
        *,
        entrypoint: str = "sdk-cli",
        git_branch: str = "",
        leaf: str | None = None,
        price: Price | None = None,
    ) -> None:
        self._version = version
        self._word = word
        self._fresh_uuid = fresh_uuid
        self._entrypoint = entrypoint
        self._git_branch = git_branch
        self._price = price
        self.leaf = leaf
        self._info: SessionInfo | None = None
        self._session_id = ""
        self._origin = self._asked_model = self._provider = ""
        self._response: ResponseStarted | None = None
        self._message_id = ""
        self._answer: list[tuple[int | None, Json]] = []
        """The open lines: (index of the block, line); a kept piece has no index, it is never void."""
        self._call_lines: dict[str, str] = {}
        self._last_prompt = ""
        self._prompted = False
        """The last line is a prompt of this turn: one more is joined to it."""

    def feed(self, tagged: Tagged) -> list[Entry]:
        """The lines that this event brings. A subagent's events belong to its own transcript."""
        if tagged.parent_call_id is not None:
            return []
        event = tagged.event
        match event:
            case SessionReady() | TurnStarted():
                self._info, self._session_id = event.info, event.info.session_id
                self._provider = event.info.provider
            case SessionChanged():
                self._session_id, self.leaf, self._last_prompt = event.session_id, None, ""
            case ModelChanged():
                self._provider = event.provider
            case RequestStarted():
                self._origin, self._asked_model = event.origin, event.model
            case ResponseStarted():
                self._response, self._answer = event, []
                self._message_id = event.id or tagged.uuid
            case BlockEnded():
                return self._block(event.index, event.block, tagged)
            case PartialKept():
                return self._block(None, event.block, tagged)
            case ResponseEnded():
                return self._settle(event.stop_reason, event.stop_sequence, event.usage)
            case ResponseDropped():
                self._step_back(event.from_index)
                return self._settle(None, None, event.usage)
            case Compacted():
                return self._compacted(event, tagged)
            case TurnEnded():
                self._prompted = False
                return [*self._settle(None, None, Usage()), *self._closing(event)]
            case ModeChanged(mode):
                self._info = self._info and replace(self._info, permission_mode=mode)
            case PromptTaken() | NoteAdded() | ToolFinished() | Interrupted() | TurnFailed():
                line = self._message(tagged)
                return [] if line is None else [Entry(line)]
            case _:
                pass
        return []

    # ------------------------------------------------------------ the answer

    def _block(self, index: int | None, block: AssistantBlock, tagged: Tagged) -> list[Entry]:
        """None for a block with nothing in it. A kind that has no shape here leaves its line without content."""
        shape = assistant_block(block)
        if shape is None and isinstance(block, Text):
            return []
        started = self._response
        message: Json = {
            "id": self._message_id or tagged.uuid,
            "type": "message",
            "role": "assistant",
            "model": started.model if started is not None else self._asked_model,
            "content": [] if shape is None else [shape],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": message_usage(started.usage if started is not None else Usage()),
        }
        line = self._line("assistant", tagged.uuid, tagged.at)
        # Counters tell answers apart by message.id and requestId together; many providers have no request ids.
        line["requestId"] = (started.request_id if started is not None else "") or f"req_{message['id']}"
        if self._asked_model:
            line["requestedModel"] = self._asked_model
        if isinstance(block, ToolCall):
            self._call_lines[block.id] = tagged.uuid
        private = self._private(block)
        if private:
            line["yume"] = private
        line["message"] = message  # last: what is settled later is the end of the line
        self._answer.append((index, line))
        return [Entry(line, "open")]

    def _private(self, block: AssistantBlock) -> Json:
        private: Json = {}
        if self._origin:
            private["origin"] = self._origin
        if self._provider:
            private["provider"] = self._provider
        if isinstance(block, Other):
            private["block"] = {"api": block.api, "data": block.data}
        elif block.opaque:
            private["opaque"] = dict(block.opaque)
        if isinstance(block, ToolCall) and block.broken is not None:
            private["broken"] = block.broken
        return private

    def _settle(self, stop_reason: str | None, stop_sequence: str | None, usage: Usage) -> list[Entry]:
        """The open lines in their final form."""
        answer, self._answer = self._answer, []
        if usage == Usage() and self._response is not None:
            usage = self._response.usage
        cost = self._price(self._asked_model, usage) if self._price is not None and usage != Usage() else None
        entries = []
        for _, line in answer:
            message = line["message"] | {"stop_reason": stop_reason, "stop_sequence": stop_sequence}
            line = line | {"message": message | {"usage": message_usage(usage)}}
            if cost is not None:
                line["costUSD"] = cost
            entries.append(Entry(line, "settled"))
        return entries

    def _step_back(self, from_index: int) -> None:
        """Void blocks stay in the file as a branch that leads nowhere: the chain goes on before them."""
        for index, line in self._answer:
            if index is not None and index >= from_index:
                if self.leaf == self._answer[-1][1]["uuid"]:
                    self.leaf = line["parentUuid"]
                return

    # ------------------------------------------------------------ everything else

    def _message(self, tagged: Tagged) -> Json | None:
        event = tagged.event
        match event:
            case PromptTaken(repeated=True) | Interrupted(reason="priority"):
                return None
            case PromptTaken():
                return self._prompt(event, tagged)
            case NoteAdded():
                return self._user([{"type": "text", "text": event.text}], tagged) | {"isMeta": True}
            case Interrupted():
                return self._user([{"type": "text", "text": interrupt_marker(event.phase)}], tagged)
            case ToolFinished():
                line = self._user([result_block(event.result)], tagged)
                if event.structured is not None:
                    line["toolUseResult"] = event.structured
                source = self._call_lines.pop(event.call.id, None)
                if source is not None:
                    line["sourceToolAssistantUUID"] = source
                return line
            case TurnFailed():
                return self._failed(event.failure, tagged)
            case _:
                return None

    def _prompt(self, event: PromptTaken, tagged: Tagged) -> Json:
        content = _stored(event)
        self._last_prompt = content if isinstance(content, str) else _first_text(content)
        joined = self._prompted
        line = self._line("user", event.uuid or tagged.uuid, tagged.at)
        line["message"] = {"role": "user", "content": content}
        if self._info is not None:
            line["permissionMode"] = self._info.permission_mode
        if joined:
            line["yume"] = {"joined": True}
        self._prompted = True
        return line

    def _failed(self, failure: Failure, tagged: Tagged) -> Json:
        category, text = self._word(failure)
        line = self._line("assistant", tagged.uuid, tagged.at)
        line["message"] = {
            "id": tagged.uuid,
            "type": "message",
            "role": "assistant",
            "model": "<synthetic>",  # usage counters pass over this name
            "content": [{"type": "text", "text": text}],
            "stop_reason": "stop_sequence",
            "stop_sequence": "",
            "usage": message_usage(Usage()),
        }
        return line | {"isApiErrorMessage": True, "error": category}

    def _compacted(self, event: Compacted, tagged: Tagged) -> list[Entry]:
        """The boundary, which is a new root; the summary; and what stays in sight behind it, as copies."""
        before, self.leaf = self.leaf, None
        boundary = self._line("system", event.boundary_uuid, tagged.at) | {
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "isMeta": False,
            "level": "info",
            "logicalParentUuid": before,
            "compactMetadata": {"trigger": event.trigger, "preTokens": event.before, "postTokens": event.after},
        }
        summary = self._line("user", tagged.uuid, tagged.at)
        summary |= {"message": {"role": "user", "content": user_content(event.summary)}, "isCompactSummary": True}
        entries = [Entry(boundary), Entry(summary)]
        for message in event.kept:
            if message.role == "user":
                fields: list[Json] = [{"message": {"role": "user", "content": user_content(message)}}]
            else:
                fields = answer_fields(message, f"msg_{self._fresh_uuid()}")
            entries += [Entry(self._line(message.role, self._fresh_uuid(), tagged.at) | each) for each in fields]
        return entries

    def _closing(self, event: TurnEnded) -> list[Entry]:
        entries = []
        if event.model_usage:
            entries.append(Entry(state_line(self._session_id, event.total_cost_usd, event.model_usage)))
        if self._last_prompt and self.leaf is not None:
            shown = self._last_prompt[:LONGEST_LAST_PROMPT]
            line = {"type": "last-prompt", "lastPrompt": shown, "leafUuid": self.leaf}
            entries.append(Entry(line | {"sessionId": self._session_id}))
        return entries

    def _user(self, content: list[Json], tagged: Tagged) -> Json:
        line = self._line("user", tagged.uuid, tagged.at)
        line["message"] = {"role": "user", "content": content}
        return line

    def _line(self, kind: str, uuid: str, at: float) -> Json:
        """The next link of the chain, without its message."""
        parent, self.leaf = self.leaf, uuid
        self._prompted = False
        return {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": self._info.cwd if self._info is not None else "",
            "sessionId": self._session_id,
            "version": self._version,
            "gitBranch": self._git_branch,
            "entrypoint": self._entrypoint,
            "type": kind,
            "uuid": uuid,
            "timestamp": timestamp(at),
        }


def _stored(event: PromptTaken) -> str | list[Json]:
    """The prompt as the host sent it; a lone plain text becomes a string, which is what session lists take titles
    from."""
    if isinstance(event.content, str):
        return event.content
    blocks = list(event.content)
    if len(blocks) == 1 and blocks[0].keys() == {"type", "text"} and isinstance(blocks[0]["text"], str):
        return blocks[0]["text"]
    return blocks


def _first_text(blocks: list[Json]) -> str:
    for block in blocks:
        text = block.get("text")
        if isinstance(text, str) and text:
            return text
    return ""
