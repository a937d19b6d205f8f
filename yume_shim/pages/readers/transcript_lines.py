"""Parses the lines of a transcript and finds out which of them are the conversation. The page shows everything that
happened, in the order of the file: also what is before a compaction, and branches that were left."""

from __future__ import annotations

from yume_shim.text.codec import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from yume_shim.types.blocks import Json

SPOKEN = ("user", "assistant")


class Lines:
    """The lines of one file."""

    def __init__(self, raw_lines: Iterable[bytes]) -> None:
        self.all: list[Json] = []
        self.unread = 0
        self._by_uuid: dict[str, int] = {}
        for raw in raw_lines:
            if raw.isspace():
                continue
            try:
                line = loads(raw)
            except ValueError:
                line = None
            if not isinstance(line, dict):
                self.unread += 1
                continue
            uuid = line.get("uuid")
            if isinstance(uuid, str):
                known = self._by_uuid.get(uuid)
                if known is not None:  # written twice: the later one has the figures
                    self.all[known] = line
                    continue
                self._by_uuid[uuid] = len(self.all)
            self.all.append(line)

    def left(self) -> dict[int, str]:
        """Place → why a line is not part of the conversation."""
        chain = self._chain()
        messages: set[str] = set()
        calls: set[str] = set()
        for place in sorted(chain):
            _note(self.all[place], messages, calls)
        found: dict[int, str] = {}
        for place, line in enumerate(self.all):
            if place in chain or line.get("type") not in SPOKEN or line.get("isSidechain"):
                continue
            if line["type"] == "assistant" and message_id(line) in messages:
                _note(line, messages, calls)  # calls side by side are written as branches
            elif not (results := _result_ids(line)) or not results <= calls:
                found[place] = "Not part of the conversation: a branch that was left, or an answer that was dropped"
        return found | self._copies()

    def _chain(self) -> set[int]:
        """The places from the last line back to the first, across compactions."""
        place = next((at for at in range(len(self.all) - 1, -1, -1) if _is_main(self.all[at])), -1)
        chain: set[int] = set()
        while place >= 0 and place not in chain:
            chain.add(place)
            line = self.all[place]
            parent = line.get("parentUuid") or line.get("logicalParentUuid")
            if parent is None:
                break
            above = self._by_uuid.get(parent) if isinstance(parent, str) else None
            place = place - 1 if above is None else above  # a torn line loses only itself
        return chain

    def _copies(self) -> dict[int, str]:
        """After a compaction this program writes the messages that it kept once more, with the time of the boundary."""
        found: dict[int, str] = {}
        stamp: object = None
        for place, line in enumerate(self.all):
            if line.get("subtype") == "compact_boundary":
                stamp = line.get("timestamp")
            elif stamp is not None and line.get("type") in SPOKEN and not line.get("isCompactSummary"):
                if line.get("timestamp") != stamp or "permissionMode" in line or "costUSD" in line:
                    stamp = None
                else:
                    found[place] = "Kept word for word by the compaction"
        return found


def message_id(line: Json) -> str:
    """The id of the message that a line is part of."""
    message = line.get("message")
    found = message.get("id") if isinstance(message, dict) else None
    return found if isinstance(found, str) else ""


def content_of(line: Json) -> object:
    """The content of the message in a line."""
    message = line.get("message")
    return message.get("content") if isinstance(message, dict) else None


def _is_main(line: Json) -> bool:
    return line.get("type") in SPOKEN and not line.get("isSidechain") and isinstance(line.get("uuid"), str)


def _note(line: Json, messages: set[str], calls: set[str]) -> None:
    if line.get("type") != "assistant":
        return
    if found := message_id(line):
        messages.add(found)
    content = content_of(line)
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and isinstance(block.get("id"), str):
            calls.add(block["id"])


def _result_ids(line: Json) -> set[str]:
    content = content_of(line)
    blocks = content if isinstance(content, list) else ()
    return {
        block["tool_use_id"]
        for block in blocks
        if isinstance(block, dict) and isinstance(block.get("tool_use_id"), str)
    }
