"""Images and PDFs: what they are, by their first bytes, and how they are handed to the model."""

from __future__ import annotations

from yume_shim.tools._files import size_text
from yume_shim.types.blocks import Document, Image, Text
from yume_shim.types.errors import ToolFailed
from yume_shim.types.outputs import ToolOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json

MAX_IMAGE_BYTES = 3_750_000
"""5 MB in base64, the most that model APIs take for one image."""
MAX_PDF_BYTES = 20 << 20
PDF = "application/pdf"


def kind_of(head: bytes) -> str:
    """The media type, or "" for anything that is no image or PDF we can hand over."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if head.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if head.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
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


def dimensions(kind: str, data: bytes) -> tuple[int, int] | None:
    """Width and height from the header; None if it is cut or odd."""
    match kind:
        case "image/png" if len(data) >= 24 and data[12:16] == b"IHDR":
            return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
        case "image/gif" if len(data) >= 10:
            return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
        case "image/jpeg":
            return _jpeg(data)
        case "image/webp" if len(data) >= 30:
            return _webp(data)
        case _:
            return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    place = 2
    while place + 9 < len(data) and data[place] == 0xFF:
        mark = data[place + 1]
        if mark == 0xFF:  # filler
            place += 1
        elif 0xC0 <= mark <= 0xCF and mark not in (0xC4, 0xC8, 0xCC):  # a frame header, of whatever coding
            high, wide = data[place + 5 : place + 7], data[place + 7 : place + 9]
            return int.from_bytes(wide, "big"), int.from_bytes(high, "big")
        else:
            place += 2 + int.from_bytes(data[place + 2 : place + 4], "big")
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    match data[12:16]:
        case b"VP8X":
            return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
        case b"VP8L":
            bits = int.from_bytes(data[21:25], "little")
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case b"VP8 ":
            wide, high = data[26:28], data[28:30]
            return int.from_bytes(wide, "little") & 0x3FFF, int.from_bytes(high, "little") & 0x3FFF
        case _:
            return None
