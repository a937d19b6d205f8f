"""Facts that outlive a process: their age, their number, several processes at once, files that others wrote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.helpers.fakes import FakeClock
from tests.helpers.wire_cases import no_log
from yume_shim.providers.facts import fact_file
from yume_shim.providers.facts.fact_file import MAX_AGE_SECONDS, MAX_FACT_BYTES, MAX_KINDS, MAX_SUBJECTS, FactFile
from yume_shim.system import try_lock

if TYPE_CHECKING:
    from pathlib import Path

WRITER = """
import sys, time
from yume_shim.providers.facts.fact_file import FactFile
facts = FactFile(sys.argv[1], time.time, print)
for number in range(20):
    facts.put(f"{sys.argv[2]} {number}", "learned", {"n": number}, 60)
"""


def test_a_fact_is_kept_until_its_age(tmp_path: Path) -> None:
    clock = FakeClock()
    path = str(tmp_path / "home" / "facts.json")
    FactFile(path, clock.now, no_log).put("http://x m", "learned", {"window": 4_096}, 60)
    FactFile(path, clock.now, no_log).put("http://x m", "asked", {"window": 8_192}, 30)
    other = FactFile(path, clock.now, no_log)
    assert (other.get("http://x m", "learned"), other.get("http://x m", "asked")) == (
        {"window": 4_096},
        {"window": 8_192},
    )
    clock.time += 30
    assert (other.get("http://x m", "learned"), other.get("http://x m", "asked")) == ({"window": 4_096}, None)
    clock.time += 30
    assert other.get("http://x m", "learned") is None
    other.put("http://y m", "learned", {"window": 1}, 60)
    assert json.loads((tmp_path / "home" / "facts.json").read_text()).keys() == {"http://y m"}


def test_a_fact_can_be_dropped(tmp_path: Path) -> None:
    facts = FactFile(str(tmp_path / "facts.json"), FakeClock().now, no_log)
    facts.put("key", "cooldown", {"until": 5}, 60)
    facts.drop("key", "cooldown")
    facts.drop("another", "cooldown")
    assert facts.get("key", "cooldown") is None


def test_no_age_is_longer_than_the_longest(tmp_path: Path) -> None:
    clock = FakeClock()
    facts = FactFile(str(tmp_path / "facts.json"), clock.now, no_log)
    facts.put("x", "learned", {"a": 1}, 10 * MAX_AGE_SECONDS)
    clock.time += MAX_AGE_SECONDS - 1
    assert facts.get("x", "learned") == {"a": 1}
    clock.time += 1
    assert facts.get("x", "learned") is None


def test_the_file_is_bounded(tmp_path: Path) -> None:
    clock = FakeClock()
    path = tmp_path / "facts.json"
    facts = FactFile(str(path), clock.now, no_log)
    fact = {"at": int(clock.now()), "until": int(clock.now()) + 60, "value": {"a": 1}}
    path.write_text(json.dumps({f"x {n}": {f"k{m}": fact for m in range(MAX_KINDS + 3)} for n in range(MAX_SUBJECTS)}))
    clock.time += 1
    facts.put("new", "learned", {"a": 1}, 60)
    facts.put("long", "learned", {"a": "x" * MAX_FACT_BYTES}, 60)
    kept = json.loads(path.read_text())
    assert len(kept) == MAX_SUBJECTS
    assert "new" in kept
    assert "long" not in kept
    assert {len(kinds) for kinds in kept.values()} == {1, MAX_KINDS}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"x": 1}',
        '{"x": {"learned": 1}}',
        '{"x": {"learned": {"at": 1, "until": 2, "value": {}}}}',
        '{"x": {"learned": {"at": 1700000000, "until": 1e300, "value": {}}}}',
        '{"x": {"learned": {"at": 1700000000, "until": 99999999999, "value": {"a": 1}}}}',
        '{"x": {"learned": {"at": 99999999999, "until": 100000000000, "value": {"a": 1}}}}',
        '{"x": {"learned": {"at": 1700000000, "until": 1700000060, "value": []}}}',
    ],
)
def test_what_others_wrote_is_not_believed(tmp_path: Path, content: str) -> None:
    path = tmp_path / "facts.json"
    path.write_text(content)
    facts = FactFile(str(path), FakeClock().now, no_log)
    assert facts.get("x", "learned") is None
    facts.put("x", "learned", {"a": 2}, 60)
    assert facts.get("x", "learned") == {"a": 2}


def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "facts.json")
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, path, str(name)]) for name in range(4)]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0, 0]
    assert len(json.loads((tmp_path / "facts.json").read_text())) == 80


def test_a_lock_that_is_never_released_costs_a_moment_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fact_file, "LOCK_SECONDS", 0.05)
    said: list[str] = []
    facts = FactFile(str(tmp_path / "facts.json"), FakeClock().now, lambda level, text: said.append(text))
    fd = os.open(tmp_path / "facts.json.lock", os.O_RDWR | os.O_CREAT)
    try:
        assert try_lock(fd)
        facts.put("x", "learned", {"a": 1}, 60)
        assert said == ["facts are not kept: other processes keep the file locked"]
        assert facts.get("x", "learned") is None
    finally:
        os.close(fd)
    facts.put("x", "learned", {"a": 1}, 60)
    assert facts.get("x", "learned") == {"a": 1}
