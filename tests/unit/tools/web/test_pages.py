"""The cache of fetched pages."""

from __future__ import annotations

from yume_shim.tools.web import pages as cached
from yume_shim.tools.web.pages import Page, PageCache


def test_cache_is_bounded_and_forgets() -> None:
    now = [0.0]
    cache = PageCache(lambda: now[0])
    pages = [Page(f"u{count}", 200, "OK", "", "x" * 10, 10) for count in range(cached.CACHE_PAGES + 1)]
    for page in pages:
        cache.put(page.url, page)
    assert (cache.get("u0"), cache.get("u1")) == (None, pages[1])
    huge = Page("huge", 200, "OK", "", "x" * (cached.CACHE_CHARACTERS + 1), 1)
    cache.put("huge", huge)
    assert (cache.get("huge"), cache.get("u5")) == (None, None)
    cache.put("u1", pages[1])
    now[0] = cached.CACHE_S
    assert cache.get("u1") is None
