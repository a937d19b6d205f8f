"""A transcript -> the conversation it holds.

The file is read once, line by line. Lines form a tree through `parentUuid`; the conversation is the way from its last
line back to the root, which a compaction sets anew. What was compacted away is forgotten while reading, so memory is
that of the living part, not of the file. Torn and foreign lines are passed over; the file is never changed here.
"""

from __future__ import annotations

import gc
import os

from yume_shim.store.content import assistant_blocks, user_blocks
from yume_shim.store.cost_state import Spent
from yume_shim.store.tree import Answered, Boundary, Node, Said, Tree, messages
from yume_shim.text import codec
from yume_shim.types.errors import StoreFailed
from yume_shim.types.shapes import SHAPE_API
from yume_shim.types.stored_session import StoredSession

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO

    from yume_shim.types.blocks import Json, Message

LONGEST_LINE = 256 * 1024 * 1024
"""A longer line is no line of ours: it is passed over without being held in memory whole."""
READ_BYTES = 1 << 20
WORTH_WARMING = 300_000
"""Bytes from which loading the fast parser costs less than it saves."""
SYNTHETIC = "<synthetic>"
"""The `model` of lines that a program made up: they are not history."""

_LINKS = frozenset(("user", "assistant", "system", "attachment", "progress"))
"""Types that are part of the chain."""
_NOTES = frozenset(("custom-title", "ai-title", "agent-name", "summary"))
_LATEST = frozenset(("last-prompt", "cost-state"))
_START = b'{"type":"'


class NoSuchMessage(StoreFailed):
    """The uuid to go on from is not in the transcript."""


def load(path: str, at: str = "") -> StoredSession | None:
    """Read a session; None if there is no conversation in it. `at` is the uuid of the line to go on from. Raises
    StoreFailed if the file cannot be read, NoSuchMessage if it has no such line."""
    gc.disable()  # everything that is made here stays: the collector would only go over it again and again
    try:
        return _load(path, at)
    finally:
        gc.enable()
        gc.freeze()


def _load(path: str, at: str) -> StoredSession | None:
    try:
        if os.path.getsize(path) > WORTH_WARMING:
            codec.warm()
        reader = _Reader(forget=not at)
        reader.read(path)
        if reader.lost_sight(at):  # a branch that starts before a compaction: read again, keeping everything
            reader = _Reader(forget=False)
            reader.read(path)
    except OSError as error:
        raise StoreFailed(f"{path} cannot be read: {error.strerror or error}") from None
    leaf = reader.tree.nodes.get(at or reader.last)
    if leaf is not None:
        return reader.past(leaf, os.path.basename(path).removesuffix(".jsonl"))
    if at:
        raise NoSuchMessage(at)
    return None


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file; one that is longer than any of ours comes as an empty one."""
    while True:
        line = file.readline(LONGEST_LINE)
        if not line:
            return
        if len(line) < LONGEST_LINE or line.endswith(b"\n"):
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(READ_BYTES)
        yield b"?\n"


class _Reader:
    def __init__(self, *, forget: bool) -> None:
        self._forget = forget
        self._forgot = False
        self.tree = Tree()
        self.last = ""
        self._spent = Spent()
        self._skipped = 0
        self._notes: dict[str, str] = {}
        self._last_prompt = b""
        self._usage: tuple[str, Any] = ("", None)
        """The newest answer's line and its figures."""
        self._written_by: dict[tuple[Any, ...], tuple[tuple[str, str], str]] = {}
        """(model, origin): the same on thousands of lines, so it is made once."""

    # ------------------------------------------------------------ reading

    def read(self, path: str) -> None:
        loads = codec.loads
        with open(path, "rb", buffering=READ_BYTES) as file:
            for raw in lines_of(file):
                if raw.startswith(_START):
                    kind = raw[len(_START) : raw.find(b'"', len(_START))].decode("latin-1")
                    if kind in _LATEST:  # only the last of them counts
                        self._latest(kind, raw)
                        continue
                    if kind not in _LINKS and kind not in _NOTES:
                        continue
                elif raw.isspace():
                    continue
                try:
                    line = loads(raw)
                except ValueError:
                    line = None
                if isinstance(line, dict):
                    self._take(line)
                else:
                    self._skipped += 1

    def _take(self, line: Json) -> None:
        kind, uuid, parent = line.get("type"), line.get("uuid"), line.get("parentUuid")
        if not isinstance(uuid, str) or line.get("isSidechain"):
            if kind in _NOTES:
                self._note(line)
            return
        tree = self.tree
        above, place = tree.above(parent if isinstance(parent, str) else None)
        if kind == "assistant":
            self.last = uuid
            node = self._assistant(uuid, above, place, line)
        elif kind == "user":
            self.last = uuid
            node = self._user(uuid, above, place, line)
        elif kind == "attachment":
            node = self._attachment(uuid, above, place, line)
        elif kind == "system" and line.get("subtype") == "compact_boundary":
            if self._forget and above is None:
                self._forgot = self._forgot or bool(tree.nodes)
                tree.start_over()
                place = 0
            node = Boundary(uuid, above, place)
        elif kind in _LINKS:
            node = Node(uuid, above, place)
        else:
            if kind in _NOTES:
                self._note(line)
            return
        tree.grow(node)

    def _user(self, uuid: str, above: Node | str | None, place: int, line: Json) -> Node:
        if "cwd" not in self._notes and isinstance(line.get("cwd"), str):
            self._notes["cwd"] = line["cwd"]
        message, private = line.get("message"), line.get("yume")
        if not isinstance(message, dict) or line.get("isVisibleInTranscriptOnly"):
            return Node(uuid, above, place)
        joined = isinstance(private, dict) and private.get("joined") is True
        return Said(uuid, above, place, user_blocks(message.get("content")), joined)

    def _assistant(self, uuid: str, above: Node | str | None, place: int, line: Json) -> Node:
        message = line.get("message")
        if not isinstance(message, dict) or message.get("model") == SYNTHETIC or line.get("isApiErrorMessage"):
            return Node(uuid, above, place)
        private, message_id = line.get("yume"), message.get("id")
        if not isinstance(private, dict):
            private = {}
        node = Answered(uuid, above, place, assistant_blocks(message.get("content"), private))
        if isinstance(message_id, str):
            node.message_id = message_id
        self._usage = (uuid, message.get("usage"))
        written_by = (private.get("provider"), line.get("requestedModel"), private.get("origin"), message.get("model"))
        try:
            known = self._written_by[written_by]
        except KeyError:
            known = self._written_by[written_by] = _author(*written_by)
        except TypeError:  # something that is no text stands there
            known = _author(*written_by)
        node.model, node.origin = known
        cost = line.get("costUSD")
        if cost is not None and isinstance(cost, (int, float)):
            self._spent.response(node.message_id, node.model[1], message.get("usage"), cost)
        return node

    def _attachment(self, uuid: str, above: Node | str | None, place: int, line: Json) -> Node:
        """Of the Claude CLI's attachments only prompts that waited in its queue are somebody's words."""
        found = line.get("attachment")
        if isinstance(found, dict) and found.get("type") == "queued_command" and found.get("prompt"):
            return Said(uuid, above, place, user_blocks(found["prompt"]), False)
        return Node(uuid, above, place)

    def _latest(self, kind: str, raw: bytes) -> None:
        if kind == "cost-state":
            self._spent.state(raw)
        else:
            self._last_prompt = raw

    def _note(self, line: Json) -> None:
        for key in ("customTitle", "aiTitle", "agentName", "summary"):
            if isinstance(line.get(key), str):
                self._notes[key] = line[key]

    # ------------------------------------------------------------ the conversation

    def lost_sight(self, at: str) -> bool:
        """Does the conversation come from before a compaction, so that its beginning was forgotten?"""
        if not self._forgot:
            return False
        leaf = self.tree.nodes.get(at or self.last)
        return leaf is None or self.tree.chain(leaf)[0].kind != "boundary" or self.tree.bridged

    def past(self, leaf: Node, session_id: str) -> StoredSession:
        chain = self.tree.with_strays(self.tree.chain(leaf))
        provider, model = next((node.model for node in reversed(chain) if isinstance(node, Answered)), ("", ""))
        notes, history = self._notes, messages(chain)
        return StoredSession(
            session_id=session_id,
            history=history,
            leaf=leaf.uuid,
            model=f"{provider}/{model}" if provider else "",
            foreign_model="" if provider else model,
            used=self._spent.by_model(),
            title=notes.get("customTitle") or notes.get("aiTitle") or notes.get("summary") or "",
            last_prompt=_last_prompt(self._last_prompt),
            cwd=notes.get("cwd", ""),
            chain=tuple([node.uuid for node in chain]),
            skipped=self._skipped,
            counted=self._counted(chain, history),
        )

    def _counted(self, chain: list[Node], history: tuple[Message, ...]) -> tuple[int, int, str]:
        """How large the context was after the newest answer of this conversation, if its figures were told."""
        newest = next((node for node in reversed(chain) if isinstance(node, Answered)), None)
        uuid, usage = self._usage
        if newest is None or newest.uuid != uuid or not isinstance(usage, dict):
            return 0, 0, ""
        names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
        figures = [figure for name in names if isinstance(figure := usage.get(name), int)]
        if len(figures) != len(names) or not sum(figures[:3]):
            return 0, 0, ""
        covered = next((n for n in range(len(history), 0, -1) if history[n - 1].role == "assistant"), 0)
        return sum(figures), covered, newest.origin


def _author(provider: Any, asked: Any, origin: Any, model: Any) -> tuple[tuple[str, str], str]:
    """((provider, model), origin) of an answer. Without our own words for it, it is what the Claude CLI got."""
    if not (isinstance(provider, str) and isinstance(asked, str)):
        provider, asked = "", model if isinstance(model, str) else ""
    return (provider, asked), origin if isinstance(origin, str) else f"{SHAPE_API}/{asked}"


def _last_prompt(raw: bytes) -> str:
    try:
        line = codec.loads(raw) if raw else {}
    except ValueError:
        return ""
    found = line.get("lastPrompt") if isinstance(line, dict) else ""
    return found if isinstance(found, str) else ""
