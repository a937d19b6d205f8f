"""Recognises images and PDFs by their first bytes and turns them into blocks for the model."""

from __future__ import annotations

from yume_shim.text.image_head import MEASURED, dimensions, image_kind
from yume_shim.tools.files.text_files import size_text
from yume_shim.types.blocks import Document, Image, Text
from yume_shim.types.errors import ToolFailed
from yume_shim.types.outputs import ToolOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json

MAX_IMAGE_BYTES = 20 << 20
"""Most APIs take less; larger images are scaled down before they are sent."""
MAX_PDF_BYTES = 20 << 20
PDF = "application/pdf"
SHOWN = (*MEASURED, "image/tiff")
"""The kinds of images that are sent to the model; few endpoints or none take others."""


def kind_of(head: bytes) -> str:
    """The media type, or "" for anything that is not an image or PDF that we can send."""
    kind = image_kind(head)
    if kind in SHOWN:
        return kind
    return PDF if head.startswith(b"%PDF-") else ""


def limit_of(kind: str) -> int:
    """The most bytes of such a file."""
    return MAX_PDF_BYTES if kind == PDF else MAX_IMAGE_BYTES


def show(shown: str, kind: str, data: bytes, size: int, pages: str) -> ToolOutput:
    """The file as a block for the model."""
    from base64 import b64encode

    size = max(size, len(data))
    if len(data) > limit_of(kind):
        name = "PDF" if kind == PDF else "Image"
        raise ToolFailed(f"{name} is too large ({size_text(size)}, at most {size_text(limit_of(kind))}): {shown}")
    packed = b64encode(data).decode("ascii")
    if kind == PDF:
        note = f" Pages asked for: {pages}; the whole document follows." if pages else ""
        title = shown.replace("\\", "/").rsplit("/", 1)[-1]
        return ToolOutput(
            (Text(f"PDF file read: {shown} ({size_text(size)}).{note}"), Document(PDF, packed, title)),
            {"type": "pdf", "file": {"filePath": shown, "base64": packed, "originalSize": size}},
        )
    file: Json = {"base64": packed, "type": kind, "originalSize": size}
    extent = dimensions(kind, data)
    if extent is not None:
        wide, high = extent
        file["dimensions"] = {
            "originalWidth": wide,
            "originalHeight": high,
            "displayWidth": wide,
            "displayHeight": high,
        }
    return ToolOutput((Image(kind, packed),), {"type": "image", "file": file})
