"""Images and documents as their endpoint takes them: formats, sizes, or words in their place.

Each one is looked at once: what it became is remembered, so that a long history costs a look-up per image in every
further request, and goes out as the same bytes. What one becomes never depends on its neighbours, except where all of
them together are more than a request may hold: then the oldest give way, in steps.
"""

from __future__ import annotations

import ctypes  # not in `abandon`: a reader that never rests lets an import then take a tenth of a second
import os
import threading
import time

from yume_shim.providers.fitting.images import MediaRefused, decoded, fit_image, limits_of
from yume_shim.text.image_head import image_kind
from yume_shim.types.blocks import Document, Image, Text, ToolResult
from yume_shim.types.events import Notice
from yume_shim.types.value import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from yume_shim.providers.fitting.images import Limits
    from yume_shim.types.blocks import Block, Message
    from yume_shim.types.models import Request
    from yume_shim.types.ports import Cancel

    Part = Text | Image | Document
    Key = tuple[Image | Document, "Taken", Limits]

MAX_KEPT = 2_000
"""Images and documents that are remembered …"""
MAX_KEPT_CHARS = 256 << 20
"""… and how much all of them may hold. Those of the last request do not count: it holds them anyway, and one of many
images that were forgotten in turn would have all of them worked on again, every time."""
MAX_SECONDS = 30.0
"""The longest that one image or document may take."""
LISTEN = 0.02
"""Seconds between two looks at the stop signal while one is worked on."""
MAX_ENDINGS = 100
ENDING = 0.1
"""How often, and how many seconds apart, one that nobody waits for is told to end."""
WORKERS = 4
"""How many are worked on at a time: a resumed conversation may hold hundreds, and each may fill 320 MB meanwhile."""
MEDIA_SHARE = 0.75
"""The part of the longest request that media may fill; the rest is for words."""
STEPS = 4
"""When media must give way, they do so in so many parts of what is allowed: giving way moves the prefix that prompt
caches hold, so it must not happen in every request."""
PDF = "application/pdf"
LARGE_WINDOW = 1_000_000
"""Tokens from which on `Quirks.pdf_pages_large` counts."""
FETCHED = ("https://", "http://", "gs://")
"""Addresses that an endpoint could fetch something from."""


@value
class Fitted:
    """What stands in a block's place, and what has to be told about it."""

    part: Part
    notice: Notice | None = None
    pages: int = 0


@value
class Taken:
    """What the endpoint and the model take."""

    images: bool
    urls: bool
    documents: bool
    pages: int
    """Of all PDFs together; 0 = no limit."""


class MediaFitter:
    """One per provider: remembers what each image and document became."""

    def __init__(self, max_kept: int = MAX_KEPT, max_chars: int = MAX_KEPT_CHARS) -> None:
        self._max_kept, self._max_chars = max_kept, max_chars
        self._kept: dict[Key, Fitted] = {}
        self._chars = 0

    def fit(self, request: Request, cancel: Cancel | None = None) -> tuple[Request, tuple[Notice, ...]]:
        """The request with media that the endpoint takes, and what has to be told about it. Raises Cancelled."""
        taken, limits = _taken(request), limits_of(request.model.endpoint.quirks)
        notices: list[Notice] = []
        pages: list[int] = []

        def place(part: Part) -> Part:
            if isinstance(part, Text):
                return part
            fitted = self._kept[(part, taken, limits)]
            if fitted.notice is not None:
                notices.append(fitted.notice)
            if not isinstance(fitted.part, Text):
                pages.append(fitted.pages)
            return fitted.part

        # A string hashes its content once and is then compared by identity: a look-up costs nothing.
        used = dict.fromkeys((part, taken, limits) for message in request.messages for part in _media_of(message))
        self._work([key for key in used if key not in self._kept], cancel)
        messages = tuple(_mapped(message, place) for message in request.messages)
        self._forget(used)
        limit = round(request.model.endpoint.quirks.request_bytes * MEDIA_SHARE)
        sizes = [(_size(part), number) for number, message in enumerate(messages) for part in _media_of(message)]
        leaves = [(count, number) for count, (_, number) in zip(pages, sizes, strict=True)]
        given_way = _given_way(sizes, limit) | _given_way(leaves, taken.pages)
        if given_way:
            messages = _without(messages, given_way)
            notices.append(Notice("images_left_out", "Older images and documents are left out: all are too large."))
        if all(new is old for new, old in zip(messages, request.messages, strict=True)):
            return request, tuple(notices)
        return replace(request, messages=messages), tuple(notices)

    def _work(self, waiting: list[Key], cancel: Cancel | None) -> None:
        """See what each of these becomes, several at a time."""
        most = min(WORKERS, os.cpu_count() or 1)
        running: list[_Work] = []
        try:
            while waiting or running:
                if cancel is not None:
                    cancel.check()  # many may take so little each that nobody waits
                while waiting and len(running) < most:
                    running.append(_Work(waiting.pop(0)))
                fitted, key = running[0].result(cancel), running[0].key
                del running[0]
                self._kept[key] = fitted
                self._chars += _size(key[0]) + _size(fitted.part)
        finally:
            for work in running:
                work.abandon()

    def _forget(self, used: dict[Key, None]) -> None:
        """Drop the oldest beyond the limits, except those that were used just now."""
        for key in used:
            self._kept[key] = self._kept.pop(key)  # the newest use is last
        while len(self._kept) > len(used) and (len(self._kept) > self._max_kept or self._chars > self._max_chars):
            old = next(iter(self._kept))
            self._chars -= _size(old[0]) + _size(self._kept.pop(old).part)


def _taken(request: Request) -> Taken:
    quirks, window = request.model.endpoint.quirks, request.model.window
    sees = quirks.images and request.model.images
    pages = quirks.pdf_pages_large if window >= LARGE_WINDOW and quirks.pdf_pages_large else quirks.pdf_pages
    return Taken(sees, quirks.image_urls, quirks.documents and sees, pages)


def _size(part: Part) -> int:
    return len(part.text) if isinstance(part, Text) else len(part.data)


def _mapped(message: Message, place: Callable[[Part], Part]) -> Message:
    """The message with its media replaced; the same value if nothing changes."""
    blocks = tuple(_mapped_block(block, place) for block in message.blocks)
    if all(new is old for new, old in zip(blocks, message.blocks, strict=True)):
        return message
    return replace(message, blocks=blocks)


def _mapped_block(block: Block, place: Callable[[Part], Part]) -> Block:
    if isinstance(block, Image | Document):
        return place(block)
    if not isinstance(block, ToolResult) or isinstance(block.content, str):
        return block
    parts = tuple(place(part) for part in block.content)
    if all(new is old for new, old in zip(parts, block.content, strict=True)):
        return block
    return replace(block, content=parts)


# ---------------------------------------------------------------- one image, one document


class _Work:
    """One of them on a thread of its own, so that a stop is heard while a large file is decoded."""

    def __init__(self, key: Key) -> None:
        self.key = key
        self._until = time.monotonic() + MAX_SECONDS
        self._done = threading.Event()
        self._made: Fitted | None = None
        self._thread = threading.Thread(target=self._run, name="media", daemon=True)
        self._thread.start()

    def result(self, cancel: Cancel | None) -> Fitted:
        """What it becomes. Raises Cancelled."""
        while not self._done.wait(LISTEN):
            if cancel is not None:
                cancel.check()
            if time.monotonic() > self._until:
                self.abandon()
                break
        return self._made or _left_out(self.key[0], "reading it takes too long")

    def abandon(self) -> None:
        """Let it end where it next runs Python code: a file that was made to be read for hours would keep a core busy,
        and every further try another one."""
        if not self._done.is_set():
            threading.Thread(target=self._end, name="media-end", daemon=True).start()

    def _end(self) -> None:
        """`SystemExit` is what a thread may end with in silence. It is lost where it comes up inside a destructor or a
        callback of the collector, so it is sent until the thread is gone; never to an ended one, whose number may be
        another thread's by now."""
        for _ in range(MAX_ENDINGS):
            if self._done.is_set() or not self._thread.is_alive():
                return
            ident = ctypes.c_ulong(self._thread.ident or 0)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(SystemExit))
            self._done.wait(ENDING)

    def _run(self) -> None:
        part, taken, limits = self.key
        try:
            self._made = _fit(part, taken, limits)
        except SystemExit:
            pass  # abandoned
        except Exception as error:  # whatever a hostile file makes its reader do, the conversation goes on
            self._made = _left_out(part, f"it cannot be read ({type(error).__name__})")
        finally:
            self._done.set()


def _fit(part: Image | Document, taken: Taken, limits: Limits) -> Fitted:
    try:
        if isinstance(part, Image):
            return _fit_image(part, taken, limits)
        return _fit_document(part, taken, limits)
    except MediaRefused as refused:
        return _left_out(part, str(refused))


def _fit_image(image: Image, taken: Taken, limits: Limits) -> Fitted:
    if not taken.images:
        return _unseen(image)
    if image.url:
        inline = _inline(image.url)
        if inline is not None:
            return _fit_image(inline, taken, limits)
        if not image.url.lower().startswith(FETCHED):
            return _left_out(image, "its address is none that could be fetched")
        return Fitted(image) if taken.urls else _left_out(image, "this endpoint fetches none by its address")
    return Fitted(fit_image(image, limits))


def _inline(url: str) -> Image | None:
    """The image that a `data:` URL holds."""
    head, comma, data = url.partition(",")
    if not comma or not head.lower().startswith("data:") or not head.lower().endswith(";base64"):
        return None
    return Image(head[5:].partition(";")[0], data)


def _fit_document(document: Document, taken: Taken, limits: Limits) -> Fitted:
    """PDFs as they are, or their text; anything that is text as plain text."""
    from yume_shim.providers.fitting.pdf_text import is_pdf

    if document.media_type == "text/plain":  # then `data` is the text itself
        return _plain(document)
    data = decoded(document.data)
    if is_pdf(data):
        return _fit_pdf(document, data, taken)
    if image_kind(data):
        return _fit_image(Image(document.media_type, document.data), taken, limits)
    if document.media_type == PDF:
        raise MediaRefused("it is no PDF")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise MediaRefused(f"{document.media_type or 'its format'} is not read here")
    return _plain(Document("text/plain", text, document.title))


def _plain(document: Document) -> Fitted:
    """Blank text is refused by every API, however it is wrapped."""
    return Fitted(document if document.data.strip() else Text(f"[{document.title or 'A document'} is empty.]"))


def _fit_pdf(document: Document, data: bytes, taken: Taken) -> Fitted:
    from yume_shim.providers.fitting.pdf_text import is_encrypted, page_count

    if not taken.documents or is_encrypted(data):
        return _pdf_as_text(document, data)
    pages = page_count(data) if taken.pages else 0
    if pages > taken.pages:
        return _pdf_as_text(document, data)
    return Fitted(_as_pdf(document, data), pages=pages)


def _as_pdf(document: Document, data: bytes) -> Document:
    from base64 import b64encode

    packed = b64encode(data).decode("ascii")
    if document.media_type == PDF and packed == document.data:
        return document
    return Document(PDF, packed, document.title)


def _pdf_as_text(document: Document, data: bytes) -> Fitted:
    from yume_shim.providers.fitting.pdf_text import pdf_text
    from yume_shim.text.clean import clean_model_text

    found = pdf_text(data)
    if not found.text:
        raise MediaRefused(f"its text was wanted, but {found.note}")
    name = document.title or "The document"
    head = f"[{name}: the text of the PDF{f', {found.note}' if found.note else ''}]"
    told = f"{name} is sent as text: this endpoint takes no such PDF{f'. Sent are {found.note}' if found.note else ''}."
    return Fitted(Text(f"{head}\n\n{clean_model_text(found.text)}"), Notice("document_as_text", told))


def _unseen(image: Image) -> Fitted:
    words = f"[An image{_place_of(image)} is left out: this model sees no images.]"
    return Fitted(Text(words), Notice("images_left_out", "Images are left out: this model sees none."))


def _place_of(image: Image) -> str:
    """Where it is, if that is short enough to be said: a `data:` URL is the image itself."""
    return f" at {image.url}" if image.url.lower().startswith(FETCHED) else ""


def _left_out(part: Image | Document, why: str) -> Fitted:
    """Words in its place, for the model and for the user."""
    if isinstance(part, Image):
        words, code = f"An image{_place_of(part)} is left out: {why}.", "images_left_out"
    else:
        words, code = f"{part.title or 'A document'} is left out: {why}.", "document_left_out"
    return Fitted(Text(f"[{words}]"), Notice(code, words))


# ---------------------------------------------------------------- all of them together


def _media_of(message: Message) -> Iterator[Image | Document]:
    for block in message.blocks:
        if isinstance(block, Image | Document):
            yield block
        elif isinstance(block, ToolResult) and not isinstance(block.content, str):
            yield from (part for part in block.content if not isinstance(part, Text))


def _given_way(weights: list[tuple[int, int]], limit: int) -> set[int]:
    """Which media have to go so that the others together weigh no more than `limit` (0 = none): the oldest that weigh
    anything. `weights`: (weight, number of its message) of each.

    The newest message's are spared while the rest fits: only what has to go beyond the step goes there.
    """
    total = sum(weight for weight, _ in weights)
    if not limit or total <= limit:
        return set()
    step = max(1, limit // STEPS)
    wanted = -(-(total - limit) // step) * step
    newest = max(number for weight, number in weights if weight)
    gone = 0
    places: set[int] = set()
    for place, (weight, number) in enumerate(weights):
        if gone >= wanted or (number == newest and total - gone <= limit):
            break
        if weight:
            gone += weight
            places.add(place)
    return places


def _without(messages: tuple[Message, ...], gone: set[int]) -> tuple[Message, ...]:
    """The messages with words in place of these media, by their numbers in order."""
    count = -1

    def place(part: Part) -> Part:
        nonlocal count
        if isinstance(part, Text):
            return part
        count += 1
        if count not in gone:
            return part
        what = "An image" if isinstance(part, Image) else part.title or "A document"
        return Text(f"[{what} is left out: the request would be too large.]")

    return tuple(_mapped(message, place) for message in messages)
