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

PEAK_KB = {"direct": 150_000, "sdk": 240_000}
"""The program with all its modules takes 37 MB, with the SDKs 118 MB. Of the largest answer 32 MiB are held, and as
much again while it is unpacked. The C library may keep 32 MiB that were given back; nothing else may stay."""
ROOT = Path(__file__).resolve().parents[1]
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
    launcher = Launcher(ROOT)
    try:
        table = run_faults(launcher, api, "direct", quick_faults(), tmp_path)
    finally:
        launcher.close()
    assert problems_of(table, quick_faults(), PEAK_KB["direct"]) == []


@BY_HAND
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("spare", [False, True], ids=["alone", "several keys and a fallback model"])
@pytest.mark.parametrize("transport", APIS_OF)
def test_every_fault(transport: str, spare: bool, tmp_path: Path) -> None:
    launcher = Launcher(ROOT, sdks=transport == "sdk")
    faults = faults_of(transport)

    def run(api: str) -> Table:
        return run_faults(launcher, api, transport, faults, tmp_path / api, spare=spare)

    try:
        with ThreadPoolExecutor(len(APIS_OF[transport])) as pool:  # they wait most of the time
            tables = dict(zip(APIS_OF[transport], pool.map(run, APIS_OF[transport]), strict=True))
    finally:
        launcher.close()
    sys.stdout.write(f"peaks in KB: { {api: table.peak_kb for api, table in tables.items()} }\n")
    found = {api: problems_of(table, faults, PEAK_KB[transport], spare=spare) for api, table in tables.items()}
    assert {api: problems for api, problems in found.items() if problems} == {}


def problems_of(table: Table, faults: list[str], peak_kb: int, *, spare: bool = False) -> list[str]:
    ends = {fault: outcome_of(table.turns[fault]) for fault in faults}
    found = [f"{fault}: {end}" for fault, end in ends.items() if end not in allowed(fault, spare=spare)]
    stream = StreamCheck("flat", strict=True)
    lines = [*table.start, *(line for turn in table.turns.values() for line in turn)]
    found += [problem for line in lines for problem in stream.feed(codec.dumps(line) + b"\n")]
    found += stream.end()
    found += ["a traceback on stderr"] if "Traceback" in table.stderr else []
    found += [f"{table.peak_kb:,} KB"] if table.peak_kb > peak_kb else []
    return found + ([f"exit code {table.code}"] if table.code not in (0, 1) else [])
