"""Lines that differ in a few texts only: the JSON around these is made once, from the line that the records give."""

from __future__ import annotations

from yume_shim.text import codec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from yume_shim.types.blocks import Json

TEXT_GAP, ID_GAP = "\ue000text\ue000", "\ue000id\ue000"
"""What the model line has in place of the text and of the uuid: characters for private use, which no id has."""


class TextTemplate:
    """A line with a gap for a text, and one for a uuid after it if `ID_GAP` is in it."""

    __slots__ = ("_after", "_before", "_between")

    def __init__(self, line: Json) -> None:
        self._before, _, rest = codec.dumps(line).partition(codec.dumps(TEXT_GAP))
        self._between, _, self._after = rest.rpartition(codec.dumps(ID_GAP)[1:-1])
        self._after += b"\n"

    def lines(self, texts: Sequence[str]) -> list[bytes]:
        """A line for each text."""
        before, after = self._before, self._after
        if len(texts) == 1:  # most network reads bring one
            return [b"%b%b%b" % (before, codec.dumps(texts[0]), after)]
        return [b"%b%b%b" % (before, text, after) for text in codec.dumps_each(texts)]

    def named_lines(self, texts: Sequence[str], uuids: Sequence[str]) -> list[bytes]:
        """A line for each text and its uuid."""
        before, between, after = self._before, self._between, self._after
        if len(texts) == 1:
            return [b"%b%b%b%b%b" % (before, codec.dumps(texts[0]), between, uuids[0].encode(), after)]
        return [
            b"%b%b%b%b%b" % (before, text, between, uuid.encode(), after)
            for text, uuid in zip(codec.dumps_each(texts), uuids, strict=True)
        ]
