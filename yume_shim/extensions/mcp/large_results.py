"""Results of MCP tools that are too long for the conversation: saved to a file, with a preview for the model."""

from __future__ import annotations

from yume_shim.types.blocks import Text
from yume_shim.types.errors import ToolFailed
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.types.blocks import Document, Image
    from yume_shim.types.outputs import ToolOutput

    Save = Callable[[str, bytes, str], str]

PREVIEWED = 50_000
"""Characters from which on the model gets a preview only."""
PREVIEW = 2_048
CHARS_PER_TOKEN = 4


def limited(output: ToolOutput, max_tokens: int, save: Save, call_id: str) -> ToolOutput:
    """The output, or a note about the file that holds its text. Pictures stay."""
    text, pictures = _parts(output)
    if len(text) <= min(PREVIEWED, max_tokens * CHARS_PER_TOKEN):
        return output
    try:
        path = save(call_id, text.encode("utf-8"), ".txt")
    except OSError as error:
        raise ToolFailed(
            f"The result has {len(text)} characters, too many to show, and cannot be saved: {error}"
        ) from None
    if len(text) > max_tokens * CHARS_PER_TOKEN:
        note = (
            f"Error: result ({len(text):,} characters) exceeds maximum allowed tokens ({max_tokens:,}). "
            f"Output has been saved to {path}. Read the parts of it that you need."
        )
    else:
        note = (
            f"<persisted-output>\nOutput too large ({len(text):,} characters). Full output saved to: {path}\n\n"
            f"Preview (first 2KB):\n{text[:PREVIEW]}\n...\n</persisted-output>"
        )
    return replace(output, content=(Text(note), *pictures) if pictures else note)


def _parts(output: ToolOutput) -> tuple[str, tuple[Text | Image | Document, ...]]:
    """(all text, all other blocks) of an output."""
    if isinstance(output.content, str):
        return output.content, ()
    texts = [block.text for block in output.content if isinstance(block, Text)]
    return "\n".join(texts), tuple(block for block in output.content if not isinstance(block, Text))
