"""The process that turns HTML into Markdown: reads a page from stdin, writes `{"title", "text"}` as JSON to stdout.

Why a process: beautifulsoup4 and markdownify are pure Python without limits of time or memory. Measured CPU time: a
table of 50,000 cells takes 4 s; `<!--` 20,000 times takes 4 s, and quadratically more from there (Python's own
html.parser). Nothing in the process can stop them. A process can be killed: `html.py` does so when its time is up.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DROPPED = ("script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "head", "title", "select")
"""Removed with everything inside. (The title is read before.)"""
BLOCKS = ("address", "aside", "details", "fieldset", "figure", "footer", "form", "header", "main", "nav", "summary")
"""Blocks that markdownify would join with the text around them."""
_CELLS = frozenset(("p", "td", "th"))
_TERMS = frozenset(("p", "dt", "dd"))
IMPLIED_ENDS = {
    "body": frozenset(("head",)),
    "li": frozenset(("p", "li")),
    "dt": _TERMS,
    "dd": _TERMS,
    "td": _CELLS,
    "th": _CELLS,
    "tr": _CELLS | {"tr"},
    "tbody": _CELLS | {"tr", "thead", "tbody"},
    **{
        name: frozenset(("p",))
        for name in ("p", "div", "ul", "ol", "dl", "table", "pre", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6")
    },
}
"""Start tag -> the open elements that it ends: HTML lets these end tags be left out, html.parser would nest instead."""
_NONE: frozenset[str] = frozenset()
MAX_DEPTH = 100
"""Deeper elements become siblings: markdownify calls itself three times per level and copies the text at each."""
MAX_LINK = 2_000
"""Longer addresses are left out."""
MAX_TITLE = 300
MEMORY = 1 << 30
PROCESSOR_SECONDS = 30
"""A limit of its own, for the case that the parent dies."""


def main() -> int:
    """Convert one page."""
    from yume_shim.system import limit_memory
    from yume_shim.text.codec import dumps

    limit_memory(MEMORY, PROCESSOR_SECONDS)
    title, text = to_markdown(sys.stdin.buffer.read().decode("utf-8", "replace"))
    with open(1, "wb", closefd=False) as output:
        output.write(dumps({"title": title, "text": text}))
    return 0


def to_markdown(markup: str) -> tuple[str, str]:
    """(title, text). May take long and may raise: `html_to_text` bounds it."""
    soup = _parse(markup)
    title = " ".join(soup.title.get_text().split())[:MAX_TITLE] if soup.title else ""
    for element in soup.find_all(DROPPED):
        element.decompose()
    text: str = _converter().convert_soup(soup)
    return title, text


def _parse(markup: str) -> Any:
    from bs4 import BeautifulSoup

    class Soup(BeautifulSoup):
        def handle_starttag(self, name: str, *args: Any, **kwargs: Any) -> Any:
            ends = IMPLIED_ENDS.get(name, _NONE)
            while self.currentTag is not None and (self.currentTag.name in ends or len(self.tagStack) > MAX_DEPTH):
                self.handle_endtag(self.currentTag.name)
            return super().handle_starttag(name, *args, **kwargs)

    return Soup(markup, "html.parser")


def _converter() -> Any:
    from markdownify import MarkdownConverter

    base: Any = MarkdownConverter  # its stubs leave out the methods that it is extended by

    class Converter(base):  # type: ignore[misc]
        def convert_a(self, el: Any, text: str, parent_tags: set[str]) -> str:
            href = el.get("href") or ""
            if href.startswith(("#", "javascript:", "data:")) or len(href) > MAX_LINK or href == text.strip():
                return text
            return str(super().convert_a(el, text, parent_tags))

        def convert_img(self, el: Any, text: str, parent_tags: set[str]) -> str:
            alt = " ".join((el.get("alt") or "").split())
            return f"[image: {alt}]" if alt else ""

    for name in BLOCKS:
        setattr(Converter, f"convert_{name}", Converter.convert_div)
    return Converter(
        heading_style="atx",
        bullets="-",
        escape_asterisks=False,
        escape_underscores=False,
        table_infer_header=True,
        strip_pre=None,
    )
