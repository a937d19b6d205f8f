"""Each fault of an endpoint, on every wire API and transport: one result, the right kind of error, in time."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.chaos.fault_table import APIS, EXPECTED, allowed, faults_of, outcome_of, run_faults
from tests.chaos.faults import ALL_FAULTS
from tests.chaos.launcher import Launcher
from tests.chaos.routes import ROADS
from yume_shim.dialects.stream_check import StreamCheck
from yume_shim.text import codec

if TYPE_CHECKING:
    from tests.chaos.fault_table import Table

PEAK_KB = 300_000
"""Answers of 34 MB are among the faults."""
APIS_OF = {"direct": sorted(APIS), "sdk": sorted(set(APIS) - {"ollama-chat"})}


def test_every_fault_is_in_the_table() -> None:
    assert set(EXPECTED) == {*ALL_FAULTS, *ROADS}


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
@pytest.mark.parametrize("transport", ["direct", "sdk"])
def test_every_fault_ends_a_turn_as_it_should(transport: str, tmp_path: Path) -> None:
    launcher = Launcher(Path(__file__).resolve().parents[1], sdks=transport == "sdk")
    faults = faults_of(transport)

    def run(api: str) -> Table:
        return run_faults(launcher, api, transport, faults, tmp_path / api)

    with ThreadPoolExecutor() as pool:  # they wait most of the time
        tables = dict(zip(APIS_OF[transport], pool.map(run, APIS_OF[transport]), strict=True))
    launcher.close()
    for table in tables.values():
        check(table, faults)


def check(table: Table, faults: list[str]) -> None:
    ends = {fault: outcome_of(table.turns[fault]) for fault in faults}
    assert {fault: end for fault, end in ends.items() if end not in allowed(fault)} == {}
    stream = StreamCheck("flat", strict=True)
    lines = [*table.start, *(line for turn in table.turns.values() for line in turn)]
    assert [problem for line in lines for problem in stream.feed(codec.dumps(line) + b"\n")] == []
    assert stream.end() == []
    assert "Traceback" not in table.stderr
    assert table.peak_kb < PEAK_KB
    assert table.code in (0, 1)
