"""Reads content blocks of the Messages API, as transcripts and streams hold them, into parts of a document."""

from __future__ import annotations

from yume_shim.pages.cleaning import MAX_RESULT, MAX_TEXT
from yume_shim.pages.document import Attachment, Words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.pages.cleaning import Cleaner
    from yume_shim.pages.document import Part
    from yume_shim.types.blocks import Json

_ERROR = ("<tool_use_error>", "</tool_use_error>")
"""What the Claude CLI puts around the text of some errors, for the model."""
MAX_PARTS = 200
"""Parts of one prompt or result."""


def blocks_of(content: Any) -> list[Json]:
    """The blocks of a content field: a string is one text block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def parts_of(content: Any, cleaner: Cleaner, limit: int = MAX_TEXT) -> tuple[Part, ...]:
    """What a prompt or a result shows."""
    blocks = blocks_of(content)
    found = [_part(block, cleaner, limit) for block in blocks[:MAX_PARTS]]
    if len(blocks) > MAX_PARTS:
        found.append(Attachment("parts", f"{len(blocks) - MAX_PARTS:,} more"))
    return tuple(part for part in found if not (isinstance(part, Words) and not part.text))


def result_parts(content: Any, cleaner: Cleaner) -> tuple[Part, ...]:
    """What a tool result shows."""
    if isinstance(content, str) and content.startswith(_ERROR[0]) and content.endswith(_ERROR[1]):
        content = content[len(_ERROR[0]) : -len(_ERROR[1])]
    return parts_of(content, cleaner, MAX_RESULT)


def _part(block: Json, cleaner: Cleaner, limit: int) -> Part:
    kind, source = block.get("type"), block.get("source")
    source = source if isinstance(source, dict) else {}
    if kind == "text":
        text = block.get("text")
        return cleaner.words(text, limit) if isinstance(text, str) else Words("")
    if kind == "image":
        if source.get("type") == "base64" or "data" in source or "data" in block:
            return cleaner.picture(
                source.get("media_type") or block.get("mimeType") or block.get("media_type"),
                source.get("data") or block.get("data"),
            )
        return Attachment(
            "image", cleaner.line(source.get("url") or source.get("file_id")) or "image", "not stored here"
        )
    if kind == "document":
        data = source.get("data")
        size = f"{len(data) * 3 // 4:,} bytes" if isinstance(data, str) and source.get("type") == "base64" else ""
        name = block.get("title") or source.get("url") or source.get("media_type")
        return Attachment("document", cleaner.line(name) or "document", size)
    named = next((block[key] for key in ("title", "name", "tool_name", "uri", "url") if block.get(key)), "")
    return Attachment(cleaner.line(kind) or "block", cleaner.line(named))
