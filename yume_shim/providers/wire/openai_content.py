"""Images, documents and results as the OpenAI APIs and Ollama take them."""

from __future__ import annotations

from yume_shim.types.blocks import Document, Image, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import ToolResult
    from yume_shim.types.models import Quirks


ERROR = "Error: "
"""How the result of a failed call begins."""


def data_url(block: Image | Document) -> str:
    """The image's own address, or a `data:` URL with its bytes."""
    if isinstance(block, Image) and block.url:
        return block.url
    return f"data:{block.media_type};base64,{block.data}"


def file_name(document: Document) -> str:
    """A name for the file; OpenAI recognises its type by the ending."""
    title = document.title or "document"
    ending = document.media_type.rsplit("/", 1)[-1]
    return title if title.lower().endswith(f".{ending}") else f"{title}.{ending}"


def is_plain(document: Document) -> bool:
    """Is it plain text, which needs no file?"""
    return document.media_type.startswith("text/")


def document_text(document: Document) -> str:
    """A document as text: its own, or a note where the endpoint takes no such files."""
    if is_plain(document):
        return f"{document.title}\n\n{document.data}" if document.title else document.data
    return f"[{file_name(document)} is left out: this endpoint takes no {document.media_type} files]"


def split_result(result: ToolResult, quirks: Quirks) -> tuple[str, tuple[Image | Document, ...]]:
    """A result as text, and its images and files. These APIs have no flag for an error: the text begins with it."""
    if isinstance(result.content, str):
        return _marked(result.content, result), ()
    words: list[str] = []
    media: list[Image | Document] = []
    for part in result.content:
        match part:
            case Text():
                words.append(part.text)
            case Document() if is_plain(part) or not quirks.documents:
                words.append(document_text(part))
            case Image() | Document():
                media.append(part)
    if media:
        words.append(f"[{_counted(media)} of this result: see the user message below]")
    return _marked("\n".join(words), result), tuple(media)


def _marked(text: str, result: ToolResult) -> str:
    return ERROR + text if result.is_error and not text.startswith(ERROR) else text


def _counted(media: list[Image | Document]) -> str:
    images = sum(isinstance(part, Image) for part in media)
    files = len(media) - images
    named = ((images, "image"), (files, "file"))
    return " and ".join(f"{number} {word}{'s' if number > 1 else ''}" for number, word in named if number)
