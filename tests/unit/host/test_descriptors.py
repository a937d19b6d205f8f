"""A stream is used only if its number is open at the start."""

from __future__ import annotations

import os

from yume_shim.host.descriptors import CLOSED, claim


def test_claim() -> None:
    incoming, outgoing = os.pipe()
    assert claim(incoming) == incoming
    os.close(incoming)
    assert claim(incoming) == CLOSED
    os.close(outgoing)
    assert claim(CLOSED) == CLOSED
