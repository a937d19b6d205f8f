"""Caches recently fetched pages as text."""

from __future__ import annotations

import threading
import time

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

CACHE_S = 900.0
CACHE_PAGES = 32
CACHE_CHARACTERS = 8 << 20


class Page(Value):
    """A page as text."""

    url: str
    status: int
    reason: str
    title: str
    text: str
    size: int


class PageCache:
    """Pages of the last 15 minutes, limited in number and size; the oldest is dropped first. WebFetch calls run side by
    side, on several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._pages: dict[str, tuple[float, Page]] = {}

    def get(self, url: str) -> Page | None:
        """The page, if it is fresh."""
        with self._lock:
            kept = self._pages.get(url)
            return kept[1] if kept is not None and self._clock() - kept[0] < CACHE_S else None

    def put(self, url: str, page: Page) -> None:
        """Keep a page, and drop older ones until the limits hold. A page that alone exceeds them is dropped too."""
        with self._lock:
            self._pages.pop(url, None)
            self._pages[url] = (self._clock(), page)
            while self._pages and (
                len(self._pages) > CACHE_PAGES
                or sum(len(kept.text) for _, kept in self._pages.values()) > CACHE_CHARACTERS
            ):
                del self._pages[next(iter(self._pages))]
