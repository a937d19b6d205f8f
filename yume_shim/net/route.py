"""The way to an address: straight, or through a proxy; then TLS. Gives a Connection ready for a request."""

from __future__ import annotations

from yume_shim.net.message import Connection, read_head
from yume_shim.providers.wire.failures import failure_config, failure_from_exception, failure_proxy, failure_timeout
from yume_shim.types.errors import ProviderFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from yume_shim.net.url import Url
    from yume_shim.types.ports import Cancel

_PROXY_VARIABLES = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")


def open_route(url: Url, env: Mapping[str, str], seconds: float, cancel: Cancel, provider: str) -> Connection:
    """Connect. Raises ProviderFailed that names what could not be reached, or Cancelled."""
    proxy = _proxy_for(url, env, provider)
    place = (proxy or url).place
    try:
        return _open(url, proxy, env, seconds, cancel, provider, full_roots=False)
    except TimeoutError:
        cancel.check()
        raise ProviderFailed(failure_timeout(provider, f"connection to {place}", seconds)) from None
    except OSError as exc:
        cancel.check()
        if _lacks_root(exc, env):
            return _with_full_roots(url, proxy, env, seconds, cancel, provider)
        raise ProviderFailed(failure_from_exception(exc, provider, place)) from None


def _with_full_roots(
    url: Url, proxy: Url | None, env: Mapping[str, str], seconds: float, cancel: Cancel, provider: str
) -> Connection:
    """Once more with the system's whole bundle: a hashed folder can be a part of it."""
    try:
        return _open(url, proxy, env, seconds, cancel, provider, full_roots=True)
    except OSError as exc:
        cancel.check()
        raise ProviderFailed(failure_from_exception(exc, provider, url.place)) from None


def _open(
    url: Url,
    proxy: Url | None,
    env: Mapping[str, str],
    seconds: float,
    cancel: Cancel,
    provider: str,
    *,
    full_roots: bool,
) -> Connection:
    from yume_shim.net.connect import open_socket, secure

    first = proxy or url
    sock = open_socket(first.host, first.port, seconds, cancel)
    sock.settimeout(seconds)
    connection = Connection(sock, url.origin)
    try:
        with cancel.guard(connection.abort):
            if url.scheme == "https":
                if proxy is not None:
                    _tunnel(connection, url, proxy, seconds, provider)
                connection.sock = secure(sock, url.host, env, full=full_roots)
            elif proxy is not None:
                connection.via = proxy
    except BaseException:
        connection.close()
        raise
    return connection


def _proxy_for(url: Url, env: Mapping[str, str], provider: str) -> Url | None:
    if not any(env.get(name) for name in _PROXY_VARIABLES):
        return None
    from yume_shim.net.proxy import choose_proxy

    try:
        return choose_proxy(url, env)
    except ValueError as exc:
        raise ProviderFailed(failure_config(provider, str(exc))) from None


def _tunnel(connection: Connection, url: Url, proxy: Url, seconds: float, provider: str) -> None:
    from yume_shim.net.proxy import connect_request

    connection.sock.sendall(connect_request(url, proxy))
    head = read_head(connection, lambda: connection.read(seconds), provider)
    if head is None:
        raise ConnectionResetError("the proxy closed the connection")
    if not 200 <= head.status <= 299:
        message = f"the proxy {proxy.place} refused a connection to {url.place} (status {head.status})"
        raise ProviderFailed(failure_proxy(provider, message, retryable=head.status >= 500))


def _lacks_root(exc: OSError, env: Mapping[str, str]) -> bool:
    if type(exc).__name__ != "SSLCertVerificationError":
        return False
    from yume_shim.net.connect import has_lazy_roots

    return has_lazy_roots(env)
