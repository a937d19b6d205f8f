"""Addresses to sockets: the first that answers, whatever the others do."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack

import pytest

from tests.helpers.fakes import cancel
from tests.helpers.timing import PATIENCE, SOON
from yume_shim.net.connect import ATTEMPT_DELAY, _interleaved, _race, open_socket

V4, V6 = socket.AF_INET, socket.AF_INET6


def test_families_alternate() -> None:
    assert _interleaved([(V6, 1), (V6, 2), (V6, 3), (V4, 4)]) == [(V6, 1), (V4, 4), (V6, 2), (V6, 3)]


def test_a_refusal_moves_on_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as live, socket.create_server(("127.0.0.1", 0)) as gone:
        dead = gone.getsockname()
        gone.close()
        with _race([(V4, dead), (V4, live.getsockname())], time.monotonic() + PATIENCE, cancel()) as sock:
            assert sock.getpeername() == live.getsockname()


def test_a_silent_address_does_not_hold_up_the_next() -> None:
    """A listener whose queue is full leaves further connects unanswered."""
    with ExitStack() as stack:
        full = stack.enter_context(socket.socket())
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(8):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        live = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        start = time.monotonic()
        addresses = [(V4, full.getsockname()), (V4, live.getsockname())]
        sock = stack.enter_context(_race(addresses, start + PATIENCE, cancel()))
        assert sock.getpeername() == live.getsockname()
        assert ATTEMPT_DELAY <= time.monotonic() - start < SOON


def test_the_last_error_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        dead = listener.getsockname()
    with pytest.raises(ConnectionRefusedError):
        _race([(V4, dead), (V4, dead)], time.monotonic() + PATIENCE, cancel())


@pytest.mark.parametrize("name", ["a..b", "x" * 70 + ".invalid"])
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(socket.gaierror):
        open_socket(name, 80, 5.0, cancel())
