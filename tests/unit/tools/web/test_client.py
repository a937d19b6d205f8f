"""Fetching pages: real loopback servers, hostile ones among them."""

from __future__ import annotations

import _socket
import gzip
import socket
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from tests.helpers.attack_world import World
from tests.helpers.attack_world import call as world_call
from tests.helpers.certificates import make_certificate
from tests.helpers.fakes import cancel
from tests.helpers.timing import set_when, soon
from tests.helpers.tool_cases import call, toolbox
from yume_shim.net.message import Deadline
from yume_shim.net.url import Url
from yume_shim.tools import web_fetch
from yume_shim.tools.web import client
from yume_shim.tools.web.addresses import why_refused
from yume_shim.types.errors import Cancelled, ToolFailed
from yume_shim.types.settings import Rules

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from yume_shim.tools.dispatch.builtin import BuiltinTools

HTML = ("text/html; charset=utf-8", "<title>T</title><h1>Grün</h1><p>Text".encode())
PAGES: dict[str, tuple[str, bytes]] = {
    "/": HTML,
    "/json": ("application/json", b'{"a": [1, 2]}'),
    "/plain": ("text/plain", b"line 1\nline 2\n"),
    "/latin": ("text/html", b'<meta charset="iso-8859-1"><p>Gr\xfcn'),
    "/odd-charset": ("text/plain; charset=nonsense", b"plain"),
    "/binary": ("image/png", b"\x89PNG\r\n\x1a\n\0\0"),
    "/octets": ("application/octet-stream", b"\0\1\2"),
    "/liar": ("text/plain", b"text\0not"),
    "/untyped": ("", b"<!DOCTYPE html><p>found"),
    "/empty": ("text/plain", b""),
    "/long": ("text/plain", b"0123456789" * 12_000),
    "/big": ("text/plain", b"x" * (client.MAX_BODY + 1)),
}


class Pages(BaseHTTPRequestHandler):
    """Serves PAGES, and misbehaves below some paths."""

    protocol_version = "HTTP/1.1"
    asked: list[tuple[str, str]]
    stop: threading.Event

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers["Host"]))
        if self.path.startswith("/to?"):
            self._say(302, "text/plain", b"", {"Location": self.path[4:]})
        elif self.path == "/loop":
            self._say(302, "text/plain", b"", {"Location": "/loop"})
        elif self.path == "/packed":
            self._say(200, "text/plain", gzip.compress(b"was packed"), {"Content-Encoding": "gzip"})
        elif self.path == "/bomb":
            self._say(200, "text/plain", gzip.compress(b"\0" * (client.MAX_BODY * 20)), {"Content-Encoding": "gzip"})
        elif self.path == "/bomb-in-small-parts":
            self._small_bombs()
        elif self.path == "/odd-coding":
            self._say(200, "text/plain", b"x", {"Content-Encoding": "br"})
        elif self.path == "/broken-coding":
            self._say(200, "text/plain", b"not gzip", {"Content-Encoding": "gzip"})
        elif self.path == "/cut":
            self._raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        elif self.path == "/garbage":
            self._raw(b"SSH-2.0-OpenSSH_9\r\n\r\n")
        elif self.path == "/hang":
            self.stop.wait(30)
        elif self.path == "/drip":
            self._drip()
        elif self.path in PAGES:
            kind, body = PAGES[self.path]
            self._say(200, kind, body, {})
        else:
            self._say(404, "text/plain", b"no such page", {})

    def _say(self, status: int, kind: str, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        if kind:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, text in headers.items():
            self.send_header(name, text)
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass

    def _raw(self, data: bytes) -> None:
        self.wfile.write(data)
        self.close_connection = True

    def _small_bombs(self) -> None:
        """A stream that inflates to four times the limit, in flushed parts of 1 MB that are all within it."""
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n")
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        try:
            for _ in range(4 * (client.MAX_BODY >> 20)):
                self.wfile.write(packer.compress(b"x" * (1 << 20)) + packer.flush(zlib.Z_SYNC_FLUSH))
        except OSError:
            pass
        self.close_connection = True

    def _drip(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        try:
            while not self.stop.wait(0.05):
                self.wfile.write(b".")
                self.wfile.flush()
        except OSError:
            pass
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def served() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """(address of a server, what it was asked)."""
    yield from serve(None)


def serve(context: Any) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    asked: list[tuple[str, str]] = []
    stop = threading.Event()
    handler = type("Handler", (Pages,), {"asked": asked, "stop": stop})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}", asked
    finally:
        stop.set()
        server.shutdown()
        thread.join()
        server.server_close()


def box(folder: Path, *hosts: str, env: dict[str, str] | None = None) -> BuiltinTools:
    return toolbox(folder, folder / "scratch", env, web_allow_private=hosts or ("127.0.0.1", "localhost"))


def get(tools: BuiltinTools, url: str, **more: Any) -> str:
    content = call(tools, "WebFetch", {"url": url, "prompt": "?", **more}).content
    assert isinstance(content, str)
    return content


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/", "Title: T\n\n# Grün\n\nText"),
        ("/json", '\n{"a": [1, 2]}'),
        ("/plain", "\nline 1\nline 2\n"),
        ("/latin", "\nGrün"),
        ("/odd-charset", "\nplain"),
        ("/untyped", "\nfound"),
        ("/empty", "\n(the page has no text)"),
        ("/packed", "\nwas packed"),
    ],
)
def test_pages(tmp_path: Path, served: tuple[str, list[tuple[str, str]]], path: str, text: str) -> None:
    url = f"http://{served[0]}{path}"
    assert get(box(tmp_path), url) == f"URL: {url}\n{text}"
    assert served[1] == [(path, served[0])]


def test_structured(tmp_path: Path, served: tuple[str, list[tuple[str, str]]]) -> None:
    url = f"http://{served[0]}/plain"
    output = call(box(tmp_path), "WebFetch", {"url": url, "prompt": "?"})
    took = output.structured.pop("durationMs")
    assert 0 <= took < 10_000
    wanted = {"bytes": 14, "code": 200, "codeText": "OK", "result": output.content, "url": url}
    assert output.structured == wanted


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/binary", r"is not text \(image/png, 10 bytes\)"),
        ("/octets", r"is not text \(application/octet-stream"),
        ("/liar", r"is not text \(text/plain"),
        ("/big", r"^The page is larger than 10MB"),
        ("/bomb", r"^The page is larger than 10MB"),
        ("/bomb-in-small-parts", r"^The page is larger than 10MB"),
        ("/odd-coding", r"^Fetching .* failed \(content coding 'br' was not asked for\)\.$"),
        ("/broken-coding", r"^Fetching .* failed \(the answer's compression is broken\)\.$"),
        ("/cut", r"^Fetching .* failed \(the connection was lost in the middle of the answer\)\.$"),
        ("/garbage", r"^Fetching .* failed \(the peer does not speak HTTP: 'SSH-2\.0-OpenSSH_9'\)\.$"),
        ("/nowhere", r"^HTTP 404 Not Found from http://.*/nowhere\nno such page$"),
        ("/loop", r"^More than 5 redirects"),
        ("/to?file:///etc/passwd", r"^Only http and https"),
        ("/to?http://u:p@127.0.0.1/", r"^URLs with a user name"),
    ],
)
def test_refused(tmp_path: Path, served: tuple[str, list[tuple[str, str]]], path: str, words: str) -> None:
    with pytest.raises(ToolFailed, match=words):
        get(box(tmp_path), f"http://{served[0]}{path}")


def test_a_long_page_in_parts(tmp_path: Path, served: tuple[str, list[tuple[str, str]]]) -> None:
    url = f"http://{served[0]}/long"
    tools = box(tmp_path)
    first = get(tools, url)
    assert first.endswith("789\n\n(characters 0 to 50000 of 120000; go on with offset 50000)")
    assert len(first) < web_fetch.MAX_SHOWN + 200
    assert get(tools, url, offset=100_000).endswith("789\n\n(characters 100000 to 120000 of 120000)")
    assert get(tools, url, offset=120_000).endswith("(the text ends at character 120000, before the given offset)")
    assert len(served[1]) == 1  # the rest came from the cache


def test_redirects_on_the_same_host_are_followed(tmp_path: Path, served: tuple[str, list[tuple[str, str]]]) -> None:
    assert get(box(tmp_path), f"http://{served[0]}/to?/plain").startswith(f"URL: http://{served[0]}/plain\n")


def test_redirects_to_another_host_are_reported(tmp_path: Path, served: tuple[str, list[tuple[str, str]]]) -> None:
    other = f"http://localhost:{served[0].partition(':')[2]}/plain"
    output = call(box(tmp_path), "WebFetch", {"url": f"http://{served[0]}/to?{other}", "prompt": "?"})
    assert output.structured["code"] == 302
    assert output.content == (
        f"http://{served[0]}/to?{other} redirects to another host, which was not followed: {other}\n"
        "To read that page, call WebFetch again with this URL."
    )
    assert len(served[1]) == 1


def test_each_hop_is_checked(served: tuple[str, list[tuple[str, str]]]) -> None:
    """A host that is allowed, redirecting to one that is not: even where the names are of one site."""
    port = served[0].partition(":")[2]
    with pytest.raises(ToolFailed, match=r"^Refused: www\.localhost|was not found"):
        client.fetch(
            f"http://localhost:{port}/to?http://www.localhost:{port}/", frozenset(("localhost",)), "", cancel()
        )
    assert len(served[1]) == 1


@pytest.mark.parametrize(
    ("host", "target", "verdict", "followed"),
    [
        ("127.0.0.1", "/plain", "allow", True),
        ("127.0.0.1", "/plain", "ask", True),  # the host itself was approved
        ("127.0.0.1", "/plain", "deny", False),
        ("127.0.0.1", "http://2130706433:{port}/plain", "ask", True),
        ("127.0.0.1", "http://0x7f.1:{port}/plain", "deny", False),
        ("127.0.0.1", "//localhost:{port}/plain", "allow", False),
        ("localhost", "http://www.localhost:{port}/plain", "ask", False),
        ("localhost", "http://www.localhost:{port}/plain", "deny", False),
        ("www.localhost", "http://localhost:{port}/plain", "ask", False),
    ],
)
def test_a_redirect_is_judged_as_a_new_request(
    monkeypatch: pytest.MonkeyPatch,
    served: tuple[str, list[tuple[str, str]]],
    host: str,
    target: str,
    verdict: str,
    followed: bool,
) -> None:
    port = served[0].partition(":")[2]
    monkeypatch.setattr(_socket, "getaddrinfo", to_loopback)
    judged: list[str] = []

    def verdict_on(url: str) -> str:
        judged.append(url)
        return verdict

    allowed = frozenset(("127.0.0.1", "localhost", "www.localhost"))
    url = f"http://{host}:{port}/to?{quote(target.format(port=port), safe='/:?')}"
    reply = client.fetch(url, allowed, "", cancel(), verdict_on)
    assert (reply.moved_to == "", len(served[1])) == (followed, 2 if followed else 1)
    same_site = client.same_site(host, client.read_url(reply.moved_to or reply.url).url.host)
    assert len(judged) == (1 if same_site else 0)


def to_loopback(host: str, port: int, *more: object, **named: object) -> list[Any]:
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"])
def test_a_rule_that_denies_the_target_of_a_redirect(
    tmp_path: Path, served: tuple[str, list[tuple[str, str]]], mode: str
) -> None:
    """Through the whole call pipeline: the page at the start may be fetched, the one it redirects to may not."""
    denied = f"http://{served[0]}/plain"
    world = World(tmp_path)
    rules = Rules(allow=("WebFetch(domain:127.0.0.1)",), deny=(f"WebFetch({denied})",))
    finished = world_call(
        world.runner(mode, rules, web_allow_private=("127.0.0.1",)),
        1,
        "WebFetch",
        url=f"http://{served[0]}/to?/plain",
        prompt="?",
    )
    world.close()
    assert denied in str(finished.result.content)
    assert "line 2" not in str(finished.result.content)
    assert [path for path, _ in served[1]] == ["/to?/plain"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1", "0x7f000001", "[::1]", "[::ffff:127.0.0.1]"])
def test_loopback_needs_permission(tmp_path: Path, served: tuple[str, list[tuple[str, str]]], host: str) -> None:
    port = served[0].partition(":")[2]
    with pytest.raises(ToolFailed, match=r"^Refused: .* is a loopback address"):
        get(box(tmp_path, "other.example"), f"http://{host}:{port}/")
    assert served[1] == []


class Names:
    """Replaces the system's resolver: each lookup of a name gives the next of these answers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> None:
        self.lookups = 0
        self._answers = answers
        monkeypatch.setattr(_socket, "getaddrinfo", self._look_up)

    def _look_up(self, host: str, port: int, **_: Any) -> list[Any]:
        self.lookups += 1
        answer = self._answers[min(self.lookups, len(self._answers)) - 1]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in answer]


def test_one_private_address_refuses_the_host(
    served: tuple[str, list[tuple[str, str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    Names(monkeypatch, ["93.184.216.34", *(f"93.184.216.{last}" for last in range(35, 50)), "127.0.0.1"])
    port = served[0].partition(":")[2]
    with pytest.raises(ToolFailed, match=r"^Refused: mixed\.example is a loopback address \(127\.0\.0\.1\)"):
        client.fetch(f"http://mixed.example:{port}/", frozenset(), "", cancel())
    assert served[1] == []


def test_the_checked_address_is_the_one_connected_to(
    served: tuple[str, list[tuple[str, str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """DNS rebinding: what a second lookup would answer does not matter, because there is none."""
    checked: list[str] = []

    def note(address: str) -> str:
        checked.append(address)
        return ""

    monkeypatch.setattr(client, "why_refused", note)
    names = Names(monkeypatch, ["127.0.0.1"], ["169.254.169.254"])
    port = served[0].partition(":")[2]
    assert client.fetch(f"http://rebind.example:{port}/plain", frozenset(), "", cancel()).status == 200
    assert (checked, names.lookups) == (["127.0.0.1"], 1)


def test_a_redirect_is_checked_again(
    served: tuple[str, list[tuple[str, str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first lookup is taken for a public address; the redirect to the same host looks the name up anew."""
    monkeypatch.setattr(client, "why_refused", lambda address: "" if address == "127.0.0.1" else why_refused(address))
    names = Names(monkeypatch, ["127.0.0.1"], ["127.0.0.2"])
    port = served[0].partition(":")[2]
    with pytest.raises(ToolFailed, match=r"^Refused: rebind\.example is a loopback address \(127\.0\.0\.2\)"):
        client.fetch(f"http://rebind.example:{port}/to?/plain", frozenset(), "", cancel())
    assert (len(served[1]), names.lookups) == (1, 2)


def test_no_proxy_is_used(
    tmp_path: Path, served: tuple[str, list[tuple[str, str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    env: dict[str, str] = dict.fromkeys(("http_proxy", "HTTP_PROXY", "ALL_PROXY"), "http://127.0.0.1:1")
    for name, text in env.items():
        monkeypatch.setenv(name, text)
    assert get(box(tmp_path, env=env), f"http://{served[0]}/plain").endswith("line 2\n")


def test_https(tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    for address, asked in serve(certificate.server):
        url = f"https://{address}/plain"
        with pytest.raises(ToolFailed, match=r"^Fetching .* failed \(.*certificate"):
            get(box(tmp_path), url)
        assert get(box(tmp_path, env={"SSL_CERT_FILE": certificate.trusted}), url).endswith("line 2\n")
        assert asked == [("/plain", address)]


@pytest.mark.parametrize("path", ["/hang", "/drip"])
def test_cancel_ends_the_wait(tmp_path: Path, served: tuple[str, list[tuple[str, str]]], path: str) -> None:
    stop = cancel()
    tools = box(tmp_path)
    set_when(stop, lambda: served[1], after=0.1)
    given = {"url": f"http://{served[0]}{path}", "prompt": "?"}
    with soon(), pytest.raises(Cancelled):
        call(tools, "WebFetch", given, "1", stop=stop)


def test_the_time_limit_cuts_a_drip(served: tuple[str, list[tuple[str, str]]]) -> None:
    place = client.read_url(f"http://{served[0]}/drip")
    with soon(), pytest.raises(ToolFailed, match="did not answer within"):
        client._get(place, frozenset(("127.0.0.1",)), "", Deadline(0.4), cancel())


def test_connection_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolFailed, match=r"^127\.0\.0\.1 cannot be reached \(connection refused\)\.$"):
        get(box(tmp_path), "http://127.0.0.1:1/")


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.255.0.9", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "0.1.2.3"),
        *("100.64.0.1", "192.0.0.8", "198.18.0.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255"),
        *("192.0.2.1", "203.0.113.7", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1"),
        *("2001:db8::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0.0.0.0"),
        *("2002:7f00:1::", "2002:a00:1::1", "64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b:1::1", "::7f00:1", "fec0::1"),
        *("2001:0:a00:1::f5ff:fffe", "100::1", "junk", ""),
    ],
)
def test_addresses_refused(address: str) -> None:
    assert why_refused(address) != ""


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"]
)
def test_addresses_accepted(address: str) -> None:
    assert why_refused(address) == ""


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://Example.ORG", Url("http", "example.org", 80, "/")),
        ("https://example.org:8443/a/b?c=d#e", Url("https", "example.org", 8443, "/a/b?c=d")),
        ("https://bücher.example/ä?ö", Url("https", "xn--bcher-kva.example", 443, "/%C3%A4?%C3%B6")),
        ("http://[::1]:81/", Url("http", "::1", 81, "/")),
        ("http://example.org./", Url("http", "example.org", 80, "/")),
    ],
)
def test_urls(text: str, url: Url) -> None:
    assert client.read_url(text) == client.Place(text, url)


@pytest.mark.parametrize(
    "url",
    [
        *("", "x", "ftp://a/", "http://", "http:///a", "http://a:b/", "http://a@b/", "http://@b/", "javascript:1"),
        *("http://:80/", "http://a\\@b/", "http://a..b/"),
        *("http://a\r\nX: y/", f"http://a/{'x' * 2_000}", "http://[::1/", "http://" + "a" * 70 + ".b/"),
    ],
)
def test_urls_refused(url: str) -> None:
    with pytest.raises(ToolFailed):
        client.read_url(url)
