"""Reads the content of transcript lines into blocks. Leaves out what it cannot read: files of other versions and
programs must load."""

from __future__ import annotations

from yume_shim.text.clean import clean_model_text
from yume_shim.types.blocks import NOTHING, Other, ToolCall
from yume_shim.types.content_reader import ContentReader
from yume_shim.types.models import ANTHROPIC_MESSAGES
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.types.blocks import Block, Json


def _ignore(problem: str) -> None:
    """The reader goes on without the item."""


def _json_text(item: Json) -> str:
    from yume_shim.text.codec import dumps

    return dumps(item).decode("utf-8")


_FOR_BLOCKS = frozenset(("block", "opaque", "broken"))
"""The private fields that say something about the blocks."""
_READER = ContentReader(_ignore, clean_model_text, _json_text, unknown_api=ANTHROPIC_MESSAGES)

user_blocks = _READER.user_blocks
"""The blocks of a `user` line: a prompt, tool results or a note."""


def assistant_blocks(content: Any, private: Json) -> tuple[Block, ...]:
    """The blocks of an `assistant` line. `private` is this program's part of the line ({} if another program wrote
    it): provider data, blocks without a shape of their own, and arguments that are not JSON."""
    if _FOR_BLOCKS.isdisjoint(private):  # most lines
        return _READER.assistant_blocks(content)
    stored = private.get("block")
    if isinstance(stored, dict) and isinstance(stored.get("data"), dict):
        return (Other(str(stored.get("api", "")), stored["data"]),)
    opaque, broken = private.get("opaque"), private.get("broken")
    blocks = _READER.assistant_blocks(content, opaque if isinstance(opaque, dict) else NOTHING)
    if isinstance(broken, str):
        return tuple(
            replace(block, input={}, broken=broken) if isinstance(block, ToolCall) else block for block in blocks
        )
    return blocks
