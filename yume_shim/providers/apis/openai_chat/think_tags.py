"""Separates `<think>…</think>` at the start of an answer from the answer: older local models write reasoning so."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Piece = tuple[Literal["text", "thinking"], str]

OPENING = "<think>"
CLOSING = "</think>"


class ThinkTags:
    """The content of one answer, piece by piece. Tags anywhere but at the start are text."""

    def __init__(self) -> None:
        self._place: Literal["start", "inside", "gap", "after"] = "start"
        self._held = ""
        """Text that may still become a tag."""
        self._thought = False
        """There is text between the tags."""

    def feed(self, text: str) -> list[Piece]:
        """The kind of a piece of content."""
        if self._place == "after":
            return [("text", text)]
        self._held += text
        out: list[Piece] = []
        if self._place == "start":
            self._open()
        if self._place == "inside":
            out += self._think()
        if self._place == "gap":
            self._held = self._held.lstrip()
            if self._held:
                self._place = "after"
        if self._place == "after":
            out.append(("text", self._held))
            self._held = ""
        return [piece for piece in out if piece[1]]

    def finish(self) -> list[Piece]:
        """The text that was held back when the answer ended."""
        held, self._held = self._held, ""
        kind: Literal["text", "thinking"] = "thinking" if self._place == "inside" else "text"
        self._place = "after"
        return [(kind, held)] if held else []

    def _open(self) -> None:
        seen = self._held.lstrip()
        if seen.startswith(OPENING):
            self._place, self._held = "inside", seen[len(OPENING) :]
        elif not OPENING.startswith(seen):
            self._place = "after"

    def _think(self) -> list[Piece]:
        if not self._thought:
            self._held = self._held.lstrip("\n")
        thought, found, rest = self._held.partition(CLOSING)
        if found:
            self._place, self._held = "gap", rest
            return [("thinking", thought.rstrip("\n"))]
        keep = _begun(thought)
        self._held = thought[len(thought) - keep :]
        self._thought = self._thought or bool(thought)
        return [("thinking", thought[: len(thought) - keep])]


def _begun(text: str) -> int:
    """How many characters at the end may belong to a closing tag: a part of it, or line ends before it."""
    tag = next((size for size in range(len(CLOSING) - 1, 0, -1) if text.endswith(CLOSING[:size])), 0)
    head = text[: len(text) - tag]
    return tag + len(head) - len(head.rstrip("\n"))
