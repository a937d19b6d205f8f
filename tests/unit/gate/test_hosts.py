"""One function from text to host: rules and WebFetch agree in every notation, or the URL is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.gates import decide, gate
from yume_shim.text.web_host import host_matches, host_of, written_host
from yume_shim.tools.web.client import read_url
from yume_shim.types.errors import ToolFailed

if TYPE_CHECKING:
    from pathlib import Path

MODES = ("default", "acceptEdits", "plan", "dontAsk", "bypassPermissions")

SAME = [
    ("http://localhost/", "localhost"),
    ("http://LOCALHOST:8080/x", "localhost"),
    ("http://ｌocalhost/", "localhost"),
    ("http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", "localhost"),
    ("http://loc\u00adalhost/", "localhost"),
    ("http://localhost./", "localhost"),
    ("http://localhost。/", "localhost"),
    ("HTTP://Localhost?x", "localhost"),
    ("http://localhost#@x.org/", "localhost"),
    ("http://127.0.0.1/", "127.0.0.1"),
    ("http://127.1/", "127.0.0.1"),
    ("http://127.0.1/", "127.0.0.1"),
    ("http://0x7f.1/", "127.0.0.1"),
    ("http://0X7F.0.0.1/", "127.0.0.1"),
    ("http://0x7f000001/", "127.0.0.1"),
    ("http://2130706433/", "127.0.0.1"),
    ("http://0177.0.0.1/", "127.0.0.1"),
    ("http://017700000001/", "127.0.0.1"),
    ("http://１２７.0.0.1/", "127.0.0.1"),
    ("http://127。0。0。1/", "127.0.0.1"),
    ("http://①②⑦.0.0.1/", "127.0.0.1"),
    ("http://127.0.0.1./", "127.0.0.1"),
    ("http://[::ffff:127.0.0.1]/", "127.0.0.1"),
    ("http://[::ffff:7f00:1]:80/", "127.0.0.1"),
    ("http://0/", "0.0.0.0"),
    ("http://[::1]/", "::1"),
    ("http://[0:0:0:0:0:0:0:1]:8080/", "::1"),
    ("http://[FE80::A]/", "fe80::a"),
    ("https://bücher.example/", "xn--bcher-kva.example"),
    ("https://BÜCHER.example./", "xn--bcher-kva.example"),
    ("https://xn--bcher-kva.example/", "xn--bcher-kva.example"),
    ("https://bu\u0308cher.example/", "xn--bcher-kva.example"),
    ("https://evil.example:443/", "evil.example"),
    ("https://ｅｖｉｌ．ｅｘａｍｐｌｅ/", "evil.example"),
    ("https://a_b.evil.example/", "a_b.evil.example"),
]
REFUSED = [
    "http://localhost\\@x.org/",
    "http://x.org\\.localhost/",
    "http://u@localhost/",
    "http://u:p@localhost/",
    "http://x.org:80@localhost/",
    "http://local\thost/",
    "http://local\nhost/",
    " http://localhost/",
    "http://localhost /",
    "http://%6cocalhost/",
    "http://localhost%00.x.org/",
    "http://localhost%2f.x.org/",
    "http://local\u2100host/",
    "http://localhost\uff0fx.org/",
    "http://localhost\uff1a80/",
    "http://localhost:٣٠/",
    "http://localhost:80x/",
    "http://localhost:999999/",
    "http://localhost:/",
    "http://localhost:80:80/",
    "http://[]/",
    "http://[::1/",
    "http://[::1]x/",
    "http://[::1%25lo]/",
    "http://[fe80::1%lo]/",
    "http://127.0.0.256/",
    "http://127.0.0.09/",
    "http://1.2.3.4.5/",
    "http://0x1ffffffff/",
    "http://a..b/",
    "http://.localhost/",
    "http://localhost../",
    "http://local host/",
    "http://<localhost>/",
    "http://local*host/",
    f"http://{'a' * 64}.example/",
    "http:///localhost/",
    "http:localhost/",
    "http:/localhost/",
    "//localhost/",
    "file://localhost/etc/passwd",
    "ftp://localhost/",
    "javascript://localhost/",
    "",
]


@pytest.mark.parametrize(("url", "host"), SAME)
def test_the_tool_and_the_rules_see_the_same_host(url: str, host: str) -> None:
    assert host_of(url) == host
    assert read_url(url).url.host == host


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("url", "host"), SAME)
def test_a_denied_host_is_denied_in_every_notation(tmp_path: Path, url: str, host: str, mode: str) -> None:
    guard = gate(tmp_path, mode, deny=(f"WebFetch(domain:{host})",), allow=("WebFetch",))
    assert decide(guard, "WebFetch", url=url, prompt="?").verdict == "deny"


@pytest.mark.parametrize("url", REFUSED)
def test_what_can_be_read_in_two_ways_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        host_of(url)
    with pytest.raises(ToolFailed):
        read_url(url)
    for mode in MODES:  # no allow rule for a host covers it, a deny rule for some host does
        allows = gate(tmp_path, mode, allow=("WebFetch(domain:localhost)", "WebFetch(domain:x.org)"))
        if "://" in url and mode != "bypassPermissions":
            assert decide(allows, "WebFetch", url=url, prompt="?").verdict != "allow"
        denies = gate(tmp_path, mode, deny=("WebFetch(domain:localhost)",))
        assert "://" not in url or decide(denies, "WebFetch", url=url, prompt="?").verdict == "deny"


@pytest.mark.parametrize(
    ("pattern", "host", "covers"),
    [
        ("x.org", "x.org", True),
        ("X.ORG.", "x.org", True),
        ("ｘ.org", "x.org", True),
        ("x.org", "ax.org", False),
        ("x.org", "a.x.org", False),
        ("*.x.org", "a.x.org", True),
        ("*.x.org", "x.org", False),
        ("*.x.org", "ax.org", False),
        ("*.X.org", "a.b.x.org", True),
        ("127.1", "127.0.0.1", True),
        ("::1", "::1", True),
        ("[0::1]", "::1", True),
        ("bücher.example", "xn--bcher-kva.example", True),
        ("", "x.org", False),
        ("*", "x.org", False),
        ("*.", "x.org", False),
        ("a b", "x.org", False),
        ("x:y:z", "x.org", False),
    ],
)
def test_hosts_of_rules(pattern: str, host: str, covers: bool) -> None:
    assert host_matches(pattern, host) is covers


def test_hosts_of_settings() -> None:
    assert [written_host(text) for text in ("LocalHost", "::1", "[::1]", "127.1", "no host", "")] == [
        *("localhost", "::1", "::1", "127.0.0.1", "", "")
    ]


def test_no_offer_widens_to_every_host(tmp_path: Path) -> None:
    asked = decide(gate(tmp_path), "WebFetch", url="http://u@x.org/", prompt="?")
    assert (asked.verdict, asked.suggestions) == ("ask", ())
    known: Any = decide(gate(tmp_path), "WebFetch", url="http://0x7f.1/", prompt="?").suggestions
    assert [rule["ruleContent"] for offer in known for rule in offer["rules"]] == ["domain:127.0.0.1"]
