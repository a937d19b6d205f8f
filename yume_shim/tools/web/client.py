"""A small HTTP client for pages: one GET at a time, to public addresses, with limits of size, time and redirects.

Built on `net/`. Every IP address of a host is checked before `net` connects to one of those very addresses, so a name
that resolves differently a moment later (DNS rebinding) gains nothing. Each redirect is checked from the beginning.
Proxies are not used: with one, we could not know which address is reached.
"""

from __future__ import annotations

from yume_shim.net.errors import ConnectFailed, NetError, TimedOut, TooLarge
from yume_shim.net.message import Body, Deadline, read_final_head, request_head
from yume_shim.net.route import open_route
from yume_shim.net.url import parse_url
from yume_shim.text.web_host import host_of
from yume_shim.tools.web.addresses import why_refused
from yume_shim.types.errors import ToolFailed
from yume_shim.types.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.net.message import Head
    from yume_shim.net.route import Connection
    from yume_shim.net.url import Url
    from yume_shim.types.ports import Cancel

MAX_BODY = 10 << 20
"""Bytes of a page, also after decompression."""
MAX_URL = 2_000
MAX_REDIRECTS = 5
CONNECT_S = 10.0
TOTAL_S = 30.0
REDIRECTS = (301, 302, 303, 307, 308)
HEADERS = (
    ("User-Agent", "yume-shim (WebFetch)"),
    ("Accept", "text/html, text/markdown, text/plain, application/json, application/xhtml+xml;q=0.9, */*;q=0.1"),
    ("Accept-Encoding", "identity"),
    ("Connection", "close"),
)


class Place(Value):
    """A URL that may be fetched: as it was written, and parsed."""

    text: str
    url: Url


class Reply(Value):
    """The response. `moved_to` is set if the page is at another host, which the user has not allowed yet."""

    url: str
    status: int
    reason: str
    media_type: str
    charset: str
    body: bytes
    moved_to: str = ""


def fetch(
    url: str,
    private_allowed: frozenset[str],
    trusted: str,
    cancel: Cancel,
    verdict_on: Callable[[str], str] | None = None,
) -> Reply:
    """Get a page. Redirects are followed on the same host only, and only where they may be fetched. Raises ToolFailed
    or Cancelled.

    `private_allowed`: hosts whose private addresses may be fetched. `trusted`: a file of root certificates, or "".
    `verdict_on`: what the gate says about a request for another URL.
    """
    from urllib.parse import urljoin

    deadline = Deadline(TOTAL_S)
    place = read_url(url)
    for _ in range(MAX_REDIRECTS + 1):
        head, body = _get(place, private_allowed, trusted, deadline, cancel)
        location = head.headers.get("location", "") if head.status in REDIRECTS else ""
        if not location:
            return _reply(place, head, body)
        target = read_url(urljoin(place.text, location))
        if not _may_follow(place, target, verdict_on):
            return Reply(place.text, head.status, head.reason, "", "", b"", moved_to=target.text)
        place = target
    raise ToolFailed(f"More than {MAX_REDIRECTS} redirects from {url}")


def _may_follow(place: Place, target: Place, verdict_on: Callable[[str], str] | None) -> bool:
    """A redirect is a new request. On the same host it needs no new permission, but no rule may deny it. A name that
    differs by `www.` is followed only if the gate allows it without a question; other hosts never are."""
    if not same_site(place.url.host, target.url.host):
        return False
    verdict = verdict_on(target.text) if verdict_on is not None else "allow"
    return verdict == "allow" or (verdict == "ask" and place.url.host == target.url.host)


# ---------------------------------------------------------------- URLs


def read_url(text: str) -> Place:
    """Raises ToolFailed for anything but a plain http or https URL."""
    if len(text) > MAX_URL:
        raise ToolFailed(f"The URL is longer than {MAX_URL} characters.")
    if any(char.isspace() or ord(char) < 0x20 or ord(char) == 0x7F for char in text):
        raise ToolFailed("The URL contains spaces or control characters.")
    scheme, _, rest = text.partition("://")
    if scheme.lower() not in ("http", "https"):
        raise ToolFailed("Only http and https URLs can be fetched; give the whole URL, such as https://example.org/.")
    authority = rest.replace("?", "/").replace("#", "/").partition("/")[0]
    if "@" in authority:
        raise ToolFailed("URLs with a user name or a password are not fetched.")
    if not authority.partition(":")[0]:
        raise ToolFailed(f"The URL names no host: {text}")
    try:
        return Place(text, replace(parse_url(text), host=host_of(text)))  # the host that permission rules saw
    except ValueError:
        raise ToolFailed(f"Not a valid URL: {text}") from None


def same_site(one: str, other: str) -> bool:
    """Is this the host that was allowed? `www.` makes no difference."""
    return one.removeprefix("www.") == other.removeprefix("www.")


# ---------------------------------------------------------------- one request


def _get(
    place: Place, private_allowed: frozenset[str], trusted: str, deadline: Deadline, cancel: Cancel
) -> tuple[Head, bytes]:
    """One request. The errors of `net` become sentences for the model here."""
    host = place.url.host
    check = None if host in private_allowed else _public_only(host)
    env = {"SSL_CERT_FILE": trusted}  # and no proxies
    try:
        connection = _connect(place, env, deadline, cancel, check)
        try:
            with cancel.guard(connection.abort):
                return _exchange(place, connection, deadline)
        finally:
            connection.close()
            cancel.check()
    except TooLarge:
        raise _too_large(place) from None
    except (TimedOut, TimeoutError):
        raise ToolFailed(f"{host} did not answer within {TOTAL_S:g}s.") from None
    except (NetError, OSError) as error:
        raise ToolFailed(f"Fetching {place.text} failed ({_reason(error)}).") from None


def _public_only(host: str) -> Callable[[str], None]:
    """A check for every address of the host: one forbidden address refuses them all."""

    def check(address: str) -> None:
        reason = why_refused(address)
        if reason:
            raise ToolFailed(f"Refused: {host} is {reason} ({address}). Only public addresses are fetched.")

    return check


def _connect(
    place: Place, env: dict[str, str], deadline: Deadline, cancel: Cancel, check: Callable[[str], None] | None
) -> Connection:
    import socket

    host = place.url.host
    try:
        return open_route(place.url, env, deadline.seconds(CONNECT_S), cancel, check)
    except TimedOut:
        deadline.seconds(CONNECT_S)  # raises if the whole time is up
        raise ToolFailed(f"{host} cannot be reached (timed out).") from None
    except ConnectFailed as error:
        cause = error.cause
        if isinstance(cause, socket.gaierror) and not error.is_proxy:
            raise ToolFailed(f"The host {host} was not found ({_reason(cause)}).") from None
        if type(cause).__name__.startswith("SSL"):
            raise cause from None
        what = f"The proxy {error.place}" if error.is_proxy else host
        raise ToolFailed(f"{what} cannot be reached ({_reason(cause)}).") from None


def _exchange(place: Place, connection: Connection, deadline: Deadline) -> tuple[Head, bytes]:
    """Send the request, read the whole response. A redirect's body is not read."""

    def read() -> bytes:
        try:
            return connection.read(deadline.seconds(TOTAL_S))
        except TimeoutError:
            raise deadline.error("answer", TOTAL_S) from None

    connection.sock.settimeout(deadline.seconds(TOTAL_S))
    connection.sock.sendall(request_head(place.url, HEADERS))
    head = read_final_head(connection, read)
    if head.status in REDIRECTS:
        return head, b""
    content = Body(head, read, MAX_BODY)
    body = bytearray()
    while (piece := content.next()) is not None:
        body += piece
        if len(body) > MAX_BODY:
            raise _too_large(place)
    return head, bytes(body)


def _too_large(place: Place) -> ToolFailed:
    return ToolFailed(f"The page is larger than {MAX_BODY >> 20}MB: {place.text}")


def _reason(error: NetError | OSError) -> str:
    if isinstance(error, NetError):
        return str(error)
    return (error.strerror or str(error) or type(error).__name__).lower()


def _reply(place: Place, head: Head, body: bytes) -> Reply:
    content = head.headers.get("content-type", "").lower()
    media_type, _, rest = content.partition(";")
    charset = rest.partition("charset=")[2].partition(";")[0].strip(" \"'")
    return Reply(place.text, head.status, head.reason, media_type.strip(), charset, body)
