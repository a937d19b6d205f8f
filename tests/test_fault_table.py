"""Each fault of an endpoint, on every wire API and transport: one result, the right kind of error, in time."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.chaos.fault_table import APIS, EXPECTED, allowed, faults_of, outcome_of, quick_faults, run_faults
from tests.chaos.faults import ALL_FAULTS
from tests.chaos.launcher import Launcher
from tests.chaos.routes import ROADS
from yume_shim.dialects.stream_check import StreamCheck
from yume_shim.text import codec

if TYPE_CHECKING:
    from tests.chaos.fault_table import Table

PEAK_KB = {"direct": 400_000, "sdk": 600_000}
"""Answers of 34 MB are among the faults, and the SDKs need 150 MB for themselves."""
APIS_OF = {"direct": sorted(APIS), "sdk": sorted(set(APIS) - {"ollama-chat"})}
BY_HAND = pytest.mark.skipif(
    "YUME_ALL_FAULTS" not in os.environ or sys.platform == "win32", reason="YUME_ALL_FAULTS is not set"
)
"""Turns that wait for limits, minutes of them on a busy machine."""


def test_every_fault_is_in_the_table() -> None:
    assert set(EXPECTED) == {*ALL_FAULTS, *ROADS}


@BY_HAND
@pytest.mark.parametrize("api", APIS_OF["direct"])
def test_a_fault_ends_a_turn_as_it_should(api: str, tmp_path: Path) -> None:
    launcher = Launcher(Path(__file__).resolve().parents[1])
    try:
        table = run_faults(launcher, api, "direct", quick_faults(), tmp_path)
    finally:
        launcher.close()
    check(table, quick_faults(), PEAK_KB["direct"])


@BY_HAND
@pytest.mark.timeout(900)
def test_every_fault_on_both_transports(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[1]
    launchers = {"direct": Launcher(root), "sdk": Launcher(root, sdks=True)}
    runs = [(transport, api) for transport, apis in APIS_OF.items() for api in apis]

    def run(transport: str, api: str) -> Table:
        return run_faults(launchers[transport], api, transport, faults_of(transport), tmp_path / transport / api)

    try:
        with ThreadPoolExecutor(len(runs)) as pool:  # they wait most of the time
            tables = list(pool.map(run, *zip(*runs, strict=True)))
    finally:
        for launcher in launchers.values():
            launcher.close()
    for (transport, _), table in zip(runs, tables, strict=True):
        check(table, faults_of(transport), PEAK_KB[transport])


def check(table: Table, faults: list[str], peak_kb: int) -> None:
    ends = {fault: outcome_of(table.turns[fault]) for fault in faults}
    assert {fault: end for fault, end in ends.items() if end not in allowed(fault)} == {}
    stream = StreamCheck("flat", strict=True)
    lines = [*table.start, *(line for turn in table.turns.values() for line in turn)]
    assert [problem for line in lines for problem in stream.feed(codec.dumps(line) + b"\n")] == []
    assert stream.end() == []
    assert "Traceback" not in table.stderr
    assert table.peak_kb < peak_kb
    assert table.code in (0, 1)
