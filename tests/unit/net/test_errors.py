"""The sentences of network errors."""

from __future__ import annotations

import pytest

from yume_shim.net.errors import ConnectFailed, ConnectionCut, NetError, TimedOut


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (TimedOut("answer", 30.0), "no answer within 30 seconds"),
        (
            ConnectFailed("h:443", OSError(113, "No route to host")),
            "no connection to h:443: [Errno 113] No route to host",
        ),
        (ConnectionCut(started=True), "the connection was lost in the middle of the answer"),
    ],
)
def test_sentences(error: NetError, text: str) -> None:
    assert str(error) == text
