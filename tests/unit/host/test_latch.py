"""A latch passes the first value on exactly once, whichever side comes first."""

from __future__ import annotations

import threading

from yume_shim.host.latch import Latch


def test_the_reaction_comes_first() -> None:
    latch, seen = Latch(), list[str]()
    latch.then(seen.append)
    assert (latch.value, seen) == ("", [])
    latch.set("a")
    latch.set("b")
    assert (latch.value, seen) == ("a", ["a"])


def test_the_value_comes_first() -> None:
    latch, seen = Latch(), list[str]()
    latch.set("a")
    assert latch.value == "a"
    latch.then(seen.append)
    latch.set("b")
    assert seen == ["a"]


def test_both_at_the_same_time() -> None:
    for _ in range(200):
        latch, seen, together = Latch(), list[str](), threading.Barrier(2)

        def happen(latch: Latch = latch, together: threading.Barrier = together) -> None:
            together.wait(5)
            latch.set("a")

        thread = threading.Thread(target=happen)
        thread.start()
        together.wait(5)
        latch.then(seen.append)
        thread.join(5)
        assert seen == ["a"]


def test_a_reaction_may_look_at_the_latch() -> None:
    latch, seen = Latch(), list[str]()
    latch.then(lambda _: seen.append(latch.value))
    latch.set("a")
    assert seen == ["a"]
