"""Resolves host names, connects sockets, adds TLS. Every wait is sliced or guarded: a cancel takes effect at
once."""

from __future__ import annotations

import _socket  # `socket` is a layer of enums over it, for which every start would pay
import os
import time

from yume_shim.net.errors import RootsUnusable
from yume_shim.system import settled_sockets
from yume_shim.text.late_pattern import late_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from ssl import SSLContext, SSLSocket
    from typing import Any

    from yume_shim.types.ports import Cancel

ATTEMPT_DELAY = 0.25
"""Seconds after which the next address is tried in parallel (RFC 8305: "Connection Attempt Delay")."""
CANCEL_SLICE = 0.05
MAX_ADDRESSES = 8
_HASHED_NAME = late_pattern(r"[0-9a-f]{8}\.\d")

_contexts: dict[tuple[Any, ...], SSLContext] = {}


def open_socket(
    host: str, port: int, timeout: float, cancel: Cancel, check: Callable[[str], None] | None = None
) -> _socket.socket:
    """A connected TCP socket: addresses in turn, overlapping when one is slow. Raises OSError or Cancelled.

    The name is resolved once. `check` gets every address that was found, before the first connect, and may raise
    anything; the connection goes to one of the addresses that passed. So a name that resolves differently a moment
    later (DNS rebinding) cannot lead to an unchecked address.
    """
    deadline = time.monotonic() + timeout
    found = _resolve(host, port, deadline, cancel)
    if check is not None:
        for _, place in found:
            check(place[0])
    sock = _race(_interleaved(found), deadline, cancel)
    sock.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
    sock.setsockopt(_socket.SOL_SOCKET, _socket.SO_KEEPALIVE, 1)
    return sock


def _resolve(host: str, port: int, deadline: float, cancel: Cancel) -> list[Any]:
    """(family, socket address) of a host. getaddrinfo cannot be interrupted: its thread is abandoned on cancel."""
    import threading

    for family in (_socket.AF_INET, _socket.AF_INET6):
        try:
            _socket.inet_pton(family, host)
        except OSError:
            continue
        return [(family, (host, port))]
    found: list[Any] = []
    done = threading.Event()

    def look_up() -> None:
        try:
            for family, _, _, _, address in _socket.getaddrinfo(host, port, type=_socket.SOCK_STREAM):
                found.append((family, address))
        except OSError as exc:
            found.append(exc)
        except UnicodeError:  # an empty label, or one that is too long
            found.append(_socket.gaierror(_socket.EAI_NONAME, "not a host name"))
        finally:
            done.set()

    threading.Thread(target=look_up, name="resolve", daemon=True).start()
    while not done.wait(CANCEL_SLICE):
        cancel.check()
        if time.monotonic() > deadline:
            raise TimeoutError("the name was not resolved in time")
    for item in found:
        if isinstance(item, OSError):
            raise item
    return found


def _interleaved(addresses: list[Any]) -> list[Any]:
    """Families alternate, the system's first choice first: a dead IPv6 route costs one delay, not one per address."""
    first = [item for item in addresses if item[0] == addresses[0][0]]
    other = [item for item in addresses if item[0] != addresses[0][0]]
    mixed: list[Any] = []
    while first or other:
        mixed += first[:1] + other[:1]
        first, other = first[1:], other[1:]
    return mixed[:MAX_ADDRESSES]


def _race(addresses: list[Any], deadline: float, cancel: Cancel) -> _socket.socket:
    """A socket to the first of these addresses that accepts."""
    trying: list[_socket.socket] = []
    error: OSError = TimeoutError("no connection in time")
    waiting, next_start = list(addresses), 0.0
    won: _socket.socket | None = None
    try:
        while won is None:
            now = time.monotonic()
            if waiting and (now >= next_start or not trying):
                next_start = now + ATTEMPT_DELAY
                failed = _begin(waiting.pop(0), trying)
                error = failed or error
            if not trying:
                if waiting:
                    continue
                raise error
            if now > deadline:
                raise TimeoutError("no connection in time")
            cancel.check()
            for sock in settled_sockets(trying, CANCEL_SLICE):
                trying.remove(sock)
                code = sock.getsockopt(_socket.SOL_SOCKET, _socket.SO_ERROR)
                if code == 0 and won is None:
                    won = sock
                    continue
                sock.close()
                if code:
                    error = _failure(code)
    finally:
        for leftover in trying:
            leftover.close()
    return won


def _begin(address: Any, trying: list[_socket.socket]) -> OSError | None:
    """Start one connect; returns the error if it cannot start."""
    import errno

    family, place = address
    try:
        sock = _socket.socket(family, _socket.SOCK_STREAM)
    except OSError as exc:
        return exc
    try:
        sock.setblocking(False)
        code = sock.connect_ex(place)
        if code not in (0, errno.EINPROGRESS, errno.EWOULDBLOCK, getattr(errno, "WSAEWOULDBLOCK", 0)):
            sock.close()
            return _failure(code)
        trying.append(sock)
    except OSError as exc:
        sock.close()
        return exc
    return None


def secured(sock: _socket.socket, host: str, env: Mapping[str, str], *, full: bool = False) -> SSLSocket:
    """The socket for TLS, host name and certificate verified; the given one is void. The caller does the handshake:
    what aborts it must know this socket first. The socket's timeout bounds it."""
    plain: Any = sock  # `ssl` makes a new socket of its descriptor
    return _context(env, full=full).wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)


def trusting(env: Mapping[str, str]) -> SSLContext:
    """The context for others who open connections, with all roots. Raises RootsUnusable."""
    return _context(env, full=True)


def has_lazy_roots(env: Mapping[str, str]) -> bool:
    """True when roots come from a hashed folder, which may lack some that the bundle has: then `full` may help."""
    return not _named_roots(env) and bool(_hashed_folder())


def missing_roots(env: Mapping[str, str]) -> str:
    """Which variables name certificates that do not exist. They are ignored, because most connections need none of
    them; when a certificate is refused, that may be the reason."""
    named = [(name, env.get(name, "")) for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")]
    named += [("SSL_CERT_DIR", path) for path in env.get("SSL_CERT_DIR", "").split(os.pathsep)]
    absent = [f"{name} names {path}" for name, path in named if path and not os.path.exists(path)]
    return f"{' and '.join(absent)}, which does not exist" if absent else ""


def _context(env: Mapping[str, str], *, full: bool) -> SSLContext:
    named = _named_roots(env)
    extra = env.get("NODE_EXTRA_CA_CERTS", "")
    key = (named, extra, full)
    if key not in _contexts:
        _contexts[key] = _build_context(named, extra, full=full)
    return _contexts[key]


def _named_roots(env: Mapping[str, str]) -> tuple[str, ...]:
    """Files and folders of root certificates that the environment names; they replace the system's."""
    named = [env.get(name, "") for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")]
    named += env.get("SSL_CERT_DIR", "").split(os.pathsep)
    return tuple(path for path in named if path and os.path.exists(path))


def _build_context(named: tuple[str, ...], extra: str, *, full: bool) -> SSLContext:
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    folder = _hashed_folder()
    if named:
        for path in named:
            _trust(context, path)
    elif folder and not full:
        # Measured: a hashed folder is read lazily, 25 times cheaper than parsing the whole bundle.
        context.load_verify_locations(capath=folder)
    else:
        context.load_default_certs()
        if not context.cert_store_stats()["x509_ca"]:
            _trust_certifi(context)
    if extra and os.path.exists(extra):
        _trust(context, extra)
    return context


def _trust(context: SSLContext, path: str) -> None:
    try:
        if os.path.isdir(path):
            context.load_verify_locations(capath=path)
        else:
            context.load_verify_locations(cafile=path)
    except OSError as error:  # an SSLError is one
        reason = error.strerror if type(error).__name__ != "SSLError" else "it holds no certificate in PEM form"
        raise RootsUnusable(f"the root certificates of {path} cannot be used ({reason})") from None


def _trust_certifi(context: SSLContext) -> None:
    """For Pythons without system roots (python.org's on macOS): the bundle that comes with the SDKs."""
    try:
        from certifi import where
    except ImportError:
        return
    context.load_verify_locations(cafile=where())


def _hashed_folder() -> str:
    """OpenSSL's certificate folder, if its files are named by hash, as OpenSSL looks them up; else ""."""
    import ssl

    folder = ssl.get_default_verify_paths().capath
    if not folder:
        return ""
    try:
        with os.scandir(folder) as entries:
            return folder if any(_HASHED_NAME.fullmatch(entry.name) for entry in entries) else ""
    except OSError:
        return ""


def _failure(code: int) -> OSError:
    """The error with this number. `strerror` has no texts for the errors of sockets on Windows."""
    text = ""
    if os.name == "nt":
        import socket

        text = getattr(socket, "errorTab", {}).get(code, "").rstrip(".")
    return OSError(code, text or os.strerror(code))
