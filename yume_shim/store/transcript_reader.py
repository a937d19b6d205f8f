"""Reads a transcript file once, line by line, into a tree of lines and the facts next to it.

Lines from before a compaction are forgotten while reading, so the reader needs the memory of the current conversation,
not of the file.
"""

from __future__ import annotations

from zlib import crc32

from yume_shim.disk.bounded import open_regular
from yume_shim.store.content import assistant_blocks, user_blocks
from yume_shim.store.cost_state import CostReader
from yume_shim.store.tree import AssistantNode, Boundary, Node, NoteNode, Tree, UserNode
from yume_shim.text import codec
from yume_shim.types.blocks import Text
from yume_shim.types.models import ANTHROPIC_MESSAGES
from yume_shim.types.shapes import SYNTHETIC_MODEL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, BinaryIO

    from yume_shim.types.blocks import Block, Json

MAX_LINE_BYTES = 256 * 1024 * 1024
"""We never write a longer line: it is skipped without reading it into memory."""
READ_BYTES = 1 << 20

_LINKS = frozenset(("user", "assistant", "system", "attachment", "progress"))
"""Types that are part of the chain."""
_TITLES = frozenset(("custom-title", "ai-title", "agent-name", "summary"))
_LATEST = frozenset(("last-prompt", "cost-state"))
"""Types of which only the last line counts: the others are not parsed."""
_START = b'{"type":"'


def lines_of(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file; a line that is too long is replaced by an invalid one."""
    while True:
        line = file.readline(MAX_LINE_BYTES)
        if not line:
            return
        if len(line) < MAX_LINE_BYTES or line.endswith(b"\n"):
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(READ_BYTES)
        yield b"?\n"


class TranscriptReader:
    """Collects what a transcript says. `forget`: drop the lines before a compaction; `child`: it is a subagent's."""

    def __init__(self, *, forget: bool, child: bool = False) -> None:
        self._forget, self._child = forget, child
        self._forgot = False
        self.tree = Tree()
        self.last = ""
        """The uuid of the last `user` or `assistant` line."""
        self.costs = CostReader()
        self.skipped = 0
        """Lines that could not be read."""
        self.size = self.check_sum = 0
        """Of all bytes that were read (CRC-32)."""
        self.ends_whole = True
        """The last line has its end."""
        self.facts: dict[str, str] = {}
        """The first `cwd`, and the last of each kind of title."""
        self.last_usage: tuple[str, Any] = ("", None)
        """The newest answer's line and its figures."""
        self._last_prompt = b""
        self._authors: dict[tuple[Any, ...], tuple[tuple[str, str], str]] = {}
        """(model, origin), made once: thousands of lines have the same."""

    def read(self, path: str, begin: int = 0, end: int | None = None) -> None:
        """Read the whole file, or the lines between two offsets. Raises OSError."""
        loads, check = codec.loads, crc32
        self.size = begin
        with open(open_regular(path), "rb", buffering=READ_BYTES) as file:
            if begin:
                file.seek(begin)
            for raw in lines_of(file):
                self.size += len(raw)
                if end is not None and self.size > end:
                    break
                self.check_sum = check(raw, self.check_sum)
                self.ends_whole = raw.endswith(b"\n")
                if raw.startswith(_START):
                    kind = raw[len(_START) : raw.find(b'"', len(_START))].decode("latin-1")
                    if kind in _LATEST:
                        self._latest(kind, raw)
                        continue
                    if kind not in _LINKS and kind not in _TITLES:
                        continue
                elif raw.isspace():
                    continue
                try:
                    line = loads(raw)
                except ValueError:
                    line = None
                if isinstance(line, dict):
                    self._add(line)
                else:
                    self.skipped += 1

    def packed(self) -> Json | None:
        """What a reader of later lines must know, as JSON; None if what they mean depends on more than that."""
        if self.tree.bridged or not self.ends_whole:
            return None
        try:
            return {
                "size": self.size,
                "check_sum": self.check_sum,
                "leaf": self.last,
                "facts": self.facts,
                "last_prompt": self._last_prompt.decode("utf-8"),
                "skipped": self.skipped,
                "costs": self.costs.packed(),
            }
        except UnicodeDecodeError:
            return None

    def go_on(self, packed: Json) -> None:
        """Go on after the lines that `packed` tells of: only the last of them is known, and not what it says."""
        self.last, self.facts, self.skipped = packed["leaf"], dict(packed["facts"]), packed["skipped"]
        self.check_sum, self._last_prompt = packed["check_sum"], packed["last_prompt"].encode("utf-8")
        self.costs.unpack(packed["costs"])
        self.tree.add(Node(self.last, None, 0))

    def forgot_start(self, at: str) -> bool:
        """Does the conversation that ends at `at` (or at the last line) start before a compaction, so that its start
        was forgotten?"""
        if not self._forgot:
            return False
        leaf = self.tree.nodes.get(at or self.last)
        return leaf is None or self.tree.chain(leaf)[0].kind != "boundary" or self.tree.bridged

    def last_prompt(self) -> str:
        """The last prompt, as session lists show it."""
        try:
            line = codec.loads(self._last_prompt) if self._last_prompt else {}
        except ValueError:
            return ""
        found = line.get("lastPrompt") if isinstance(line, dict) else ""
        return found if isinstance(found, str) else ""

    # ------------------------------------------------------------ one line

    def _add(self, line: Json) -> None:
        kind, uuid, parent = line.get("type"), line.get("uuid"), line.get("parentUuid")
        if not isinstance(kind, str):
            return
        if not isinstance(uuid, str) or (line.get("isSidechain") and not self._child):
            if kind in _TITLES:
                self._title(line)
            return
        tree = self.tree
        above = tree.nodes.get(parent, parent) if isinstance(parent, str) else None
        place = len(tree.places)
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
                tree.clear()
                place = 0
            node = Boundary(uuid, above, place)
        elif kind in _LINKS:
            node = Node(uuid, above, place)
        else:
            if kind in _TITLES:
                self._title(line)
            return
        tree.add(node)

    def _user(self, uuid: str, above: Node | str | None, place: int, line: Json) -> Node:
        if "cwd" not in self.facts and isinstance(line.get("cwd"), str):
            self.facts["cwd"] = line["cwd"]
        message, private = line.get("message"), line.get("yume")
        if not isinstance(message, dict) or line.get("isVisibleInTranscriptOnly"):
            return Node(uuid, above, place)
        private = private if isinstance(private, dict) else {}
        blocks, joined = user_blocks(message.get("content")), private.get("joined") is True
        if "origin" in line:
            blocks = _as_sent(blocks, line["origin"])
        return (NoteNode if private.get("asks") is True else UserNode)(uuid, above, place, blocks, joined)

    def _assistant(self, uuid: str, above: Node | str | None, place: int, line: Json) -> Node:
        message = line.get("message")
        if not isinstance(message, dict) or line.get("isApiErrorMessage"):
            return Node(uuid, above, place)
        model, usage, message_id = message.get("model"), message.get("usage"), message.get("id")
        if model == SYNTHETIC_MODEL:
            return Node(uuid, above, place)
        private = line.get("yume")
        if not isinstance(private, dict):
            private = {}
        node = AssistantNode(uuid, above, place, assistant_blocks(message.get("content"), private))
        if isinstance(message_id, str):
            node.message_id = message_id
            self.tree.join_answer(node)
        self.last_usage = (uuid, usage)
        written_by = (private.get("provider"), line.get("requestedModel"), private.get("origin"), model)
        try:
            author = self._authors[written_by]
        except KeyError:
            author = self._authors[written_by] = _author(*written_by)
        except TypeError:  # a field is not a string
            author = _author(*written_by)
        node.model, node.origin = author
        cost = line.get("costUSD")
        if cost is not None and isinstance(cost, (int, float)):
            self.costs.add_answer(node.answer, node.model[1], usage, cost)
        return node

    def _attachment(self, uuid: str, above: Node | str | None, place: int, line: Json) -> Node:
        """Of the Claude CLI's attachments, only prompts that waited in its queue are messages."""
        found = line.get("attachment")
        if isinstance(found, dict) and found.get("type") == "queued_command" and found.get("prompt"):
            return UserNode(uuid, above, place, user_blocks(found["prompt"]), False)
        return Node(uuid, above, place)

    def _latest(self, kind: str, raw: bytes) -> None:
        if kind == "cost-state":
            self.costs.add_state(raw)
        else:
            self._last_prompt = raw

    def _title(self, line: Json) -> None:
        for key in ("customTitle", "aiTitle", "agentName", "summary"):
            if isinstance(line.get(key), str):
                self.facts[key] = line[key]


def _author(provider: Any, requested: Any, origin: Any, model: Any) -> tuple[tuple[str, str], str]:
    """((provider, model), origin) of an answer. Lines without our private fields are the Claude CLI's."""
    if not (isinstance(provider, str) and isinstance(requested, str)):
        provider, requested = "", model if isinstance(model, str) else ""
    return (provider, requested), origin if isinstance(origin, str) else f"{ANTHROPIC_MESSAGES}/{requested}"


def _as_sent(blocks: tuple[Block, ...], origin: object) -> tuple[Block, ...]:
    """The notice of a background task with the mark under which the model reads it."""
    if not isinstance(origin, dict) or origin.get("kind") != "task-notification":
        return blocks
    from yume_shim.text.task_notice import marked

    return tuple(Text(marked(block.text)) if isinstance(block, Text) else block for block in blocks)
