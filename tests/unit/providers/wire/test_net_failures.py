"""The failures that errors of `net` become."""

from __future__ import annotations

import errno
import socket
import ssl

import pytest

from yume_shim.net.errors import (
    ConnectFailed,
    ConnectionCut,
    NetError,
    ProtocolError,
    ProxyRefused,
    ProxyUnusable,
    TimedOut,
    TooLarge,
)
from yume_shim.providers.wire.failures import failure_from_net
from yume_shim.types.errors import Failure

PLACE = "h:443"


def tls_error(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, "handshake failed")
    error.reason = reason
    return error


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (ProtocolError("chunks"), Failure("protocol", "chunks", retryable=True, provider="p")),
        (ProtocolError("no HTTP", retryable=False), Failure("protocol", "no HTTP", provider="p")),
        (TooLarge("too much"), Failure("protocol", "too much", retryable=True, provider="p")),
        (
            TimedOut(f"connection to {PLACE}", 2.5),
            Failure("timeout", "no connection to h:443 within 2.5 seconds", None, True, None, "p", "", "ETIMEDOUT"),
        ),
        (
            ConnectionCut(started=False),
            Failure(
                "network",
                "the connection was lost before the answer began",
                retryable=True,
                provider="p",
                case="closed",
            ),
        ),
        (
            ConnectionCut(started=True, cause=ConnectionResetError(errno.ECONNRESET, "reset")),
            Failure(
                "stream_interrupted",
                "the connection was lost in the middle of the answer",
                retryable=True,
                provider="p",
                detail="ECONNRESET",
            ),
        ),
        (
            ConnectFailed(PLACE, ConnectionRefusedError(errno.ECONNREFUSED, "refused")),
            Failure(
                "network",
                "h:443 refused the connection",
                retryable=True,
                provider="p",
                detail="ECONNREFUSED",
                case="refused",
            ),
        ),
        (
            ConnectFailed(PLACE, socket.gaierror(socket.EAI_NONAME, "unknown")),
            Failure("dns", "the name of h:443 could not be resolved", retryable=True, provider="p", detail="ENOTFOUND"),
        ),
        (
            ConnectFailed(PLACE, tls_error("WRONG_VERSION_NUMBER")),
            Failure("tls", "no secure connection to h:443 could be made", provider="p", detail="WRONG_VERSION_NUMBER"),
        ),
        (ProxyRefused("no", retryable=True), Failure("network", "no", retryable=True, provider="p", case="proxy")),
        (
            ProxyUnusable("ALL_PROXY names a socks5 proxy"),
            Failure("config", "ALL_PROXY names a socks5 proxy", provider="p"),
        ),
    ],
    ids=lambda item: type(item).__name__,
)
def test_failures(error: NetError, failure: Failure) -> None:
    assert failure_from_net(error, "p") == failure
