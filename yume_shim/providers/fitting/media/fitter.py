"""All images and documents of a request in the form that the endpoint takes, or as a note in their place.

Each one is fitted once and remembered: in later requests of a long conversation it costs a look-up, and is sent as the
same bytes. The result never depends on other media, except where all of them together are too large for a request
(`overflow`).
"""

from __future__ import annotations

import os
import threading
import time

from yume_shim.providers.fitting.media.fit_part import Accepted, fit_part, left_out
from yume_shim.providers.fitting.media.images import limits_of
from yume_shim.providers.fitting.media.message_media import map_media, media_of
from yume_shim.providers.fitting.media.overflow import overflowing, without_parts
from yume_shim.providers.fitting.media.worker_pool import POOL
from yume_shim.types.blocks import Text
from yume_shim.types.events import Notice
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.providers.fitting.media.fit_part import Fitted, Part
    from yume_shim.providers.fitting.media.images import Limits
    from yume_shim.providers.fitting.media.worker_pool import WorkerPool
    from yume_shim.providers.fitting.media.worker_process import WorkerProcess
    from yume_shim.types.blocks import Document, Image
    from yume_shim.types.models import Request
    from yume_shim.types.ports import Cancel

    Key = tuple[Image | Document, Accepted, Limits]

MAX_KEPT = 2_000
"""Images and documents that are remembered …"""
MAX_KEPT_CHARS = 256 << 20
"""… and the size of all of them. Those of the last request are kept beyond both limits: the request holds them anyway,
and if they were forgotten in turn, each request would decode all of them again."""
MAX_SECONDS = 30.0
"""The longest time that one image or document may take."""
POLL_SECONDS = 0.02
"""Seconds between two checks of the cancel signal while one is decoded."""
WORKERS = 4
"""How many are fitted at a time: a resumed conversation may hold hundreds, and decoding one may take 320 MB."""
MEDIA_SHARE = 0.75
"""The part of the longest request that media may fill; the rest is for text."""
TOO_LARGE = "Older images and documents are left out: together they are too large."
LARGE_WINDOW = 1_000_000
"""Tokens from which on `Quirks.pdf_pages_large` applies."""


class MediaFitter:
    """Fits media, and remembers the result. One per provider; loops that run side by side share it. The lock guards
    what is remembered."""

    def __init__(
        self,
        max_kept: int = MAX_KEPT,
        max_chars: int = MAX_KEPT_CHARS,
        max_seconds: float = MAX_SECONDS,
        workers: WorkerPool = POOL,
    ) -> None:
        self._max_kept, self._max_chars, self._max_seconds = max_kept, max_chars, max_seconds
        self._workers = workers
        self._lock = threading.Lock()
        self._kept: dict[Key, Fitted] = {}
        self._chars = 0

    def fit(self, request: Request, cancel: Cancel | None = None) -> tuple[Request, tuple[Notice, ...]]:
        """The request with media that the endpoint takes, and what the user should know. Raises Cancelled."""
        accepted, limits = _accepted(request), limits_of(request.model.endpoint.quirks)
        notices: list[Notice] = []
        pages: list[int] = []

        def place(part: Part) -> Part:
            if isinstance(part, Text):
                return part
            fitted = found[(part, accepted, limits)]
            if fitted.notice is not None:
                notices.append(fitted.notice)
            if not isinstance(fitted.part, Text):
                pages.append(fitted.pages)
            return fitted.part

        # A string hashes its content once and is then compared by identity: a look-up costs nothing.
        used = dict.fromkeys((part, accepted, limits) for message in request.messages for part in media_of(message))
        found = self._fit_all(used, cancel)
        messages = tuple(map_media(message, place) for message in request.messages)
        limit = round(request.model.endpoint.quirks.request_bytes * MEDIA_SHARE)
        sizes = [(_size(part), number) for number, message in enumerate(messages) for part in media_of(message)]
        page_counts = [(count, number) for count, (_, number) in zip(pages, sizes, strict=True)]
        omitted = overflowing(sizes, limit) | overflowing(page_counts, accepted.pages)
        if omitted:
            messages = without_parts(messages, omitted)
            notices.append(Notice("images_left_out", TOO_LARGE))
        if all(new is old for new, old in zip(messages, request.messages, strict=True)):
            return request, tuple(notices)
        return replace(request, messages=messages), tuple(notices)

    def _fit_all(self, used: dict[Key, None], cancel: Cancel | None) -> dict[Key, Fitted]:
        """What is sent for each of these, remembered or fitted now."""
        with self._lock:
            found = {key: self._kept[key] for key in used if key in self._kept}
        new = self._fit_new([key for key in used if key not in found], cancel)
        found |= new
        with self._lock:
            for key, fitted in new.items():
                if key not in self._kept:
                    self._chars += _size(key[0]) + _size(fitted.part)
                self._kept[key] = fitted
            self._forget(found)
        return found

    def _fit_new(self, waiting: list[Key], cancel: Cancel | None) -> dict[Key, Fitted]:
        """Fit these, several at a time."""
        done: dict[Key, Fitted] = {}
        most = min(WORKERS, os.cpu_count() or 1)
        running: list[_Job] = []
        try:
            while waiting or running:
                if cancel is not None:
                    cancel.check()  # each may be done before `result` checks the signal
                while waiting and len(running) < most:
                    running.append(_Job(waiting.pop(0), self._workers.take(), self._max_seconds))
                fitted, job = running[0].result(cancel), running[0]
                del running[0]
                self._workers.give_back(job.worker)
                done[job.key] = fitted
        finally:
            for job in running:
                job.worker.end()
        return done

    def _forget(self, used: dict[Key, Fitted]) -> None:
        """Drop the oldest beyond the limits, except those that were used just now."""
        for key in used:
            if key in self._kept:  # another thread may have dropped it
                self._kept[key] = self._kept.pop(key)  # the newest use is last
        while len(self._kept) > len(used) and (len(self._kept) > self._max_kept or self._chars > self._max_chars):
            old = next(iter(self._kept))
            self._chars -= _size(old[0]) + _size(self._kept.pop(old).part)


class _Job:
    """One image or document, fitted on its own thread: the thread that waits for it checks the cancel signal. What may
    take long runs in the worker process, and ending that ends the thread."""

    def __init__(self, key: Key, worker: WorkerProcess, seconds: float) -> None:
        self.key, self.worker = key, worker
        self._until = time.monotonic() + seconds
        self._done = threading.Event()
        self._fitted: Fitted | None = None
        threading.Thread(target=self._run, name="media", daemon=True).start()

    def result(self, cancel: Cancel | None) -> Fitted:
        """What is sent for it. Raises Cancelled."""
        while not self._done.wait(POLL_SECONDS):
            if cancel is not None:
                cancel.check()
            if time.monotonic() > self._until:
                self.worker.end()
                return left_out(self.key[0], "reading it takes too long")
        return self._fitted or left_out(self.key[0], "it cannot be read")

    def _run(self) -> None:
        part, accepted, limits = self.key
        try:
            self._fitted = fit_part(part, accepted, limits, self.worker)
        except Exception as error:  # whatever a hostile file causes, the conversation goes on
            self._fitted = left_out(part, f"it cannot be read ({type(error).__name__})")
        finally:
            self._done.set()


def _accepted(request: Request) -> Accepted:
    quirks, window = request.model.endpoint.quirks, request.model.window
    sees = quirks.images and request.model.images
    pages = quirks.pdf_pages_large if window >= LARGE_WINDOW and quirks.pdf_pages_large else quirks.pdf_pages
    return Accepted(sees, quirks.image_urls, quirks.documents and sees, pages)


def _size(part: Part) -> int:
    return len(part.text) if isinstance(part, Text) else len(part.data)
