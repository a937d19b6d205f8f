"""What a tool of an MCP server returned, as content for the model and the host."""

from __future__ import annotations

from yume_shim.extensions.mcp.errors import McpError
from yume_shim.text import codec
from yume_shim.types.blocks import Image, Text
from yume_shim.types.outputs import ToolOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from yume_shim.types.blocks import Document, Json

    Keep = Callable[[bytes, str], str]
    """Saves bytes to a file whose name has this ending; returns the path, "" if that fails."""
    Blocks = tuple[Text | Image | Document, ...]

MAX_BLOCKS = 1_000
"""Blocks of a result that are used; the rest is dropped, and a last block says so."""
MAX_LINKS = 50
MAX_ENDING = 5


def keep_nothing(data: bytes, ending: str) -> str:
    return ""


def tool_output(result: Mapping[str, Any], keep: Keep = keep_nothing) -> ToolOutput:
    """The output of `tools/call`. Structured content replaces the text, as in the Claude CLI; an error is its text.
    Raises McpError for a result without content."""
    given = result.get("content")
    structured = result.get("structuredContent")
    if not isinstance(given, list):
        if not isinstance(structured, dict):
            raise McpError("the server's result is malformed: it has no list of content blocks")
        given = []
    content: list[Json] = [block if isinstance(block, dict) else {"value": block} for block in given]
    if result.get("isError") is True:
        text = _texts(content) or "The tool failed without a message."
        return ToolOutput(text, f"Error: {text}", is_error=True)
    if isinstance(structured, dict):
        text = codec.dumps(structured).decode("utf-8")
        return ToolOutput(text, {"content": text, "structuredContent": structured})
    blocks = tuple(block for item in content[:MAX_BLOCKS] for block in blocks_of(item, keep))
    if len(content) > MAX_BLOCKS:
        blocks += (Text(f"[{len(content) - MAX_BLOCKS} more blocks were left out.]"),)
    return ToolOutput(blocks or "(no output)", _for_host(blocks, content[:MAX_BLOCKS]))


def blocks_of(block: Json, keep: Keep = keep_nothing) -> Blocks:
    """One content block. What cannot be shown to a model is saved, and a sentence says so."""
    kind, data, media = block.get("type"), block.get("data"), str(block.get("mimeType") or "")
    match kind:
        case "text":
            return (Text(str(block.get("text", ""))),)
        case "image" if isinstance(data, str) and media:
            return _image(media, data, keep)
        case "audio" if isinstance(data, str):
            return (Text(f"[Audio ({media or 'unknown type'}) cannot be sent to a model{_place(data, media, keep)}.]"),)
        case "resource_link":
            name, uri = block.get("name") or block.get("title") or "resource", block.get("uri", "")
            about = block.get("description")
            return (Text(f"[Resource link: {name}: {uri}{f' ({about})' if isinstance(about, str) else ''}]"),)
        case "resource":
            return resource_blocks(block.get("resource"), keep)
        case _:
            return (Text(codec.dumps(block).decode("utf-8")),)


def resource_blocks(resource: Any, keep: Keep = keep_nothing) -> Blocks:
    """An embedded resource: its text, its image, or a sentence about its bytes."""
    if not isinstance(resource, dict):
        return ()
    uri, media = resource.get("uri", ""), str(resource.get("mimeType") or "")
    text, blob = resource.get("text"), resource.get("blob")
    if isinstance(text, str):
        return (Text(f"[Resource from {uri}]\n{text}" if uri else text),)
    if not isinstance(blob, str):
        return (Text(f"[Resource {uri} is empty.]"),)
    if media.startswith("image/"):
        return _image(media, blob, keep)
    return (Text(f"[Binary resource {uri} ({media or 'unknown type'}) was left out{_place(blob, media, keep)}.]"),)


def _image(media: str, data: str, keep: Keep) -> Blocks:
    """The picture, and where its file is, so that the model can use it in commands."""
    path = _saved(data, media, keep)
    return (Image(media, data), *((Text(f"[Image: source: {path}]"),) if path else ()))


def _place(data: str, media: str, keep: Keep) -> str:
    path = _saved(data, media, keep)
    return f"; it was saved to {path}" if path else ""


def _saved(data: str, media: str, keep: Keep) -> str:
    from binascii import Error, a2b_base64

    try:
        raw = a2b_base64(data)
    except (Error, ValueError):
        return ""  # not what it says it is
    kind = media.partition(";")[0].rpartition("/")[2]
    ending = f".{kind}" if kind.isascii() and kind.isalnum() and len(kind) <= MAX_ENDING else ".bin"
    return keep(raw, ending) if raw else ""


def _for_host(blocks: Blocks, content: list[Json]) -> Any:
    """`tool_use_result`: the blocks as the model gets them, and links that the host may follow."""
    shown = [_shown(block) for block in blocks]
    links = [
        {name: block[name] for name in ("uri", "name", "title", "description", "mimeType", "size") if name in block}
        for block in content
        if block.get("type") == "resource_link"
    ]
    return {"content": shown, "resourceLinks": links[:MAX_LINKS]} if links else shown


def _shown(block: Text | Image | Document) -> Json:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    return {"type": "image", "source": {"type": "base64", "media_type": block.media_type, "data": block.data}}


def _texts(content: list[Json]) -> str:
    return "\n".join(str(block.get("text", "")) for block in content if block.get("type") == "text")
