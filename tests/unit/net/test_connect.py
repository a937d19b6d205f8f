"""Addresses to sockets: the first that accepts wins."""

from __future__ import annotations

import _socket
import socket
import threading
import time
from contextlib import ExitStack, closing, suppress

import pytest

from tests.helpers.fakes import cancel
from tests.helpers.timing import PATIENCE, SOON
from yume_shim.net.connect import ATTEMPT_DELAY, _interleaved, _race, open_socket
from yume_shim.net.route import open_route
from yume_shim.net.url import parse_url
from yume_shim.types.errors import Cancelled

V4, V6 = socket.AF_INET, socket.AF_INET6


def test_families_alternate() -> None:
    assert _interleaved([(V6, 1), (V6, 2), (V6, 3), (V4, 4)]) == [(V6, 1), (V4, 4), (V6, 2), (V6, 3)]


def test_a_refusal_moves_on_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as live, socket.create_server(("127.0.0.1", 0)) as gone:
        dead = gone.getsockname()
        gone.close()
        with closing(_race([(V4, dead), (V4, live.getsockname())], time.monotonic() + PATIENCE, cancel())) as sock:
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
        sock = stack.enter_context(closing(_race(addresses, start + PATIENCE, cancel())))
        assert sock.getpeername() == live.getsockname()
        assert ATTEMPT_DELAY <= time.monotonic() - start < SOON


def test_the_last_error_is_raised() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        dead = listener.getsockname()
    with pytest.raises(ConnectionRefusedError):
        _race([(V4, dead), (V4, dead)], time.monotonic() + PATIENCE, cancel())


@pytest.mark.parametrize("name", ["a..b", "x" * 70 + ".invalid"])
def test_invalid_host_names(name: str) -> None:
    with pytest.raises(socket.gaierror):
        open_socket(name, 80, 5.0, cancel())


def test_all_addresses_are_checked_before_the_first_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as live:
        port = live.getsockname()[1]
        found = [(V4, socket.SOCK_STREAM, 6, "", (address, port)) for address in ("127.0.0.1", "127.0.0.9")]
        monkeypatch.setattr(_socket, "getaddrinfo", lambda *_, **__: found)
        checked: list[str] = []

        def refuse_the_second(address: str) -> None:
            checked.append(address)
            if address == "127.0.0.9":
                raise PermissionError(address)

        with pytest.raises(PermissionError):
            open_socket("name.example", port, 5.0, cancel(), refuse_the_second)
        live.settimeout(0.05)
        with pytest.raises(TimeoutError):
            live.accept()
    assert checked == ["127.0.0.1", "127.0.0.9"]


def test_an_address_in_place_of_a_name_is_checked() -> None:
    def refuse(address: str) -> None:
        raise PermissionError(address)

    with pytest.raises(PermissionError, match=r"^127\.0\.0\.1$"):
        open_socket("127.0.0.1", 1, 5.0, cancel(), refuse)


def test_a_cancel_ends_a_handshake_that_the_server_does_not_answer() -> None:
    signal = cancel()
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = parse_url(f"https://127.0.0.1:{server.getsockname()[1]}/")

        def stop() -> None:
            peer, _ = server.accept()
            with peer, suppress(OSError):
                assert peer.recv(1)  # the handshake has begun
                signal.set()
                while peer.recv(65536):  # says nothing until the client hangs up
                    pass

        threading.Thread(target=stop, daemon=True).start()
        begun = time.monotonic()
        with pytest.raises(Cancelled):
            open_route(url, {}, PATIENCE, signal)
    assert time.monotonic() - begun < SOON
