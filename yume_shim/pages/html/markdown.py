"""Renders Markdown as HTML: markdown-it-py parses, this module writes. Only the elements below exist, raw HTML is text, and
images are links, because a page makes no request."""

from __future__ import annotations

import re
from unicodedata import bidirectional

from markdown_it import MarkdownIt

from yume_shim.pages.html.coloured_code import coloured
from yume_shim.pages.html.escaping import code, link_target, prose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it.token import Token

MAX_MARKDOWN = 40_000
"""Characters of a text that are parsed; a longer one is shown as it is."""
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_URL = re.compile(r"https?://[^\s<>\"'`\u0000-\u001f]{1,2000}")
_MARKS = re.compile(
    r"^ {0,8}(?:#{1,6} +|[-*+] +|> ?)+|\*{1,3}(?=\S)|(?<=\S)\*{1,3}|`+|~~|!?\[([^\[\]\n]{0,200})\]\([^()\n]{0,300}\)",
    re.MULTILINE,
)
"""Marks whose text reads well without them."""
_CODE = re.compile(r"`([^`\n]{1,200})`")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_TASK = re.compile(r"^\[([ xX])\] ")
_BLOCKS = {
    "paragraph": "p",
    "blockquote": "blockquote",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "list_item": "li",
    "table": "table",
    "thead": "thead",
    "tbody": "tbody",
    "tr": "tr",
}
_INLINE = {"em": "em", "strong": "strong", "s": "s"}
_CONTAINERS = ("blockquote", "bullet_list", "ordered_list", "table")
_DIRECTIONS = {"L": "ltr", "R": "rtl", "AL": "rtl"}
_ALIGN = {"text-align:left": "l", "text-align:center": "c", "text-align:right": "r"}


def rendered(text: str) -> str:
    """The HTML of a Markdown text."""
    if len(text) > MAX_MARKDOWN:
        return f'<div class="plain" dir="auto">{prose(text)}</div>'
    if not _looks_marked(text):  # most texts are a paragraph or two
        return "".join(f'<p dir="auto">{_linked(part.strip())}</p>' for part in text.split("\n\n") if part.strip())
    tokens = _PARSER.parse(text)
    return "".join(_block(token, tokens, place) for place, token in enumerate(tokens))


def first_words(text: str, limit: int) -> str:
    """The beginning of a Markdown text on one line, without its marks."""
    text = text[: 3 * limit]
    if _RIGHT_TO_LEFT.search(text):  # code keeps its own direction, as it has in the text
        text = _CODE.sub("\u2068\\1\u2069", text)
    plain = _MARKS.sub(lambda found: found[1] or "", text)
    words = " ".join(plain.split())
    return words if len(words) <= limit else words[: limit - 1] + "…"


def _looks_marked(text: str) -> bool:
    return re.search(r"[*_`#>|\[\]~\\&<]|^[ \t]*(?:[-+=]|\d{1,9}[.)])|^ {4}|^\t|  $", text, re.MULTILINE) is not None


def _direction(tokens: Sequence[Token], place: int) -> str:
    """The direction of a list, table or quotation: that of its first words. (`dir=auto` would not look at them, because
    they have directions of their own; it decides where numbers, columns and the line of a quotation stand.)"""
    level = tokens[place].level
    for token in tokens[place + 1 :]:
        if token.level <= level:
            break
        for child in token.children or ():
            if child.type == "text":
                for letter in child.content:
                    found = _DIRECTIONS.get(bidirectional(letter))
                    if found:
                        return found
    return "ltr"


def _block(token: Token, tokens: Sequence[Token], place: int) -> str:
    kind = token.type
    if kind == "inline":
        return _inline(token.children or ())
    if kind == "fence":
        return block_of_code(token.content, token.info.strip().split(" ")[0])
    if kind == "code_block":
        return block_of_code(token.content)
    if kind == "hr":
        return "<hr>"
    name, _, side = kind.rpartition("_")
    if token.hidden:
        return ""
    if name == "heading" and token.tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
        level = min(int(token.tag[1]) + 2, 6)  # h1 is the page's, h2 the turns'
        return f'<h{level} dir="auto">' if side == "open" else f"</h{level}>"
    if name in ("th", "td"):
        align = _ALIGN.get(str(token.attrGet("style") or ""), "")
        return (
            (f'<{name} dir="auto"' + (f' class="{align}"' if align else "") + ">") if side == "open" else f"</{name}>"
        )
    element = _BLOCKS.get(name)
    if element is None:
        return prose(token.content)
    around = ('<div class="scroll">', "</div>") if element == "table" else ("", "")
    if side != "open":
        return f"</{element}>{around[1]}"
    start = token.attrGet("start") if element == "ol" else None
    number = f' start="{start}"' if isinstance(start, int) else ""
    way = ' dir="auto"' if element == "p" else f' dir="{_direction(tokens, place)}"' if name in _CONTAINERS else ""
    return f"{around[0]}<{element}{number}{way}>"


def _inline(tokens: Sequence[Token]) -> str:
    made: list[str] = []
    links: list[bool] = []
    for place, token in enumerate(tokens):
        kind = token.type
        if kind == "text":
            text = token.content
            task = _TASK.match(text) if place == 0 else None
            if task is not None:
                made.append('<span class="box">' + ("☐" if task[1] == " " else "☑") + "</span> ")
                text = text[task.end() :]
            made.append(prose(text) if any(links) else _linked(text))
        elif kind == "code_inline":
            made.append(f'<code dir="ltr">{code(token.content)}</code>')
        elif kind == "softbreak":
            made.append("\n")
        elif kind == "hardbreak":
            made.append("<br>")
        elif kind == "link_open":
            target = link_target(str(token.attrGet("href") or ""))
            links.append(bool(target))
            made.append(_anchor(target) if target else "")
        elif kind == "link_close":
            made.append("</a>" if links and links.pop() else "")
        elif kind == "image":
            made.append(_picture_link(token, inside=any(links)))
        else:
            name, _, side = kind.rpartition("_")
            element = _INLINE.get(name)
            made.append(
                f"<{element}>" if element and side == "open" else f"</{element}>" if element else prose(token.content)
            )
    return "".join(made)


def _picture_link(token: Token, *, inside: bool) -> str:
    """An image of a Markdown text: its description, as a link to where it is."""
    address = str(token.attrGet("src") or "")
    target, words = link_target(address), prose(token.content.strip() or address[:200] or "image")
    label = f'<span class="pic">🖼 {words}</span>'
    return f"{_anchor(target)}{label}</a>" if target and not inside else label


def _linked(text: str) -> str:
    """Text in which web addresses are links."""
    if "://" not in text:
        return prose(text)
    made: list[str] = []
    at = 0
    for found in _URL.finditer(text):
        url = found[0].rstrip(".,;:!?)]}*_")
        target = link_target(url)
        if target:
            made += [prose(text[at : found.start()]), _anchor(target), prose(url), "</a>"]
            at = found.start() + len(url)
    made.append(prose(text[at:]))
    return "".join(made)


def _anchor(target: str) -> str:
    return f'<a href="{target}" rel="noopener noreferrer nofollow" target="_blank">'


def block_of_code(text: str, language: str = "") -> str:
    """A block of code, coloured where the language is known."""
    label = f'<span class="lang">{code(language[:30])}</span>' if language else ""
    return (
        f'<div class="code">{label}<pre dir="ltr"><code>{coloured(text.rstrip(chr(10)), language)}</code></pre></div>'
    )
