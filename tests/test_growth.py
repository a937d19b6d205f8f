"""Nothing grows with the square of its input: twice the pieces cost twice the processor time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from bench_parts import programs
from bench_parts.runs import one_run, prompt, upstream

if TYPE_CHECKING:
    from collections.abc import Iterator

PIECES = {"burst": 20_000, "thinking": 20_000, "arguments": 7_500}
"""Of arguments fewer: a call of more than half a megabyte makes the program summarise the conversation."""
TRIES = 8
MOST = 3.0
"""Each doubling costs twice what the doubling before it cost; four times if the cost grew with the square."""
CASES = [
    ("anthropic", "stream-json", "burst"),
    ("anthropic", "flat", "arguments"),
    ("openai", "flat", "thinking"),
    ("google", "stream-json", "burst"),
    ("chat", "stream-json", "thinking"),
    ("ollama", "flat", "burst"),
]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="processor time of a child needs wait4()")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with upstream() as url:
        yield url


@pytest.mark.slow
@pytest.mark.parametrize(("api", "form", "how"), CASES)
def test_twice_the_pieces_cost_twice_the_time(api: str, form: str, how: str, server: str) -> None:
    program = programs.ours(api, form)
    least = [float("inf")] * 3
    first = second = 0.0
    for _ in range(TRIES):  # other work on the machine only adds time: the smallest is the nearest
        for place in range(3):
            run = one_run(program, server, prompt(PIECES[how] << place, how))
            least[place] = min(least[place], run.cpu)
        first, second = least[1] - least[0], least[2] - least[1]
        if 0 < second < MOST * first:
            return
    pytest.fail(f"{first * 1e3:.0f} ms for {PIECES[how]} more pieces, then {second * 1e3:.0f} ms for twice as many")
