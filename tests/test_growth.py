"""Nothing grows with the square of its input: twice the pieces of an answer cost twice the instructions.

Instructions are counted by valgrind, so a busy machine changes nothing. One process answers several prompts; each opens
a connection, and valgrind writes what was counted since the last one (`--dump-before=connect`).
"""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from bench_parts import programs
from bench_parts.runs import prompt, upstream

from tests.helpers import child

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PIECES = 1_000
"""Less than what loads the faster JSON parser: it would be a part of the first count."""
MOST = 2.7
"""Each doubling costs twice what the doubling before it cost, more or less: a read brings what has arrived. If the cost
grew with the square, it would cost four times as much."""
CASES = [
    ("anthropic", "flat", "arguments"),
    ("openai", "flat", "thinking"),
    ("google", "stream-json", "burst"),
    ("chat", "stream-json", "thinking"),
]
FORMS = {
    "flat": ("--output-format", "flat", "--dangerously-skip-permissions"),
    "stream-json": ("-p", "--input-format", "stream-json", *programs.FORMS["stream-json"]),
}
SMALL_READS = """
import os
from yume_shim.providers.http.frames import FrameParser
for pieces in (20, 600, 1_200, 2_400):
    data = DATA
    os.getpriority(os.PRIO_PROCESS, 0)  # the mark
    parser = FrameParser("vendor")
    frames = [frame for place in range(0, len(data), 100) for frame in parser.feed(data[place : place + 100])]
    frames += parser.finish()
    assert frames == [{"text": "word "}] * pieces or frames == [{"text": "word " * pieces}]
os.getpriority(os.PRIO_PROCESS, 0)
"""
DATA = {
    "many events": """b'data: {"text":"word "}\\n\\n' * pieces""",
    "one long event": """b'data: {"text":"' + b"word " * pieces + b'"}\\n\\n'""",
}
TOTAL = re.compile(r"^totals: (\d+)", re.MULTILINE)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with upstream() as url:
        yield url


def counted(api: str, form: str, prompts: list[str], url: str, folder: Path) -> list[int]:
    """Instructions from each connection to the next."""
    place = programs.APIS[api]
    valgrind = ("valgrind", "--tool=callgrind", "--dump-before=connect", f"--callgrind-out-file={folder / 'counts'}")
    env = child.clean_environment(folder, IS_SANDBOX="1", PYTHONDONTWRITEBYTECODE="")
    env |= {place.address: url + place.path, place.key: "not-a-key"}
    argv = [*FORMS[form], "--model", place.model]
    program = child.start(argv, cwd=folder, env=env, program=(*valgrind, *child.PROGRAM))
    for text in prompts:
        said = {"type": "user", "content": text}
        program.send(said if form == "flat" else {"type": "user", "message": {"role": "user", "content": text}})
        program.wait_for("result")
    assert program.end().code == 0
    return dumped(folder)


def dumped(folder: Path) -> list[int]:
    """The counts that valgrind wrote, without the first: what came before the first mark."""
    dumps = sorted(folder.glob("counts.*"), key=lambda file: int(file.suffix[1:]))[1:]
    return [int(found[1]) for dump in dumps if (found := TOTAL.search(dump.read_text("utf-8")))]


@pytest.mark.slow
@pytest.mark.valgrind
@pytest.mark.parametrize(("api", "form", "how"), CASES)
def test_twice_the_pieces_cost_twice_the_work(api: str, form: str, how: str, server: str, tmp_path: Path) -> None:
    few = 50  # the first turn loads what is loaded late; the last one ends the count of the one before
    sizes = [few, PIECES // 2, PIECES, 2 * PIECES, few]
    found = counted(api, form, [prompt(size, how) for size in sizes], server, tmp_path)
    if how == "arguments":  # two requests per turn: the call, and its result
        found = [sum(found[place : place + 2]) for place in range(0, len(found) - 1, 2)]
    assert len(found) == len(sizes) - 1, found
    _, less, more, most = found
    assert 0 < most - more < MOST * (more - less), (less, more, most)


@pytest.mark.slow
@pytest.mark.valgrind
@pytest.mark.parametrize("data", DATA)
def test_twice_the_small_reads_are_twice_the_work(data: str, tmp_path: Path) -> None:
    valgrind = ("valgrind", "--tool=callgrind", "--dump-before=getpriority", "--callgrind-out-file=counts")
    code = SMALL_READS.replace("DATA", DATA[data])
    subprocess.run([*valgrind, sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True)
    _, less, more, most = dumped(tmp_path)
    assert 0 < most - more < MOST * (more - less), (less, more, most)
