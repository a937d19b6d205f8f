"""A small HTTP client for pages: one GET at a time, to public addresses, within limits of size, time and redirects.

The host's name is resolved once, every address it has is judged, and the connection goes to an address that was judged:
a name that points elsewhere a moment later (DNS rebinding) gains nothing. Each redirect starts from the beginning.
Proxies are not used: behind one, nobody here would know which address is reached.
"""

from __future__ import annotations

import threading
import time

from yume_shim.tools.web.addresses import why_refused
from yume_shim.types.errors import ToolFailed
from yume_shim.types.value import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from http.client import HTTPResponse
    from socket import socket

    from yume_shim.types.ports import Cancel

MAX_BODY = 10 << 20
"""Bytes of a page, also after it was unpacked."""
MAX_URL = 2_000
MAX_REDIRECTS = 5
MAX_ADDRESSES = 4
"""Addresses of a host that are tried one after the other."""
CONNECT_S = 10.0
TOTAL_S = 30.0
POLL_S = 0.05
READ = 64 * 1024
CACHE_S = 900.0
CACHE_PAGES = 32
CACHE_CHARACTERS = 8 << 20
REDIRECTS = (301, 302, 303, 307, 308)
AGENT = "yume-shim (WebFetch)"
ACCEPT = "text/html, text/markdown, text/plain, application/json, application/xhtml+xml;q=0.9, */*;q=0.1"


@value
class Place:
    """A URL that may be fetched."""

    scheme: str
    host: str
    port: int
    target: str
    url: str


@value
class Reply:
    """What came back. `moved_to` is set if the page is at another host, which nobody has allowed yet."""

    url: str
    status: int
    reason: str
    media_type: str
    charset: str
    body: bytes
    moved_to: str = ""


# ---------------------------------------------------------------- addresses


def parse_url(url: str) -> Place:
    """Raises ToolFailed for what is not a plain http or https URL."""
    from urllib.parse import quote, urlsplit

    if len(url) > MAX_URL:
        raise ToolFailed(f"The URL is longer than {MAX_URL} characters.")
    if any(char.isspace() or ord(char) < 0x20 or ord(char) == 0x7F for char in url):
        raise ToolFailed("The URL contains spaces or control characters.")
    try:
        parts = urlsplit(url)
        port = parts.port
        host = (parts.hostname or "").encode("idna").decode("ascii") if parts.hostname else ""
    except (ValueError, UnicodeError):
        raise ToolFailed(f"Not a valid URL: {url}") from None
    if parts.scheme not in ("http", "https"):
        raise ToolFailed("Only http and https URLs can be fetched; give the whole URL, such as https://example.org/.")
    if not host:
        raise ToolFailed(f"The URL names no host: {url}")
    if "@" in parts.netloc:
        raise ToolFailed("URLs with a user name or a password are not fetched.")
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    query = "?" + quote(parts.query, safe="/%:@!$&'()*+,;=~-._?[]|") if parts.query else ""
    port = port or (443 if parts.scheme == "https" else 80)
    return Place(parts.scheme, host.lower().rstrip("."), port, path + query, url)


def same_site(one: str, other: str) -> bool:
    """Is this the host that was allowed? `www.` makes no difference."""
    return one.removeprefix("www.") == other.removeprefix("www.")


def _addresses(place: Place, private_allowed: frozenset[str], cancel: Cancel) -> list[tuple[int, str]]:
    """(family, address) of the host. One forbidden address among them is enough to refuse all."""
    found = _resolve(place, cancel)
    if place.host not in private_allowed:
        for _, address in found:
            reason = why_refused(address)
            if reason:
                raise ToolFailed(f"Refused: {place.host} is {reason} ({address}). Only public addresses are fetched.")
    return found[:MAX_ADDRESSES]


def _resolve(place: Place, cancel: Cancel) -> list[tuple[int, str]]:
    """Ask the system, in a thread of its own: nothing can interrupt a name server that does not answer."""
    import socket

    answer: list[list[tuple[int, str]] | OSError] = []
    done = threading.Event()

    def ask() -> None:
        try:
            rows = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
            answer.append(list(dict.fromkeys((int(row[0]), str(row[4][0])) for row in rows)))
        except OSError as error:
            answer.append(error)
        except UnicodeError:
            answer.append(OSError(0, "not a host name"))
        done.set()

    threading.Thread(target=ask, daemon=True, name="resolve").start()
    with cancel.guard(done.set):
        done.wait(CONNECT_S)
    cancel.check()
    outcome = answer[0] if answer else OSError(0, "the name server does not answer")
    if isinstance(outcome, OSError) or not outcome:
        raise ToolFailed(f"The host {place.host} was not found ({_reason(outcome)}).")
    return outcome


def _reason(error: object) -> str:
    return str(getattr(error, "strerror", "") or error or "no address").lower()


# ---------------------------------------------------------------- one connection


def _connect(family: int, address: str, port: int, deadline: float, cancel: Cancel) -> socket:
    import errno
    import select
    import socket

    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setblocking(False)
        error = made.connect_ex((address, port))
        until = min(deadline, time.monotonic() + CONNECT_S)
        while error in (errno.EINPROGRESS, errno.EWOULDBLOCK, getattr(errno, "WSAEWOULDBLOCK", errno.EINPROGRESS)):
            cancel.check()
            if time.monotonic() > until:
                raise TimeoutError(errno.ETIMEDOUT, "timed out")
            _, writable, failed = select.select((), (made,), (made,), POLL_S)
            if writable or failed:
                error = made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                break
        if error:
            import os

            raise OSError(error, os.strerror(error))
    except BaseException:
        made.close()
        raise
    return made


def _open(place: Place, addresses: list[tuple[int, str]], deadline: float, cancel: Cancel) -> socket:
    last: OSError = OSError(0, "no address")
    for family, address in addresses:
        try:
            return _connect(family, address, place.port, deadline, cancel)
        except OSError as error:
            last = error
    raise ToolFailed(f"{place.host} cannot be reached ({_reason(last)}).")


class _Line:
    """A connection that the cancel, or the time limit, cuts from outside."""

    def __init__(self, made: socket, deadline: float) -> None:
        self.socket = made
        self.late = False
        self._timer = threading.Timer(max(0.0, deadline - time.monotonic()), self._time_is_up)
        self._timer.daemon = True
        self._timer.start()

    def _time_is_up(self) -> None:
        self.late = True
        self.cut()

    def cut(self) -> None:
        import socket

        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def close(self) -> None:
        self._timer.cancel()
        self.socket.close()


def _exchange(place: Place, line: _Line, trusted: str) -> tuple[HTTPResponse, bytes]:
    """Send the request, take the whole answer."""
    from http.client import HTTPConnection

    line.socket.settimeout(TOTAL_S)
    if place.scheme == "https":
        import ssl

        context = ssl.create_default_context(cafile=trusted or None)
        line.socket = context.wrap_socket(line.socket, server_hostname=place.host)
    connection = HTTPConnection(place.host, place.port)
    connection.sock = line.socket
    connection.putrequest("GET", place.target, skip_host=True, skip_accept_encoding=True)
    usual = place.port == (443 if place.scheme == "https" else 80)
    name = f"[{place.host}]" if ":" in place.host else place.host
    headers = {"Host": name if usual else f"{name}:{place.port}", "User-Agent": AGENT, "Accept": ACCEPT}
    for header, text in {**headers, "Accept-Encoding": "identity", "Connection": "close"}.items():
        connection.putheader(header, text)
    connection.endheaders()
    response = connection.getresponse()
    if response.status in REDIRECTS:
        return response, b""
    body = bytearray()
    while part := response.read(READ):
        body += part
        if len(body) > MAX_BODY:
            raise ToolFailed(f"The page is larger than {MAX_BODY >> 20}MB: {place.url}")
    return response, _unpacked(bytes(body), response.getheader("Content-Encoding", ""), place.url)


def _unpacked(body: bytes, encoding: str, url: str) -> bytes:
    """Some servers pack although they were asked not to. A small packet may unpack to gigabytes: it is cut off."""
    if encoding.lower() in ("", "identity"):
        return body
    if encoding.lower() not in ("gzip", "x-gzip", "deflate"):
        raise ToolFailed(f"The page is packed in a way that is not understood ({encoding}): {url}")
    import zlib

    try:
        clear = zlib.decompressobj(47).decompress(body, MAX_BODY + 1)
    except zlib.error:
        raise ToolFailed(f"The page is packed and cannot be unpacked: {url}") from None
    if len(clear) > MAX_BODY:
        raise ToolFailed(f"The page is larger than {MAX_BODY >> 20}MB: {url}")
    return clear


# ---------------------------------------------------------------- a page


def fetch(url: str, private_allowed: frozenset[str], trusted: str, cancel: Cancel) -> Reply:
    """Get a page. Redirects are followed on the same host only. Raises ToolFailed or Cancelled."""
    from urllib.parse import urljoin

    deadline = time.monotonic() + TOTAL_S
    place = parse_url(url)
    for _ in range(MAX_REDIRECTS + 1):
        response, body = _get(place, private_allowed, trusted, deadline, cancel)
        where = response.getheader("Location") if response.status in REDIRECTS else None
        if where is None:
            return _reply(place, response, body)
        target = parse_url(urljoin(place.url, where))
        if not same_site(place.host, target.host):
            return Reply(place.url, response.status, response.reason, "", "", b"", moved_to=target.url)
        place = target
    raise ToolFailed(f"More than {MAX_REDIRECTS} redirects from {url}")


def _get(
    place: Place, private_allowed: frozenset[str], trusted: str, deadline: float, cancel: Cancel
) -> tuple[HTTPResponse, bytes]:
    from http.client import HTTPException

    line = _Line(_open(place, _addresses(place, private_allowed, cancel), deadline, cancel), deadline)
    try:
        with cancel.guard(line.cut):
            answer = _exchange(place, line, trusted)
        cancel.check()
        if line.late:
            raise TimeoutError
        return answer
    except (OSError, HTTPException, ValueError) as error:
        cancel.check()
        if line.late or isinstance(error, TimeoutError):
            raise ToolFailed(f"{place.host} did not answer within {TOTAL_S:g}s.") from None
        reason = _reason(error) if isinstance(error, OSError) else type(error).__name__
        raise ToolFailed(f"Fetching {place.url} failed ({reason}).") from None
    finally:
        line.close()


def _reply(place: Place, response: HTTPResponse, body: bytes) -> Reply:
    content = response.getheader("Content-Type", "").lower()
    media_type, _, rest = content.partition(";")
    charset = rest.partition("charset=")[2].partition(";")[0].strip(" \"'")
    return Reply(place.url, response.status, response.reason, media_type.strip(), charset, body)


# ---------------------------------------------------------------- what was fetched lately


@value
class Page:
    """A page as text."""

    url: str
    status: int
    reason: str
    title: str
    text: str
    size: int


class PageCache:
    """Pages of the last quarter of an hour, bounded in number and size; the oldest goes first."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._pages: dict[str, tuple[float, Page]] = {}

    def get(self, url: str) -> Page | None:
        """The page, if it is fresh."""
        with self._lock:
            kept = self._pages.get(url)
            return kept[1] if kept is not None and self._clock() - kept[0] < CACHE_S else None

    def put(self, url: str, page: Page) -> None:
        """Keep it, if it is not too big on its own."""
        with self._lock:
            self._pages.pop(url, None)
            self._pages[url] = (self._clock(), page)
            while self._pages and (
                len(self._pages) > CACHE_PAGES
                or sum(len(kept.text) for _, kept in self._pages.values()) > CACHE_CHARACTERS
            ):
                del self._pages[next(iter(self._pages))]
