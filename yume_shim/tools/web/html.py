"""HTML as readable text: headings, paragraphs, lists, links, code and tables in the manner of Markdown; no scripts."""

from __future__ import annotations

import re
from html.parser import HTMLParser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

DROPPED = frozenset(("script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "head", "select"))
"""Left out with all they hold (but for the title in the head)."""
BLOCKS = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "dd",
        "details",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "header",
        "hr",
        "main",
        "nav",
        "p",
        "section",
        "summary",
        "table",
        "tr",
        "ul",
        "ol",
        "caption",
    ]
)
HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
VOID = frozenset(["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"])
MAX_DEPTH = 10
"""List levels that are indented further."""
MAX_TITLE = 300
_SPACES = re.compile(r"[ \t\r\n\f]+")
_BLANK_LINES = re.compile(r"\n{3,}")
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}charset=[\"']?([A-Za-z0-9_-]{1,40})", re.IGNORECASE)


def html_to_text(markup: str) -> tuple[str, str]:
    """(title, text)."""
    reader = _Reader()
    reader.feed(markup)
    reader.close()
    return reader.result()


def charset_in(data: bytes) -> str:
    """The encoding that a page names for itself, "" if none."""
    found = _META_CHARSET.search(data[:2048])
    return found.group(1).decode("ascii") if found else ""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._parts: list[str] = []
        self._title: list[str] = []
        self._in_title = False
        self._dropping: list[str] = []
        self._pre = 0
        self._lists: list[int] = []
        """Open lists: -1 = bullets, else the last number."""
        self._links: list[tuple[str, int]] = []
        self._cells = 0

    def result(self) -> tuple[str, str]:
        title = _SPACES.sub(" ", "".join(self._title)).strip()[:MAX_TITLE]
        text = "".join(self._parts)
        pieces = text.split("\0")  # odd ones are preformatted: their blank lines and spaces count
        for place in range(0, len(pieces), 2):
            pieces[place] = _BLANK_LINES.sub("\n\n", "\n".join(map(str.rstrip, pieces[place].split("\n"))))
        return title, "".join(pieces).strip()

    # ------------------------------------------------ the parser's calls

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        if tag == "title" and not self._title:
            self._in_title = True
        elif tag == "body":
            self._dropping.clear()  # a head that nobody closed
        elif self._dropping:
            if tag == self._dropping[-1]:
                self._dropping.append(tag)
        elif tag in DROPPED:
            self._dropping.append(tag)
        else:
            self._open(tag, dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif self._dropping:
            if tag == self._dropping[-1]:
                self._dropping.pop()
        else:
            self._close(tag)

    def handle_data(self, data: str) -> None:
        data = data.replace("\0", "")
        if self._in_title:
            self._title.append(data)
        elif not self._dropping:
            self._parts.append(data if self._pre else self._joined(_SPACES.sub(" ", data)))

    # ------------------------------------------------ what each tag becomes

    def _open(self, tag: str, attrs: dict[str, str | None]) -> None:
        if tag in HEADINGS:
            self._parts.append("\n\n" + HEADINGS[tag])
        elif tag == "pre":
            self._pre += 1
            if self._pre == 1:
                self._parts.append("\n\n```\n\0")
        elif tag in ("code", "kbd", "samp") and not self._pre:
            self._parts.append("`")
        elif tag == "br":
            self._parts.append("\n")
        elif tag == "a":
            self._links.append((attrs.get("href") or "", len(self._parts)))
        elif tag == "img" and attrs.get("alt"):
            self._parts.append(f"[image: {_SPACES.sub(' ', attrs['alt'] or '').strip()}]")
        elif tag in ("td", "th"):
            self._parts.append(" | " if self._cells else "")
            self._cells += 1
        elif tag == "li":
            self._parts.append("\n" + "  " * min(len(self._lists) - 1, MAX_DEPTH) + self._mark())
        elif tag in BLOCKS:
            self._open_block(tag)

    def _open_block(self, tag: str) -> None:
        if tag in ("ul", "ol"):
            self._parts.append("" if self._lists else "\n\n")
            self._lists.append(0 if tag == "ol" else -1)
        elif tag == "tr":
            self._cells = 0
            self._parts.append("\n")
        elif tag == "hr":
            self._parts.append("\n\n---\n\n")
        else:
            self._parts.append("\n\n")

    def _mark(self) -> str:
        if not self._lists or self._lists[-1] < 0:
            return "- "
        self._lists[-1] += 1
        return f"{self._lists[-1]}. "

    def _close(self, tag: str) -> None:
        if tag in VOID:
            return
        if tag == "pre" and self._pre:
            self._pre -= 1
            if not self._pre:
                self._parts.append("\0\n```\n\n")
        elif tag in ("code", "kbd", "samp") and not self._pre:
            self._parts.append("`")
        elif tag == "a" and self._links:
            self._close_link()
        elif tag in ("ul", "ol"):
            if self._lists:
                self._lists.pop()
            self._parts.append("" if self._lists else "\n\n")
        elif tag in HEADINGS or (tag in BLOCKS and tag != "tr"):
            self._parts.append("\n\n")

    def _close_link(self) -> None:
        """`[text](address)`, where the address says something."""
        href, start = self._links.pop()
        text = "".join(self._parts[start:]).strip()
        if text and "\n" not in text and href.startswith(("http://", "https://", "/")) and href != text:
            lead = " " if self._parts[start].startswith(" ") else ""
            self._parts[start:] = [f"{lead}[{text}]({href})"]

    def _joined(self, text: str) -> str:
        """No space at the beginning of a line, nor two in a row."""
        before = self._parts[-1][-1:] if self._parts and self._parts[-1] else "\n"
        return text.lstrip(" ") if before in " \n" else text
