"""The content of a message as the host sends it -> blocks. Raises BadLine, which says what to send instead."""

from __future__ import annotations

from yume_shim.text import codec
from yume_shim.text.clean import clean_model_text
from yume_shim.types.blocks import Text
from yume_shim.types.content_reader import ContentReader
from yume_shim.types.errors import BadLine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.types.blocks import Block, Json


def _refuse(problem: str) -> None:
    raise BadLine(problem)


def _json_text(item: Json) -> str:
    return codec.dumps(item).decode("utf-8")


_READER = ContentReader(_refuse, clean_model_text, _json_text)


def user_blocks(content: Any) -> tuple[Block, ...]:
    """A prompt's content: a string, blocks, or nothing."""
    return _READER.user_blocks("" if content is None else content)


def assistant_blocks(content: Any) -> tuple[Block, ...]:
    """The content of an assistant line that the host adds to the history; blank text is left out."""
    blocks = _READER.assistant_blocks(content)
    return tuple(block for block in blocks if not (isinstance(block, Text) and not block.text.strip()))
