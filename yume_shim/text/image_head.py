"""The type and size of an image, from its first bytes. The host's media type and the file name are ignored."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

MEASURED = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp")
"""The kinds whose width and height are read."""
MAX_SEGMENTS = 2_000
"""JPEG segments that are read in search of the size; a file of nothing but filler would take seconds."""

_BRANDS = {b"avif": "image/avif", b"avis": "image/avif", b"mif1": "image/heif", b"msf1": "image/heif"}
_ICON = b"\x00\x00\x01\x00"


def image_kind(data: bytes) -> str:
    """The media type; "" if this is not the start of an image."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data[4:8] == b"ftyp":
        return _BRANDS.get(data[8:12], "image/heic" if data[8:11] in (b"hei", b"hev") else "")
    if data.startswith(b"BM") and data[6:10] == b"\0\0\0\0":  # two letters alone could be any text
        return "image/bmp"
    if data.startswith((b"II*\x00", b"MM\x00*")):
        return "image/tiff"
    return "image/x-icon" if data.startswith(_ICON) else ""


def dimensions(kind: str, data: bytes) -> tuple[int, int] | None:
    """Width and height from the header; None if it is truncated or invalid, or of a kind that is not in MEASURED."""
    match kind:
        case "image/png":
            return _pair(data, 16, 4, "big") if data[12:16] == b"IHDR" else None
        case "image/gif":
            return _pair(data, 6, 2, "little")
        case "image/jpeg":
            return _jpeg(data)
        case "image/webp":
            return _webp(data)
        case "image/bmp" if len(data) >= 26:  # a negative height means rows from the top
            wide, high = (abs(int.from_bytes(data[at : at + 4], "little", signed=True)) for at in (18, 22))
            return (wide, high) if wide and high else None
        case _:
            return None


def _pair(
    data: bytes, start: int, size: int, order: Literal["big", "little"], mask: int = -1
) -> tuple[int, int] | None:
    if len(data) < start + 2 * size:
        return None
    wide = int.from_bytes(data[start : start + size], order) & mask
    high = int.from_bytes(data[start + size : start + 2 * size], order) & mask
    return (wide, high) if wide and high else None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    place = 2
    for _ in range(MAX_SEGMENTS):
        if place + 9 >= len(data) or data[place] != 0xFF:
            break
        mark = data[place + 1]
        if mark == 0xFF:  # filler
            place += 1
        elif 0xC0 <= mark <= 0xCF and mark not in (0xC4, 0xC8, 0xCC):  # a frame header, of whatever coding
            extent = _pair(data, place + 5, 2, "big")
            return None if extent is None else (extent[1], extent[0])  # the height comes first here
        else:
            place += 2 + int.from_bytes(data[place + 2 : place + 4], "big")
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    match data[12:16]:
        case b"VP8X" if len(data) >= 30:
            return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
        case b"VP8L" if len(data) >= 25:
            bits = int.from_bytes(data[21:25], "little")
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case b"VP8 ":
            return _pair(data, 26, 2, "little", 0x3FFF)
        case _:
            return None
