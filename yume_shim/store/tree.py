"""The lines of a transcript as a tree, and the path through it that is the conversation."""

from __future__ import annotations

from yume_shim.types.blocks import Message, Text, ToolResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Block


class Node:
    """One line, reduced to what the history needs. This class is a line without a message. `parent` is the line before
    it, or the uuid of a line that was not read. A transcript has thousands of lines, so each kind has only the fields
    that it needs."""

    __slots__ = ("parent", "place", "uuid")
    kind: str = ""
    blocks: tuple[Block, ...] = ()
    message_id: str = ""

    def __init__(self, uuid: str, parent: Node | str | None, place: int) -> None:
        self.uuid = uuid
        self.parent = parent
        self.place = place


class Boundary(Node):
    """A compaction: the conversation starts again here."""

    __slots__ = ()
    kind = "boundary"


class UserNode(Node):
    """A `user` line. `joined`: part of the same message as the prompt before."""

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


class NoteNode(UserNode):
    """A note of this program that asks the model to go on. It counts only if an answer follows it."""

    __slots__ = ()


class AssistantNode(Node):
    """A line of an answer. `model` is the requested (provider, model), without a provider if another program sent the
    request. `answer` is the uuid of the answer's first line."""

    __slots__ = ("answer", "blocks", "message_id", "model", "origin")
    kind = "assistant"

    def __init__(self, uuid: str, parent: Node | str | None, place: int, blocks: tuple[Block, ...]) -> None:
        self.uuid = uuid
        self.parent = parent
        self.place = place
        self.blocks = blocks
        self.answer = uuid
        self.message_id = ""
        self.origin = ""
        self.model: tuple[str, str] = ("", "")


class Tree:
    """The lines read so far. They are added in the order of the file."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.places: list[Node] = []
        """All lines; `place` of a node is its index."""
        self.bridged = False
        """A line of a chain was missing, and the line before it in the file was used instead."""

    def add(self, node: Node) -> None:
        """Add the next line."""
        self.nodes[node.uuid] = node
        self.places.append(node)

    def join_answer(self, node: AssistantNode) -> None:
        """Note which answer a new line belongs to: that of the line above it, if both have the same message id. The id
        alone says little: some servers give every answer the same one."""
        above = node.parent
        if isinstance(above, str):  # torn: the line before it in the file
            above = self.places[-1] if self.places else None
        while above is not None and not above.kind:
            above = above.parent if isinstance(above.parent, Node) else None
        if isinstance(above, AssistantNode) and node.message_id and above.message_id == node.message_id:
            node.answer = above.answer

    def clear(self) -> None:
        """Forget all lines: a new root follows."""
        self.nodes.clear()
        self.places.clear()

    def chain(self, leaf: Node) -> list[Node]:
        """The lines from the root (or the last compaction) to `leaf`. If a line is missing, the line before its child
        in the file is used instead, so that a torn line loses only itself."""
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
                    found = self.places[node.place - 1] if node.place else None
                above = found
            node = above
        chain.reverse()
        return chain

    def with_parallel_calls(self, chain: list[Node]) -> list[Node]:
        """The Claude CLI writes calls that ran in parallel, and their results, as side branches. Put them back where
        they belong: after the line of the same message."""
        on_chain = {node.place for node in chain}
        if len(on_chain) == chain[-1].place + 1 == max(on_chain) + 1:  # every line up to the last one
            return chain
        branches: dict[int, list[Node]] = {}
        for node in self.places[: chain[-1].place]:
            above = node.parent
            if node.place in on_chain or not isinstance(above, Node) or above.place not in on_chain:
                continue
            if above.kind == "assistant" and _belongs(node, above):
                branches.setdefault(above.place, []).append(node)
                if node.kind == "assistant":
                    on_chain.add(node.place)
        if not branches:
            return chain
        whole: list[Node] = []
        rest = list(reversed(chain))
        while rest:
            node = rest.pop()
            whole.append(node)
            # first the blocks of the message, then the results
            branch = branches.pop(node.place, [])
            branch.sort(key=lambda each: each.kind != "assistant")
            rest += branch[::-1]
        return whole


def _belongs(node: Node, above: Node) -> bool:
    if isinstance(node, AssistantNode):
        return isinstance(above, AssistantNode) and node.answer == above.answer
    return any(isinstance(block, ToolResult) for block in node.blocks)


def messages(chain: list[Node]) -> tuple[Message, ...]:
    """The history in the lines: an answer is one message, and the results of its calls are one message."""
    history = _History()
    note: NoteNode | None = None
    for node in chain:
        if isinstance(node, AssistantNode):
            if note is not None:
                history.add_user(note)
            note = None
            history.add_assistant(node)
        elif isinstance(node, NoteNode):
            note = node
        elif isinstance(node, UserNode) and node.blocks:
            note = None
            history.add_user(node)
    return tuple([Message(role, blocks, origin) for role, blocks, origin in history.built if blocks])  # type: ignore[arg-type]  # the two roles


class _History:
    def __init__(self) -> None:
        self.built: list[tuple[str, tuple[Block, ...], str]] = []
        """(role, blocks, origin)"""
        self._answer = -1
        """The position of the last answer, as long as only results follow it."""
        self._answer_id = ""
        self._only_results = False
        """The last message is a user message with results only."""

    def add_user(self, node: UserNode) -> None:
        blocks = node.blocks
        results = isinstance(blocks[0], ToolResult)
        if results and len(blocks) > 1:
            results = all(isinstance(block, ToolResult) for block in blocks)
        if node.joined or (results and self._only_results):
            self._join(blocks)
            self._only_results = self._only_results and results
            return
        if not results:
            self._answer = -1
        self._only_results = results
        self.built.append(("user", blocks, ""))

    def _join(self, blocks: tuple[Block, ...]) -> None:
        """Add to the last user message. Two texts in a row become one, as the engine joins the prompts of a turn."""
        role, before, origin = self.built[-1] if self.built else ("user", (), "")
        if role != "user" or not before:
            self.built.append(("user", blocks, ""))
            return
        last, first = before[-1], blocks[0]
        if isinstance(last, Text) and isinstance(first, Text):
            before, blocks = (*before[:-1], Text(f"{last.text}\n{first.text}")), blocks[1:]
        self.built[-1] = (role, before + blocks, origin)

    def add_assistant(self, node: AssistantNode) -> None:
        if self._answer >= 0 and node.answer == self._answer_id:
            role, before, origin = self.built[self._answer]
            self.built[self._answer] = (role, before + node.blocks, origin)
            return
        self._answer, self._answer_id = len(self.built), node.answer
        self._only_results = False
        self.built.append(("assistant", node.blocks, node.origin))
