"""Joins the continuation of a text to the text before it, without what the continuation repeats. Pure.

Weaker models and some proxies begin a continuation with the last sentence of what they wrote before, or with all of it.
The pieces of the continuation are held back as long as they could be such a repetition.
"""

from __future__ import annotations

MAX_HELD = 65_536
"""Characters that are held back at most, and of the earlier text that are compared."""
MIN_END = 16
"""A repetition of the end of the text has at least so many characters; a shorter one may be chance."""
MIN_DIFFERENT = 5
"""Different letters and digits in a repetition: rulers and rows of zeros do repeat in a text."""
MIN_LETTERS = 3
"""Different letters in a repetition of the whole text. Few answers go on with all that there is, as `ha ha` does."""


class ContinuationJoiner:
    """Takes the pieces of one continuation. `feed` and `finish` return what is to be shown."""

    def __init__(self, shown: str) -> None:
        self._shown = shown[-MAX_HELD:]
        self._whole = len(shown) <= MAX_HELD
        self._held = ""
        self._blank = ""
        """White space before the first other character."""
        self._at = 0
        """Where the held text occurs in the earlier text; earlier places are excluded."""
        self._again = (
            self._whole and len({character for character in self._shown if character.isalpha()}) >= MIN_LETTERS
        )
        self.open = self._again or _could_repeat(self._shown)
        """Is text still held back, or may it be?"""

    def feed(self, piece: str) -> str:
        """The text that can be shown now."""
        if not self.open:
            return piece
        if not self._held:
            stripped = piece.lstrip()
            self._blank += piece[: len(piece) - len(stripped)]
            piece = stripped
            if len(self._blank) > MAX_HELD:
                return self._release(piece)
        self._held += piece
        self._at = self._shown.find(self._held, self._at) if len(self._held) <= MAX_HELD else -1
        return "" if self._at >= 0 else self._release()

    def finish(self) -> str:
        """The continuation has ended: the rest of it."""
        return self._release() if self.open else ""

    def _release(self, rest: str = "") -> str:
        self.open = False
        held = self._held + rest
        repeated = self._repeated(held)
        return held[repeated:] if repeated else self._blank + held

    def _repeated(self, held: str) -> int:
        """How many characters at the start of `held` repeat the end of the earlier text: the longest such part."""
        shown, first = self._shown, held[:MIN_END]
        whole = shown.lstrip()
        if self._again and held.startswith(whole):
            return len(whole)
        if len(first) < MIN_END:
            return 0
        at = shown.find(first, max(0, len(shown) - len(held)))
        while at >= 0:
            size = len(shown) - at
            if held.startswith(shown[at:]) and self._counts(at, size):
                return size
            at = shown.find(first, at + 1)
        return 0

    def _counts(self, at: int, size: int) -> bool:
        shown = self._shown
        starts_word = at == 0 or not (shown[at - 1].isalnum() and shown[at].isalnum())
        return size >= MIN_END and starts_word and _could_repeat(shown[at:])


def _could_repeat(text: str) -> bool:
    return len({character for character in text[-MAX_HELD:] if character.isalnum()}) >= MIN_DIFFERENT
