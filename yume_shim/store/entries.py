"""Events -> transcript lines in the Claude CLI's form: a chain of `user` and `assistant` lines.

An answer's lines are held until its final usage and stop reason are known; whatever else comes meanwhile waits behind
them, so that the chain has the order of the conversation. Readers need only `user` and `assistant`; the one other line,
`last-prompt`, is what session lists show.

Provider-private data rides in the extra key `yume`: `origin` ("api/model"), `opaque` (to be echoed to that API),
`block` (a block that has no shape here), `broken` (raw arguments).
"""

from __future__ import annotations

from yume_shim.types.blocks import Other, Text, ToolCall
from yume_shim.types.events import (
    BlockEnded,
    Interrupted,
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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.types.blocks import AssistantBlock, Json
    from yume_shim.types.errors import Failure
    from yume_shim.types.events import SessionInfo, Tagged

    Wording = Callable[[Failure], tuple[str, str]]
    """(category, text) of a failure, as the dialects word it."""

LONGEST_LAST_PROMPT = 200
"""Characters of the last prompt that a session list gets to show."""


class Entries:
    """Makes the lines of one session. `leaf` is the uuid of the last line of a transcript that is continued."""

    def __init__(
        self, version: str, word: Wording, *, entrypoint: str = "sdk-cli", git_branch: str = "", leaf: str | None = None
    ) -> None:
        self._version = version
        self._word = word
        self._entrypoint = entrypoint
        self._git_branch = git_branch
        self._leaf = leaf
        self._info: SessionInfo | None = None
        self._session_id = ""
        self._origin = self._asked_model = ""
        self._response: ResponseStarted | None = None
        self._message_id = ""
        self._answering = False
        self._answer: list[tuple[int | None, Tagged, AssistantBlock]] = []
        self._behind: list[Tagged] = []
        self._call_lines: dict[str, str] = {}
        self._last_prompt = ""

    def feed(self, tagged: Tagged) -> list[Json]:
        """The lines that are ready after this event. A subagent's events belong to its own transcript."""
        if tagged.parent_call_id is not None:
            return []
        event = tagged.event
        match event:
            case SessionReady() | TurnStarted():
                self._info, self._session_id = event.info, event.info.session_id
                return []
            case SessionChanged():
                self._session_id, self._leaf, self._last_prompt = event.session_id, None, ""
                return []
            case RequestStarted():
                self._origin, self._asked_model = event.origin, event.model
                return []
            case ResponseStarted():
                self._response, self._answering = event, True
                self._message_id = event.id or tagged.uuid
                return []
            case BlockEnded():
                self._answer.append((event.index, tagged, event.block))
                return []
            case PartialKept():
                self._answer.append((None, tagged, event.block))
                return [] if self._answering else self._flush(None, None, Usage())
            case ResponseEnded():
                return self._flush(event.stop_reason, event.stop_sequence, event.usage)
            case ResponseDropped():
                self._answer = [held for held in self._answer if held[0] is None or held[0] < event.from_index]
                return self._flush(None, None, event.usage)
            case TurnEnded():
                return self._flush(None, None, Usage()) + self._closing()
            case PromptTaken(repeated=True) | Interrupted(reason="priority"):
                return []
            case PromptTaken() | NoteAdded() | ToolFinished() | Interrupted() | TurnFailed():
                if self._answering:
                    self._behind.append(tagged)
                    return []
                return self._message(tagged)
            case _:
                return []

    # ------------------------------------------------------------ the answer

    def _flush(self, stop_reason: str | None, stop_sequence: str | None, usage: Usage) -> list[Json]:
        """The held lines of the answer, then what waited behind them."""
        started = self._response
        if usage == Usage() and started is not None:
            usage = started.usage
        answer, self._answer = self._answer, []
        behind, self._behind = self._behind, []
        self._answering = False
        lines = []
        for _, tagged, block in answer:
            message = self._assistant_message(block, stop_reason, stop_sequence, usage)
            if message is not None:
                lines.append(self._assistant_line(tagged, block, message))
        for tagged in behind:
            lines += self._message(tagged)
        return lines

    def _assistant_message(
        self, block: AssistantBlock, stop_reason: str | None, stop_sequence: str | None, usage: Usage
    ) -> Json | None:
        """None for a block with nothing in it. A kind that has no shape here leaves its line without content."""
        shape = assistant_block(block)
        if shape is None and isinstance(block, Text):
            return None
        started = self._response
        return {
            "id": self._message_id,
            "type": "message",
            "role": "assistant",
            "model": started.model if started is not None else self._asked_model,
            "content": [] if shape is None else [shape],
            "stop_reason": stop_reason,
            "stop_sequence": stop_sequence,
            "usage": message_usage(usage),
        }

    def _assistant_line(self, tagged: Tagged, block: AssistantBlock, message: Json) -> Json:
        line = self._line("assistant", message, tagged.uuid, tagged.at)
        if self._response is not None and self._response.request_id:
            line["requestId"] = self._response.request_id
        if self._asked_model:
            line["requestedModel"] = self._asked_model
        private: Json = {}
        if self._origin:
            private["origin"] = self._origin
        if isinstance(block, Other):
            private["block"] = {"api": block.api, "data": block.data}
        elif block.opaque:
            private["opaque"] = dict(block.opaque)
        if isinstance(block, ToolCall):
            self._call_lines[block.id] = tagged.uuid
            if block.broken is not None:
                private["broken"] = block.broken
        if private:
            line["yume"] = private
        return line

    # ------------------------------------------------------------ everything else

    def _message(self, tagged: Tagged) -> list[Json]:
        event = tagged.event
        match event:
            case PromptTaken():
                return [self._prompt(event, tagged)]
            case NoteAdded():
                return [self._user([{"type": "text", "text": event.text}], tagged) | {"isMeta": True}]
            case Interrupted():
                return [self._user([{"type": "text", "text": interrupt_marker(event.phase)}], tagged)]
            case ToolFinished():
                line = self._user([result_block(event.result)], tagged)
                if event.structured is not None:
                    line["toolUseResult"] = event.structured
                source = self._call_lines.pop(event.call.id, None)
                if source is not None:
                    line["sourceToolAssistantUUID"] = source
                return [line]
            case TurnFailed():
                return [self._failed(event.failure, tagged)]
            case _:
                return []

    def _prompt(self, event: PromptTaken, tagged: Tagged) -> Json:
        content = _stored(event)
        self._last_prompt = content if isinstance(content, str) else _first_text(content)
        line = self._line("user", {"role": "user", "content": content}, event.uuid or tagged.uuid, tagged.at)
        if self._info is not None:
            line["permissionMode"] = self._info.permission_mode
        return line

    def _failed(self, failure: Failure, tagged: Tagged) -> Json:
        category, text = self._word(failure)
        message: Json = {
            "id": tagged.uuid,
            "type": "message",
            "role": "assistant",
            "model": "<synthetic>",  # usage counters pass over this name
            "content": [{"type": "text", "text": text}],
            "stop_reason": "stop_sequence",
            "stop_sequence": "",
            "usage": message_usage(Usage()),
        }
        return self._line("assistant", message, tagged.uuid, tagged.at) | {"isApiErrorMessage": True, "error": category}

    def _closing(self) -> list[Json]:
        if not self._last_prompt or self._leaf is None:
            return []
        line = {"type": "last-prompt", "lastPrompt": self._last_prompt[:LONGEST_LAST_PROMPT], "leafUuid": self._leaf}
        return [line | {"sessionId": self._session_id}]

    def _user(self, content: list[Json], tagged: Tagged) -> Json:
        return self._line("user", {"role": "user", "content": content}, tagged.uuid, tagged.at)

    def _line(self, kind: str, message: Json, uuid: str, at: float) -> Json:
        """The next link of the chain."""
        parent, self._leaf = self._leaf, uuid
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
            "message": message,
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
