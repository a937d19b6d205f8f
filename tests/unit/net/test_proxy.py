"""Which proxy the environment names."""

from __future__ import annotations

import pytest

from yume_shim.net.proxy import choose_proxy, connect_request
from yume_shim.net.url import Url, parse_url

PROXY = "http://proxy:3128"
CHOSEN = Url("http", "proxy", 3128, "/")


@pytest.mark.parametrize(
    ("address", "env", "expected"),
    [
        ("https://api.example.com", {"HTTPS_PROXY": PROXY}, CHOSEN),
        ("https://api.example.com", {"https_proxy": PROXY, "HTTPS_PROXY": "http://other"}, CHOSEN),
        ("https://api.example.com", {"HTTP_PROXY": PROXY}, None),
        ("http://api.example.com", {"http_proxy": "proxy:3128"}, CHOSEN),
        ("http://api.example.com", {"ALL_PROXY": PROXY}, CHOSEN),
        ("https://api.example.com", {"ALL_PROXY": PROXY, "NO_PROXY": "example.com"}, None),
        ("https://api.example.com", {"ALL_PROXY": PROXY, "NO_PROXY": ".example.com"}, None),
        ("https://api.example.com", {"ALL_PROXY": PROXY, "NO_PROXY": "*.example.com"}, None),
        ("https://api.example.com", {"ALL_PROXY": PROXY, "NO_PROXY": "ample.com, other"}, CHOSEN),
        ("https://api.example.com", {"ALL_PROXY": PROXY, "NO_PROXY": "*"}, None),
        ("https://api.example.com:8443", {"ALL_PROXY": PROXY, "no_proxy": "api.example.com:8443"}, None),
        ("https://api.example.com", {"ALL_PROXY": PROXY, "no_proxy": "api.example.com:8443"}, CHOSEN),
        ("http://10.1.2.3", {"ALL_PROXY": PROXY, "no_proxy": "10.0.0.0/8"}, None),
        ("http://11.1.2.3", {"ALL_PROXY": PROXY, "no_proxy": "10.0.0.0/8 nonsense/x"}, CHOSEN),
        ("http://[::1]:80", {"ALL_PROXY": PROXY, "no_proxy": "[::1]"}, None),
        ("http://[::1]:80", {"ALL_PROXY": PROXY, "no_proxy": "::1"}, None),
        ("http://h", {}, None),
        ("http://h", {"ALL_PROXY": " "}, None),
    ],
)
def test_choice(address: str, env: dict[str, str], expected: Url | None) -> None:
    assert choose_proxy(parse_url(address), env) == expected


@pytest.mark.parametrize("text", ["socks5://h", "https://h", "http://:bad:"])
def test_a_proxy_that_cannot_be_used(text: str) -> None:
    with pytest.raises(ValueError, match="ALL_PROXY"):
        choose_proxy(parse_url("https://h"), {"ALL_PROXY": text})


def test_tunnel_request() -> None:
    proxy = parse_url("http://us:pa%3Ass@proxy:3128")
    assert connect_request(parse_url("https://h/x"), proxy) == (
        b"CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\nProxy-Authorization: Basic dXM6cGE6c3M=\r\n\r\n"
    )
