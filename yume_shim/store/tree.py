"""The lines of a transcript as a tree, and the way through it that is the conversation."""

from __future__ import annotations

from yume_shim.types.blocks import Message, Text, ToolResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Block


class Node:
    """One line, without what history does not need; this one is a mere link. `parent` is the line before it, or the
    uuid of one that has not been seen. A transcript has thousands: what a kind does not have costs it nothing."""

    __slots__ = ("parent", "place", "uuid")
    kind: str = ""
    blocks: tuple[Block, ...] = ()
    message_id: str = ""

    def __init__(self, uuid: str, parent: Node | str | None, place: int) -> None:
        self.uuid = uuid
        self.parent = parent
        self.place = place


class Boundary(Node):
    """Here a compaction begins the conversation anew."""

    __slots__ = ()
    kind = "boundary"


class Said(Node):
    """A line of the user's side. `joined`: one message with the prompt before."""

    __slots__ = ("blocks", "joined")
    kind = "user"

    def __init__(
        self, uuid: str, parent: Node | str | None, place: int, blocks: tuple[Block, ...], joined: bool
    ) -> None:
        self.uuid = uuid
        self.parent = parent
        self.place = place
        self.blocks = blocks
        self.joined = joined


class Answered(Node):
    """A line of an answer. `model` is (provider, model) as asked, without a provider if another program asked."""

    __slots__ = ("blocks", "message_id", "model", "origin")
    kind = "assistant"

    def __init__(self, uuid: str, parent: Node | str | None, place: int, blocks: tuple[Block, ...]) -> None:
        self.uuid = uuid
        self.parent = parent
        self.place = place
        self.blocks = blocks
        self.message_id = ""
        self.origin = ""
        self.model: tuple[str, str] = ("", "")


class Tree:
    """Grows line by line, in the order of the file."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self._places: list[Node] = []
        self.bridged = False
        """A line was missing on the way back, and another took its place."""

    def above(self, parent: str | None) -> tuple[Node | str | None, int]:
        """What a new node is told of its place: its parent, and the number of its line."""
        return (None if parent is None else self.nodes.get(parent, parent)), len(self._places)

    def grow(self, node: Node) -> None:
        """Take in the next line."""
        self.nodes[node.uuid] = node
        self._places.append(node)

    def start_over(self) -> None:
        """Forget everything: a new root follows."""
        self.nodes.clear()
        self._places.clear()

    def chain(self, leaf: Node) -> list[Node]:
        """From the root (or the last compaction) to `leaf`. Where a line is missing, the one written before its child
        takes its place: a torn line costs itself only."""
        chain: list[Node] = []
        seen: set[int] = set()
        node: Node | None = leaf
        while node is not None and node.place not in seen:
            seen.add(node.place)
            chain.append(node)
            if node.kind == "boundary":
                break
            above = node.parent
            if isinstance(above, str):
                found = self.nodes.get(above)
                if found is None:
                    self.bridged = True
                    found = self._places[node.place - 1] if node.place else None
                above = found
            node = above
        chain.reverse()
        return chain

    def with_strays(self, chain: list[Node]) -> list[Node]:
        """Calls that ran side by side hang on the tree as twigs: blocks of a message on the chain, and their results,
        are put back where they belong."""
        on_chain = {node.place for node in chain}
        twigs: dict[int, list[Node]] = {}
        for node in self._places[: chain[-1].place]:
            above = node.parent
            if node.place in on_chain or not isinstance(above, Node) or above.place not in on_chain:
                continue
            if above.kind == "assistant" and _belongs(node, above):
                twigs.setdefault(above.place, []).append(node)
                if node.kind == "assistant":
                    on_chain.add(node.place)
        if not twigs:
            return chain
        whole: list[Node] = []
        rest = list(reversed(chain))
        while rest:
            node = rest.pop()
            whole.append(node)
            # blocks of the message first, results behind them: the order in which they are needed
            hanging = twigs.pop(node.place, [])
            hanging.sort(key=lambda each: each.kind != "assistant")
            rest += hanging[::-1]
        return whole


def _belongs(node: Node, above: Node) -> bool:
    if node.kind == "assistant":
        return bool(node.message_id) and node.message_id == above.message_id
    return any(isinstance(block, ToolResult) for block in node.blocks)


def messages(chain: list[Node]) -> tuple[Message, ...]:
    """The history that the lines hold: an answer is one message, and so are the results of its calls."""
    history = _History()
    for node in chain:
        if isinstance(node, Answered):
            history.answered(node)
        elif isinstance(node, Said) and node.blocks:
            history.said(node)
    return tuple([Message(role, blocks, origin) for role, blocks, origin in history.built if blocks])  # type: ignore[arg-type]  # the two roles


class _History:
    def __init__(self) -> None:
        self.built: list[tuple[str, tuple[Block, ...], str]] = []
        """(role, blocks, origin)"""
        self._answer = -1
        """Where the last answer stands, while nothing but results has come after it."""
        self._answer_id = ""
        self._only_results = False
        """The last message is the user's and holds results only."""

    def said(self, node: Said) -> None:
        blocks = node.blocks
        results = isinstance(blocks[0], ToolResult) and all(isinstance(block, ToolResult) for block in blocks)
        if node.joined or (results and self._only_results):
            self._join(blocks)
            self._only_results = self._only_results and results
            return
        if not results:
            self._answer = -1
        self._only_results = results
        self.built.append(("user", blocks, ""))

    def _join(self, blocks: tuple[Block, ...]) -> None:
        """Add to the user's last message; two texts in a row are joined as the engine joins prompts of one turn."""
        role, before, origin = self.built[-1] if self.built else ("user", (), "")
        if role != "user" or not before:
            self.built.append(("user", blocks, ""))
            return
        last, first = before[-1], blocks[0]
        if isinstance(last, Text) and isinstance(first, Text):
            before, blocks = (*before[:-1], Text(f"{last.text}\n{first.text}")), blocks[1:]
        self.built[-1] = (role, before + blocks, origin)

    def answered(self, node: Answered) -> None:
        if self._answer >= 0 and node.message_id and node.message_id == self._answer_id:
            role, before, origin = self.built[self._answer]
            self.built[self._answer] = (role, before + node.blocks, origin)
            return
        self._answer, self._answer_id = len(self.built), node.message_id
        self._only_results = False
        self.built.append(("assistant", node.blocks, node.origin))
