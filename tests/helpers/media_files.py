"""Images and PDFs for tests, made on the spot: real files, the same bytes every time."""

from __future__ import annotations

import base64
import io
import random
from functools import cache
from typing import Any

import PIL.Image
from pypdf import PdfReader, PdfWriter

from yume_shim.types.blocks import Document, Image


def picture(wide: int = 4, high: int = 3, color: Any = "red", mode: str = "RGB") -> PIL.Image.Image:
    """One colour everywhere: compresses to nothing."""
    return PIL.Image.new(mode, (wide, high), color)


def noise(wide: int, high: int) -> PIL.Image.Image:
    """Nothing compresses it."""
    return PIL.Image.frombytes("RGB", (wide, high), random.Random(wide * high).randbytes(wide * high * 3))


def saved(image: PIL.Image.Image, form: str, **options: Any) -> bytes:
    """An image file."""
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def animated() -> bytes:
    """A GIF of three frames: red, green, blue."""
    frames = [picture(8, 8, color) for color in ("red", "green", "blue")]
    return saved(frames[0], "GIF", save_all=True, append_images=frames[1:])


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def image(form: str = "PNG", wide: int = 4, high: int = 3, color: Any = "red") -> Image:
    """An image block with its media type."""
    return Image(f"image/{form.lower()}", b64(saved(picture(wide, high, color), form)))


def opened(block: Image) -> PIL.Image.Image:
    """What an API would decode."""
    found = PIL.Image.open(io.BytesIO(base64.b64decode(block.data)))
    found.load()
    return found


def pdf(*pages: str) -> bytes:
    """A PDF with one line of text on each page; a page "" is blank."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>"]
    places = [4 + 2 * number for number in range(len(pages))]
    kids = " ".join(f"{place} 0 R" for place in places)
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode())
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for place, words in zip(places, pages, strict=True):
        fonts = "/Resources << /Font << /F1 3 0 R >> >>"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 100] {fonts} /Contents {place + 1} 0 R >>".encode()
        )
        drawing = f"BT /F1 12 Tf 10 50 Td ({words}) Tj ET".encode() if words else b""
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawing), drawing))
    out = b"%PDF-1.4\n"
    offsets: list[int] = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, table)
    return out + b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, start)


def slow_pdf_file() -> bytes:
    """One page whose text takes half a minute to extract."""
    return pdf("w) Tj 0 -1 Td (" * 600_000)


@cache
def slow_jpeg_file(scans: int = 90, side: int = 8500) -> bytes:
    """A progressive JPEG that repeats its last scan: each costs a pass over all its pixels, together some seconds."""
    data = saved(picture(side, side, 90, "L"), "JPEG", progressive=True)
    last = data.rfind(b"\xff\xda")
    return data[:-2] + data[last:-2] * scans + b"\xff\xd9"


def encrypted_pdf(password: str, *pages: str) -> bytes:
    """The same, protected by a password."""
    writer = PdfWriter(PdfReader(io.BytesIO(pdf(*pages))))
    writer.encrypt(password, owner_password="owner", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def pdf_block(*pages: str, title: str = "a.pdf") -> Document:
    """A document block."""
    return Document("application/pdf", b64(pdf(*pages)), title)
