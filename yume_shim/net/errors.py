"""What can go wrong between us and a peer. Protocol errors are separate from I/O errors, as in h11.

    NetError
    ├── ProtocolError    the peer sent what HTTP/1.1 does not allow, or more than we accept
    │   └── TooLarge     … a body that exceeds its limit when it is inflated
    ├── TimedOut         one of our own time limits ran out
    ├── ConnectFailed    no connection: the operating system's or the TLS library's error is in `cause`
    ├── ConnectionCut    the connection ended before the response did
    ├── RootsUnusable    the environment names certificates that cannot be read
    ├── ProxyRefused     a proxy answered CONNECT with an error
    └── ProxyUnusable    the environment names a proxy that we cannot use

The classes carry facts; each user of `net` writes its own message (`providers/wire/failures.py` for people,
`tools/web/client.py` for the model). `str(error)` is a sentence for logs.
"""

from __future__ import annotations


class NetError(Exception):
    """Base of everything that `net` raises, besides `Cancelled`."""


class ProtocolError(NetError):
    """The peer broke the protocol. `retryable`: the same request may succeed later."""

    def __init__(self, message: str, *, retryable: bool = True) -> None:
        super().__init__(message)
        self.message = message
        self.retryable = retryable


class TooLarge(ProtocolError):
    """A compressed body inflates to more than the limit."""


class TimedOut(NetError):
    """We waited `seconds` for `waiting_for` ("answer", "connection to host:443")."""

    def __init__(self, waiting_for: str, seconds: float) -> None:
        super().__init__(f"no {waiting_for} within {seconds:g} seconds")
        self.waiting_for = waiting_for
        self.seconds = seconds


class ConnectFailed(NetError):
    """No connection to `place` (host:port, perhaps a proxy's): name lookup, TCP or TLS failed with `cause`. `note`:
    what in the environment may be the reason."""

    def __init__(self, place: str, cause: OSError, *, is_proxy: bool = False, note: str = "") -> None:
        super().__init__(f"no connection to {'the proxy ' if is_proxy else ''}{place}: {cause}")
        self.place = place
        self.cause = cause
        self.is_proxy = is_proxy
        self.note = note


class ConnectionCut(NetError):
    """The connection ended early. `started`: a byte of the body had arrived. `cause`: the socket's error, if any."""

    def __init__(self, *, started: bool, cause: OSError | None = None) -> None:
        when = "in the middle of the answer" if started else "before the answer began"
        super().__init__(f"the connection was lost {when}")
        self.started = started
        self.cause = cause


class RootsUnusable(NetError):
    """A file of root certificates that the environment names cannot be used."""


class ProxyRefused(NetError):
    """A proxy refused the tunnel. `retryable`: its status was 5xx."""

    def __init__(self, message: str, *, retryable: bool) -> None:
        super().__init__(message)
        self.message = message
        self.retryable = retryable


class ProxyUnusable(NetError):
    """A proxy setting that we cannot use; the message names the variable, not its value."""
