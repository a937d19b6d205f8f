"""What a tool of an MCP server returned, as content for the model and the host. Pure."""

from __future__ import annotations

from yume_shim.text import codec
from yume_shim.types.blocks import Image, Text
from yume_shim.types.outputs import ToolOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from yume_shim.types.blocks import Document, Json

MAX_BLOCKS = 1_000
"""Blocks of a result that are used; the rest is dropped, and a last block says so."""


def tool_output(result: Mapping[str, Any]) -> ToolOutput:
    """The output of `tools/call`. Structured content replaces the text, as in the Claude CLI; an error is its text."""
    given = result.get("content")
    content = [block for block in given if isinstance(block, dict)] if isinstance(given, list) else []
    structured = result.get("structuredContent")
    if result.get("isError") is True:
        return ToolOutput(_texts(content) or "The tool failed without a message.", _error(content), is_error=True)
    if isinstance(structured, dict):
        text = codec.dumps(structured).decode("utf-8")
        return ToolOutput(text, {"content": text, "structuredContent": structured})
    blocks = tuple(block for item in content[:MAX_BLOCKS] for block in blocks_of(item))
    if len(content) > MAX_BLOCKS:
        blocks += (Text(f"[{len(content) - MAX_BLOCKS} more blocks were left out.]"),)
    return ToolOutput(blocks or "", content[:MAX_BLOCKS])


def blocks_of(block: Json) -> tuple[Text | Image | Document, ...]:
    """One content block. What cannot be shown to a model becomes a sentence that says so."""
    kind, data, media = block.get("type"), block.get("data"), block.get("mimeType")
    match kind:
        case "text":
            return (Text(str(block.get("text", ""))),)
        case "image" if isinstance(data, str) and isinstance(media, str):
            return (Image(media, data),)
        case "audio":
            return (Text(f"[Audio ({media or 'unknown type'}) was left out: it cannot be sent to a model.]"),)
        case "resource_link":
            name, uri = block.get("name") or block.get("title") or "resource", block.get("uri", "")
            return (Text(f"[Resource link: {name}: {uri}]"),)
        case "resource":
            return resource_blocks(block.get("resource"))
        case _:
            return (Text(codec.dumps(block).decode("utf-8")),)


def resource_blocks(resource: Any) -> tuple[Text | Image | Document, ...]:
    """An embedded resource: its text, its image, or a sentence about its bytes."""
    if not isinstance(resource, dict):
        return ()
    uri, media = resource.get("uri", ""), str(resource.get("mimeType") or "")
    text, blob = resource.get("text"), resource.get("blob")
    if isinstance(text, str):
        return (Text(f"[Resource from {uri}]\n{text}" if uri else text),)
    if isinstance(blob, str) and media.startswith("image/"):
        return (Image(media, blob),)
    return (Text(f"[Binary resource {uri} ({media or 'unknown type'}) was left out.]"),)


def _texts(content: list[Json]) -> str:
    return "\n".join(str(block.get("text", "")) for block in content if block.get("type") == "text")


def _error(content: list[Json]) -> str:
    return f"Error: {_texts(content)}"
