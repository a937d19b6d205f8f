"""URLs: parsed, joined, redirected, invalid ones refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yume_shim.net.url import DEFAULT_PORTS, Url, join_url, parse_url, redirect_url, unquote


@pytest.mark.parametrize(
    ("base", "path", "expected"),
    [
        ("https://api.example.com", "/v1/messages", Url("https", "api.example.com", 443, "/v1/messages")),
        ("https://api.example.com/", "/v1/messages", Url("https", "api.example.com", 443, "/v1/messages")),
        ("http://h:8080/a/b/", "c", Url("http", "h", 8080, "/a/b/c")),
        ("https://h/v1?api-version=2", "/m?alt=sse", Url("https", "h", 443, "/v1/m?api-version=2&alt=sse")),
        ("HTTPS://H.Example/X", "/y", Url("https", "h.example", 443, "/X/y")),
        ("http://[::1]:99", "/y", Url("http", "::1", 99, "/y")),
        ("http://us:p%40@h", "/y", Url("http", "h", 80, "/y", "us:p%40")),
        ("http://h", "/models/ü a\r\nX: 1:go", Url("http", "h", 80, "/models/%C3%BC%20a%0D%0AX:%201:go")),
        ("http://bücher.example", "/y", Url("http", "xn--bcher-kva.example", 80, "/y")),
        (" http://h/a#part ", "/y", Url("http", "h", 80, "/a/y")),
    ],
)
def test_join(base: str, path: str, expected: Url) -> None:
    assert join_url(base, path) == expected


@pytest.mark.parametrize(
    "text", ["", "h/x", "ftp://h", "http://", "http://h:99999", "http://h:0", "http://a b:x", "http://h:80x"]
)
def test_invalid_addresses(text: str) -> None:
    with pytest.raises(ValueError, match=r"address|port"):
        parse_url(text)


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("/b?x=1", Url("https", "h", 444, "/b?x=1")),
        ("c", Url("https", "h", 444, "/a/c")),
        ("?x=1", Url("https", "h", 444, "/a/b?x=1")),
        ("//other/d", Url("https", "other", 443, "/d")),
        ("http://other:81/e#f", Url("http", "other", 81, "/e")),
        ("/go?to=http://x", Url("https", "h", 444, "/go?to=http://x")),
        ("v1/models/m:go", Url("https", "h", 444, "/a/v1/models/m:go")),
        ("?at=1:2", Url("https", "h", 444, "/a/b?at=1:2")),
    ],
)
def test_redirects(location: str, expected: Url) -> None:
    assert redirect_url(parse_url("https://us:pw@h:444/a/b?q"), location) == expected


@pytest.mark.parametrize("location", ["javascript:alert(1)", "mailto:a@b", "ftp://h/x"])
def test_a_redirect_to_another_kind_of_address(location: str) -> None:
    with pytest.raises(ValueError, match="address"):
        redirect_url(parse_url("https://h/a"), location)


def test_names_for_headers_and_people() -> None:
    url = parse_url("https://[2001:db8::1]/x")
    assert (url.authority, url.place, url.origin) == (
        "[2001:db8::1]",
        "[2001:db8::1]:443",
        "https://[2001:db8::1]:443",
    )
    assert parse_url("http://h:443").authority == "h:443"
    assert unquote("a%40%C3%BC%zz") == "a@ü%zz"


SHAPE = re.compile(
    r"(?i)(https?)://(?:([^/?#@]*)@)?(\[[0-9a-f:.%]+\]|[^/?#:@\[\]]+)(?::([0-9]{1,5}))?([^?#]*)(?:\?([^#]*))?(?:#.*)?"
)
"""What an address looks like, as one expression: the parser must accept the same and take it apart in the same way."""


@given(
    st.text(alphabet="htpsHTPS:/@[]?#.%a1é \n", max_size=24).map(lambda tail: f"http://{tail}") | st.text(max_size=30)
)
def test_an_address_is_taken_apart_as_its_shape_says(text: str) -> None:
    found = SHAPE.fullmatch(text.strip())
    wanted = None
    if found and (not found[5] or found[5].startswith("/")):
        port = int(found[4]) if found[4] else DEFAULT_PORTS[found[1].lower()]
        wanted = (found[1].lower(), found[2] or "", port) if 0 < port < 65536 else None
    try:
        url = parse_url(text)
    except UnicodeError:  # not a name of a host
        return
    except ValueError:
        assert wanted is None
        return
    assert (url.scheme, url.userinfo, url.port) == wanted
