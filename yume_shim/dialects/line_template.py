"""Lines that differ in a few texts only: the JSON around these is made once, from the line that the records give."""

from __future__ import annotations

from yume_shim.text import codec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json

TEXT_GAP, ID_GAP = "\ue000text\ue000", "\ue000id\ue000"
"""What the model line has in place of the text and of the uuid: characters for private use, which no id has."""


def around_text(line: Json) -> tuple[bytes, bytes]:
    """The JSON before and after the text of a line; the line end is part of it."""
    before, _, after = codec.dumps(line).partition(codec.dumps(TEXT_GAP))
    return before, after + b"\n"


def around_text_and_id(line: Json) -> tuple[bytes, bytes, bytes]:
    """The JSON before the text, between it and the uuid, and after that."""
    before, rest = around_text(line)
    between, _, after = rest.partition(codec.dumps(ID_GAP)[1:-1])
    return before, between, after
