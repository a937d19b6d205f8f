"""HTML pages converted to text."""

from __future__ import annotations

import sys
import threading
import time

import pytest

from tests.helpers.fakes import cancel
from yume_shim.tools.web import html
from yume_shim.tools.web.html import bare_text, charset_in, html_to_text
from yume_shim.tools.web.html_worker import MAX_LINK, to_markdown
from yume_shim.types.errors import Cancelled

PAGE = """<!doctype html>
<html><head><title> The
 Title </title><style>p { color: red }</style><script>alert("<p>no</p>")</script></head>
<body><nav><a href="/home">Home</a></nav>
<h1>Grün &amp; gut</h1>
<p>Some   <b>bold</b> text,
a <a href="https://example.org/x">link</a>, <code>code</code>.<br>Next line.</p>
<ul><li>one</li><li>two<ol><li>first</li><li>second</li></ol></li></ul>
<pre>  keep
    this

</pre>
<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>
<img src="x.png" alt="a picture"><svg><text>no</text></svg>
</body></html>"""
TEXT = """[Home](/home)

# Grün & gut

Some **bold** text,
a [link](https://example.org/x), `code`.\x20\x20
Next line.

- one
- two
  1. first
  2. second

```
  keep
    this


```

| a | b |
| --- | --- |
| 1 | 2 |

[image: a picture]"""


BARE = """Home

Grün & gut

Some bold text,
a link, code.
Next line.

one

two

first

second

keep
this

a b

1 2"""


def test_a_page() -> None:
    assert html_to_text(PAGE, cancel()) == ("The Title", TEXT)


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("", ""),
        ("just text", "just text"),
        ("<p>one<p>two", "one\n\ntwo"),
        ("<head><title>t</title><body>text", "text"),
        ("a <script>never closed", "a"),
        ("<a href='javascript:x()'>go</a> <a href='#top'>up</a>", "go up"),
        ("<a href='https://a.test/'>https://a.test/</a> <a href='b.html'>b</a>", "https://a.test/ [b](b.html)"),
        (f"<a href='/{'x' * MAX_LINK}'>long</a> <a>none</a>", "long none"),
        ("<img src='data:image/png;base64,AAAA'><img src='x' alt=' two\n words'>", "[image: two words]"),
        ("<li>loose</li>", "- loose"),
        ("<ul><li>a<li><p>b<ul><li>c</ul><li>d</ul>", "- a\n- b\n\n  - c\n- d"),
        ("<table><tr><td>1<td>2<tr><td>3<td>4</table>", "| 1 | 2 |\n| --- | --- |\n| 3 | 4 |"),
        ("<dl><dt>t<dd>d</dl>", "t\n:   d"),
        ("<nav>n</nav><main>m</main>", "n\n\nm"),
        ("2 * 3_4 * 5", "2 * 3_4 * 5"),
        ("<h3>h</h3><pre><code>  a\n    b</code></pre>", "### h\n\n```\n  a\n    b\n```"),
        ("</ul></a></pre></div>x", "x"),
        ("<div><div><div>deep</div></div></div>", "deep"),
        ("a&nbsp;b &lt;c&gt; &#x1F600;", "a\xa0b <c> 😀"),
    ],
)
def test_markup(markup: str, text: str) -> None:
    assert to_markdown(markup)[1].strip() == text


def test_null_characters_are_removed() -> None:
    assert html_to_text("<p>a\0b</p>", cancel()) == ("", "ab")


def test_deep_elements_keep_their_text() -> None:
    title, text = to_markdown("<ul><li>" * 500 + "x" + "<div>" * 500 + "y")
    assert (title, text.split()[-2:]) == ("", ["x", "y"])


def test_the_bare_text() -> None:
    assert bare_text(PAGE) == ("The Title", BARE)


HOSTILE = {
    "deep": ("<div>" * 100_000 + "x", "x"),
    "unclosed": ("".join(f"<b{number % 50}>" for number in range(100_000)) + "x", "x"),
    "comments": ("<!--" * 50_000, ""),
    "quotes": ('<a href="' * 50_000, ""),
    "attribute": (f"<a title='{'y' * 10_000_000}'>x</a>", "x"),
    "attributes": ("<a " + " ".join(f"a{number}=1" for number in range(100_000)) + ">x</a>", "x"),
    "table": ("<table>" + ("<tr>" + "<td>x</td>" * 20 + "</tr>") * 2_000 + "</table>", "x"),
    "tags": ("<b>" * 3_000_000 + "x", "x"),
    "long": ("<p>word " * 1_200_000, "word"),
    "references": ("&" * 1_000_000 + "x", "x"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_pages_take_bounded_time(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is lowered: what matters is that it holds, and that there is text nevertheless."""
    monkeypatch.setattr(html, "SECONDS", 1.0)
    markup, word = HOSTILE[case]
    began = time.monotonic()
    _, text = html_to_text(markup, cancel())
    assert time.monotonic() - began < 10 * (html.SECONDS + 1.0)
    assert word in text


def test_a_cancel_ends_the_conversion() -> None:
    stop = cancel()
    threading.Timer(0.3, stop.set).start()
    began = time.monotonic()
    with pytest.raises(Cancelled):
        html_to_text(HOSTILE["comments"][0], stop)
    assert time.monotonic() - began < html.SECONDS / 2


def test_without_a_worker_there_is_bare_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert html_to_text("<h1>a</h1>b", cancel()) == ("", "a\nb")


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b'<meta charset="iso-8859-1">', "iso-8859-1"),
        (b"<META http-equiv=Content-Type content='text/html; charset=Shift_JIS'>", "Shift_JIS"),
        (b"<p>charset=utf-8</p>", ""),
    ],
)
def test_charset(data: bytes, name: str) -> None:
    assert charset_in(data) == name
