"""One image or document: what is sent for it, and what the user should know about that."""

from __future__ import annotations

from yume_shim.providers.fitting.media.images import MediaRefused, decode_base64, fit_image
from yume_shim.providers.fitting.media.pdf_text import is_encrypted, is_pdf
from yume_shim.text.image_head import image_kind
from yume_shim.types.blocks import Document, Image, Text
from yume_shim.types.events import Notice
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.providers.fitting.media.images import Limits
    from yume_shim.providers.fitting.media.worker_process import WorkerProcess

    Part = Text | Image | Document

PDF = "application/pdf"
FETCHABLE = ("https://", "http://", "gs://")
"""Addresses that an endpoint could fetch something from."""


class Fitted(Value):
    """What is sent for a part, what the user should know, and how many pages a PDF has."""

    part: Part
    notice: Notice | None = None
    pages: int = 0


class Accepted(Value):
    """What the endpoint and the model accept."""

    images: bool
    urls: bool
    documents: bool
    pages: int
    """Of all PDFs together; 0 = no limit."""


def fit_part(part: Image | Document, accepted: Accepted, limits: Limits, worker: WorkerProcess) -> Fitted:
    """What is sent for one image or document. `worker` decodes it if it must be decoded."""
    try:
        if isinstance(part, Image):
            return _fit_image(part, accepted, limits, worker)
        return _fit_document(part, accepted, limits, worker)
    except MediaRefused as refused:
        return left_out(part, str(refused))


def _fit_image(image: Image, accepted: Accepted, limits: Limits, worker: WorkerProcess) -> Fitted:
    if not accepted.images:
        return _unseen(image)
    if image.url:
        inline = _inline(image.url)
        if inline is not None:
            return _fit_image(inline, accepted, limits, worker)
        if not image.url.lower().startswith(FETCHABLE):
            return left_out(image, "its address cannot be fetched")
        return Fitted(image) if accepted.urls else left_out(image, "this endpoint does not fetch images by address")
    return Fitted(fit_image(image, limits, worker.convert_image))


def _inline(url: str) -> Image | None:
    """The image inside a `data:` URL."""
    head, comma, data = url.partition(",")
    if not comma or not head.lower().startswith("data:") or not head.lower().endswith(";base64"):
        return None
    return Image(head[5:].partition(";")[0], data)


def _fit_document(document: Document, accepted: Accepted, limits: Limits, worker: WorkerProcess) -> Fitted:
    """A PDF as it is or as its text; any other text as plain text."""
    if document.media_type == "text/plain":  # `data` is the text itself
        return _plain(document)
    data = decode_base64(document.data)
    if is_pdf(data):
        return _fit_pdf(document, data, accepted, worker)
    if image_kind(data):
        return _fit_image(Image(document.media_type, document.data), accepted, limits, worker)
    if document.media_type == PDF:
        raise MediaRefused("it is not a PDF")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise MediaRefused(f"{document.media_type or 'its format'} is not supported")
    return _plain(Document("text/plain", text, document.title))


def _plain(document: Document) -> Fitted:
    """Every API refuses blank text, in whatever block it comes."""
    return Fitted(document if document.data.strip() else Text(f"[{document.title or 'A document'} is empty.]"))


def _fit_pdf(document: Document, data: bytes, accepted: Accepted, worker: WorkerProcess) -> Fitted:
    if not accepted.documents or is_encrypted(data):
        return _pdf_as_text(document, data, worker)
    pages = worker.page_count(data) if accepted.pages else 0
    if pages > accepted.pages:
        return _pdf_as_text(document, data, worker)
    return Fitted(_as_pdf(document, data), pages=pages)


def _as_pdf(document: Document, data: bytes) -> Document:
    from base64 import b64encode

    packed = b64encode(data).decode("ascii")
    if document.media_type == PDF and packed == document.data:
        return document
    return Document(PDF, packed, document.title)


def _pdf_as_text(document: Document, data: bytes, worker: WorkerProcess) -> Fitted:
    from yume_shim.text.clean import clean_model_text

    found = worker.pdf_text(data)
    if not found.text:
        raise MediaRefused(f"it must be sent as text, but {found.note}")
    name = document.title or "The document"
    head = f"[{name}: the text of the PDF{f', {found.note}' if found.note else ''}]"
    missing = f". The text has {found.note}" if found.note else ""
    notice = Notice("document_as_text", f"{name} is sent as text: this endpoint does not take this PDF{missing}.")
    return Fitted(Text(f"{head}\n\n{clean_model_text(found.text)}"), notice)


def _unseen(image: Image) -> Fitted:
    words = f"[An image{_place_of(image)} is left out: this model sees no images.]"
    return Fitted(Text(words), Notice("images_left_out", "Images are left out: this model sees none."))


def _place_of(image: Image) -> str:
    """The address, if there is one to show: a `data:` URL is the image itself."""
    return f" at {image.url}" if image.url.lower().startswith(FETCHABLE) else ""


def left_out(part: Image | Document, why: str) -> Fitted:
    """A note in its place for the model, and the same for the user."""
    if isinstance(part, Image):
        words, code = f"An image{_place_of(part)} is left out: {why}.", "images_left_out"
    else:
        words, code = f"{part.title or 'A document'} is left out: {why}.", "document_left_out"
    return Fitted(Text(f"[{words}]"), Notice(code, words))
