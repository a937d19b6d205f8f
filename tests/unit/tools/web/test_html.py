"""Pages as text."""

from __future__ import annotations

import pytest

from yume_shim.tools.web.html import charset_in, html_to_text

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

Some bold text, a [link](https://example.org/x), `code`.
Next line.

- one
- two
  1. first
  2. second

```
  keep
    this


```

a | b
1 | 2

[image: a picture]"""


def test_a_page() -> None:
    assert html_to_text(PAGE) == ("The Title", TEXT)


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("", ""),
        ("just text", "just text"),
        ("<p>one<p>two", "one\n\ntwo"),
        ("<head><title>t</title><body>text", "text"),
        ("a <script>never closed", "a"),
        ("<a href='javascript:x()'>go</a> <a href='#top'>up</a>", "go up"),
        ("<li>loose</li>", "- loose"),
        ("</ul></a></pre></div>x", "x"),
        ("<div><div><div>deep</div></div></div>", "deep"),
        ("a&nbsp;b &lt;c&gt; &#x1F600;", "a\xa0b <c> 😀"),
        ("<p>a\0b</p>", "ab"),
    ],
)
def test_odd_markup(markup: str, text: str) -> None:
    assert html_to_text(markup)[1] == text


def test_depth_and_size_cost_little() -> None:
    markup = "<ul><li>" * 5_000 + "x" + "<div>" * 50_000
    assert html_to_text(markup)[1].endswith("- x")


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
