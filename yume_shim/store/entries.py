"""Turns events into transcript lines in the Claude CLI's form: a chain of `user` and `assistant` lines.

Every line is made as soon as its event is emitted, so that everything a host has read is on disk. The lines of an
answer are made twice, first "open" and then "settled" (`answer_lines.py`).

Readers need only `user` and `assistant`. The other lines are `last-prompt`, which session lists show, `cost-state`,
from which a resumed session continues counting, and `system` for the boundary of a compaction and for failed requests.

Data that only this program reads is in the extra key `yume`: `origin` ("api/model"), `provider`, `opaque` (to be sent
back to that API), `block` (a block that has no shape here), `broken` (raw arguments), `joined` (part of the same
message as the prompt before), and times that took more than nothing: `first_ms` (to the start of an answer),
`duration_ms` (of a call), `waited_ms` (for its approval).
"""

from __future__ import annotations

from yume_shim.store.answer_lines import AnswerLines, is_empty
from yume_shim.store.cost_state import cost_state_line
from yume_shim.store.line_chain import LineChain
from yume_shim.types.blocks import Text, ToolCall
from yume_shim.types.events import (
    ApprovalAsked,
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
    Retrying,
    SessionChanged,
    SessionReady,
    TitleChanged,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
)
from yume_shim.types.models import Usage
from yume_shim.types.shapes import SYNTHETIC_MODEL, interrupt_marker, message_usage, result_block
from yume_shim.types.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from yume_shim.store.answer_lines import Price
    from yume_shim.types.blocks import AssistantBlock, Json
    from yume_shim.types.child import Child
    from yume_shim.types.errors import Failure
    from yume_shim.types.events import SessionInfo, Tagged

    DescribeFailure = Callable[[Failure], tuple[str, str]]
    """(category, text) of a failure, in the dialects' wording."""

MAX_LAST_PROMPT = 200
"""Characters of the last prompt that session lists can show."""


class Entry(Value):
    """A transcript line. An "open" line is written before its figures are known and comes again as "settled"."""

    line: Json
    state: Literal["whole", "open", "settled"] = "whole"


class Entries:
    """Makes the lines of one transcript. `leaf` is the uuid of the last line of a transcript that is continued."""

    def __init__(
        self,
        version: str,
        describe_failure: DescribeFailure,
        fresh_uuid: Callable[[], str],
        *,
        entrypoint: str = "sdk-cli",
        git_branch: str = "",
        leaf: str | None = None,
        price: Price | None = None,
    ) -> None:
        self._describe_failure = describe_failure
        self._fresh_uuid = fresh_uuid
        self._chain = LineChain(version, entrypoint, git_branch, leaf)
        self._answer = AnswerLines(price)
        self._parent_call_id: str | None = None
        self._call_lines: dict[str, str] = {}
        """Call id -> uuid of the line that holds the call."""
        self._asked: dict[str, float] = {}
        """Call id -> when the host was asked for approval."""
        self._last_prompt = ""
        self._prompted = False
        """The last line is a prompt of this turn: the next prompt joins it."""
        self._waiting_title = ""
        """A title from before the first line: a transcript begins with a conversation."""

    def for_child(self, child: Child, info: SessionInfo | None = None) -> Entries:
        """The lines of a subagent of this session. `info` describes the subagent where it differs from the session
        (model, permission mode)."""
        entries = Entries("", self._describe_failure, self._fresh_uuid, price=self._answer.price)
        entries._parent_call_id = child.call_id
        entries._chain = self._chain.for_child(child)
        entries._answer.provider = child.provider or self._answer.provider
        if info is not None:
            entries._chain.info, entries._answer.provider = info, info.provider
        return entries

    def fresh_uuid(self) -> str:
        """A uuid for a line that no event has."""
        return self._fresh_uuid()

    def open_line(self, text: str, uuid: str, at: float) -> Json:
        """The line of a text block that is not complete. The chain does not count it: the complete block follows."""
        leaf, prompted = self._chain.leaf, self._prompted
        line = self._answer.early(Text(text), self._line("assistant", uuid, at))
        self._chain.leaf, self._prompted = leaf, prompted
        return line

    def records(self, tagged: Tagged) -> bool:
        """Does this event belong to this transcript? The events of a subagent carry the id of the call that started
        it, and have their own transcript."""
        return tagged.parent_call_id == self._parent_call_id

    def feed(self, tagged: Tagged) -> list[Entry]:
        """The lines for this event."""
        if not self.records(tagged):
            return []
        event = tagged.event
        match event:
            case SessionReady() | TurnStarted():
                self._chain.info, self._chain.session_id = event.info, event.info.session_id
                self._answer.provider = event.info.provider
            case SessionChanged():
                self._chain.session_id, self._chain.leaf, self._last_prompt = event.session_id, None, ""
                self._waiting_title = ""
            case ModelChanged():
                self._answer.provider = event.provider
            case ModeChanged(mode):
                self._chain.info = self._chain.info and replace(self._chain.info, permission_mode=mode)
            case RequestStarted():
                self._answer.request_started(event, tagged.at)
            case ResponseStarted():
                self._answer.response_started(event, tagged.uuid, tagged.at)
            case BlockEnded():
                return self._block(event.index, event.block, tagged)
            case PartialKept():
                return self._block(None, event.block, tagged)
            case ResponseEnded():
                return self._settle(event.stop_reason, event.stop_sequence, event.usage)
            case ResponseDropped():
                self._chain.leaf = self._answer.leaf_without(event.from_index, self._chain.leaf)
                return self._settle(None, None, event.usage)
            case Compacted():
                return self._compacted(event, tagged)
            case Retrying():
                return self._retrying(event, tagged)
            case ApprovalAsked():
                self._asked[event.call.id] = tagged.at
            case TitleChanged():
                self._waiting_title = event.title
                return self._title() if self._chain.leaf is not None else []
            case TurnEnded():
                self._prompted = False
                return [*self._settle(None, None, Usage()), *self._closing(event)]
            case PromptTaken() | NoteAdded() | ToolFinished() | Interrupted() | TurnFailed():
                line = self._message(tagged)
                return [] if line is None else [*self._title(), Entry(line)]
            case _:
                pass
        return []

    def _title(self) -> list[Entry]:
        if not self._waiting_title:
            return []
        from yume_shim.store.titles import title_lines

        title, self._waiting_title = self._waiting_title, ""
        return [Entry(line) for line in title_lines(self._chain.session_id, title)]

    # ------------------------------------------------------------ the answer

    def _block(self, index: int | None, block: AssistantBlock, tagged: Tagged) -> list[Entry]:
        if is_empty(block):
            return []
        if isinstance(block, ToolCall):
            self._call_lines[block.id] = tagged.uuid
        line = self._line("assistant", tagged.uuid, tagged.at)
        return [Entry(self._answer.add(index, block, line), "open")]

    def _settle(self, stop_reason: str | None, stop_sequence: str | None, usage: Usage) -> list[Entry]:
        return [Entry(line, "settled") for line in self._answer.settle(stop_reason, stop_sequence, usage)]

    # ------------------------------------------------------------ everything else

    def _message(self, tagged: Tagged) -> Json | None:
        event = tagged.event
        match event:
            case PromptTaken(repeated=True) | Interrupted(reason="priority"):
                return None
            case PromptTaken():
                return self._prompt(event, tagged)
            case NoteAdded():
                line = self._user([{"type": "text", "text": event.text}], tagged) | {"isMeta": True}
                if event.counts:  # it asks for an answer: without one it is not part of the conversation
                    line["yume"] = {"asks": True}
                return line
            case Interrupted():
                return self._user([{"type": "text", "text": interrupt_marker(event.phase)}], tagged)
            case ToolFinished():
                line = self._user([result_block(event.result)], tagged)
                if event.structured is not None:
                    line["toolUseResult"] = event.structured
                times = self._times(event, tagged.at)
                if times:
                    line["yume"] = times
                source = self._call_lines.pop(event.call.id, None)
                if source is not None:
                    line["sourceToolAssistantUUID"] = source
                return line
            case TurnFailed():
                return self._failed(event.failure, tagged)
            case _:
                return None

    def _times(self, event: ToolFinished, at: float) -> Json:
        """How long a call took and how long it waited for approval: a page of the session shows them."""
        asked = self._asked.pop(event.call.id, None)
        waited = round((at - asked) * 1000) - event.duration_ms if asked is not None else 0
        found = {"duration_ms": event.duration_ms, "waited_ms": waited}
        return {name: spent for name, spent in found.items() if spent > 0}

    def _retrying(self, event: Retrying, tagged: Tagged) -> list[Entry]:
        """A line beside the conversation."""
        from yume_shim.store.retry_lines import retry_line

        self._answer.requested(tagged.at + event.wait_ms / 1000)
        leaf, prompted = self._chain.leaf, self._prompted
        if leaf is None:  # a transcript begins with a conversation
            return []
        line = retry_line(event, self._line("system", tagged.uuid, tagged.at))
        self._chain.leaf, self._prompted = leaf, prompted
        return [Entry(line)]

    def _prompt(self, event: PromptTaken, tagged: Tagged) -> Json:
        content = _stored(event)
        if event.origin is None:
            self._last_prompt = content if isinstance(content, str) else _first_text(content)
        joined = self._prompted
        line = self._line("user", event.uuid or tagged.uuid, tagged.at)
        line["message"] = {"role": "user", "content": content}
        if self._chain.info is not None:
            line["permissionMode"] = self._chain.info.permission_mode
        if event.origin is not None:  # nobody typed it: it is neither a title nor the last prompt
            line["origin"] = {"kind": event.origin.kind, "producer": "session-task", "runId": event.origin.run_id}
            line["promptSource"] = "system"
        if joined:
            line["yume"] = {"joined": True}
        self._prompted = True
        return line

    def _failed(self, failure: Failure, tagged: Tagged) -> Json:
        category, text = self._describe_failure(failure)
        line = self._line("assistant", tagged.uuid, tagged.at)
        line["message"] = {
            "id": tagged.uuid,
            "type": "message",
            "role": "assistant",
            "model": SYNTHETIC_MODEL,
            "content": [{"type": "text", "text": text}],
            "stop_reason": "stop_sequence",
            "stop_sequence": "",
            "usage": message_usage(Usage()),
        }
        return line | {"isApiErrorMessage": True, "error": category}

    def _compacted(self, event: Compacted, tagged: Tagged) -> list[Entry]:
        """The boundary, which is a new root; the summary; and copies of the messages that were kept."""
        from yume_shim.store.message_entries import answer_fields, user_content

        before, self._chain.leaf = self._chain.leaf, None
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
        """The lines at the end of a turn. They describe the session: a subagent has none."""
        session_id, leaf = self._chain.session_id, self._chain.leaf
        entries: list[Entry] = []
        if self._parent_call_id is not None:
            return entries
        if event.model_usage:
            entries.append(Entry(cost_state_line(session_id, event.total_cost_usd, event.model_usage)))
        if self._last_prompt and leaf is not None:
            shown = self._last_prompt[:MAX_LAST_PROMPT]
            line = {"type": "last-prompt", "lastPrompt": shown, "leafUuid": leaf, "sessionId": session_id}
            entries.append(Entry(line))
        return entries

    def _user(self, content: list[Json], tagged: Tagged) -> Json:
        line = self._line("user", tagged.uuid, tagged.at)
        line["message"] = {"role": "user", "content": content}
        return line

    def _line(self, kind: str, uuid: str, at: float) -> Json:
        self._prompted = False
        return self._chain.next_line(kind, uuid, at)


def _stored(event: PromptTaken) -> str | list[Json]:
    """The prompt as the host sent it; a single plain text becomes a string, because session lists take titles from
    strings."""
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
