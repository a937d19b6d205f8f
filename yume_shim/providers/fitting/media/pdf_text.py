"""The text of a PDF, for endpoints that take no PDFs: limited in pages, characters and time. Never raises.

`page_count` and `pdf_text` run in the worker process.
"""

from __future__ import annotations

import time

from yume_shim.types.packages import missing_package
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_PAGES = 300
MAX_CHARACTERS = 400_000
"""About 100,000 tokens."""
MAX_SECONDS = 20.0
HEAD_BYTES = 1_024
"""The `%PDF-` mark may be anywhere in the first bytes, this many (ISO 32000)."""


class PdfText(Value):
    """The text that was found, and a note about what is missing ("" = nothing)."""

    text: str
    note: str = ""


def is_pdf(data: bytes) -> bool:
    """Is it a PDF, by its first bytes?"""
    return b"%PDF-" in data[:HEAD_BYTES]


def is_encrypted(data: bytes) -> bool:
    """Does its trailer name an encryption dictionary? No API takes such a file ("standard PDF, no passwords or
    encryption")."""
    return b"/Encrypt" in data


def page_count(data: bytes) -> int:
    """How many pages it has; 0 if that cannot be read."""
    try:
        return len(_opened(data).pages)
    except Exception:  # as below; the endpoint may be able to read the file all the same
        return 0


def pdf_text(data: bytes, seconds: float = MAX_SECONDS) -> PdfText:
    """The text, page by page, as far as the time allows."""
    try:
        from pypdf.errors import PyPdfError
    except ImportError as error:
        return PdfText("", missing_package(error) or str(error))
    try:
        reader = _opened(data)
        if reader.is_encrypted and not reader.decrypt(""):
            return PdfText("", "it is encrypted and needs a password")
        return _pages(reader, seconds)
    except PyPdfError as error:
        return PdfText("", f"it is broken ({type(error).__name__})")
    except Exception as error:  # broken files make the reader raise anything
        return PdfText("", f"it cannot be read ({type(error).__name__})")


def _opened(data: bytes) -> Any:
    import logging
    from io import BytesIO

    from pypdf import PdfReader

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it logs every flaw that it repairs
    return PdfReader(BytesIO(data))


def _pages(reader: Any, seconds: float) -> PdfText:
    count = len(reader.pages)
    until = time.monotonic() + seconds
    parts: list[str] = []
    size = 0
    note = f"only the first {MAX_PAGES} of its {count} pages" if count > MAX_PAGES else ""
    for number, page in enumerate(reader.pages, 1):
        if number > MAX_PAGES:
            break
        if time.monotonic() > until:
            if not parts:
                return PdfText("", "reading it took too long")
            note = f"only the first {number - 1} of its {count} pages: reading it took too long"
            break
        words = page.extract_text().strip()
        if words:
            parts.append(f"[page {number}]\n{words[: MAX_CHARACTERS - size]}")
            size += len(words)
        if size >= MAX_CHARACTERS:
            note = f"only the first {MAX_CHARACTERS} characters, {number} of its {count} pages"
            break
    if not parts:
        return PdfText("", "it contains no text, only images" if count else "it has no pages")
    return PdfText("\n\n".join(parts), note)
