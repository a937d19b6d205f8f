"""Pauses of keys that processes share: what counts, what is in the file, and what is ignored."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from tests.helpers.fakes import FakeClock
from tests.helpers.wire_cases import no_log
from yume_shim.providers.facts.fact_file import FactFile
from yume_shim.providers.keys.pauses import FILE, MAX_PAUSE_S, SALT_FILE, Pauses
from yume_shim.types.models import Endpoint, ModelSpec

if TYPE_CHECKING:
    from pathlib import Path

KEY = "sk-very-secret-key"
SPEC = ModelSpec("m", Endpoint("there", "openai-chat", "https://user:word@api.test/v1"))
OTHER_MODEL = ModelSpec("n", SPEC.endpoint)
OTHER_PLACE = ModelSpec("m", Endpoint("here", "openai-chat", "https://api.example/v1"))


class Machine:
    """A folder and a clock; each `process` has its own view."""

    def __init__(self, base: Path) -> None:
        self.folder = base / "home" / ".yume"
        self.time = 1_700_000_000.0

    def process(self) -> Pauses:
        return Pauses(str(self.folder), no_log, lambda: self.time)

    def begin(self, seconds: float, key: str = KEY) -> None:
        self.process().begin(SPEC, key, seconds)
        os.utime(self.folder / FILE, (self.time, self.time))


def test_another_process_waits_as_long_as_the_first(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    first, second = machine.process(), machine.process()
    assert second.left(SPEC, KEY) == 0.0
    first.begin(SPEC, KEY, 20.5)
    os.utime(machine.folder / FILE, (machine.time, machine.time))
    assert second.left(SPEC, KEY) == pytest.approx(20.5)
    assert first.left(SPEC, KEY) == 0.0, "its own requests follow their own rules"
    for spec, key in ((SPEC, "another-key"), (OTHER_MODEL, KEY), (OTHER_PLACE, KEY)):
        assert second.left(spec, key) == 0.0
    machine.time += 20.0
    assert second.left(SPEC, KEY) == pytest.approx(0.5)
    machine.time += 0.48
    assert second.left(SPEC, KEY) == 0.0
    machine.begin(3.0)
    assert second.left(SPEC, KEY) == pytest.approx(3.0), "the file has changed"


def test_the_file_names_no_key(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.begin(20.0)
    texts = b"".join(path.read_bytes() for path in machine.folder.iterdir())
    assert KEY.encode() not in texts
    assert b"word@" not in texts
    (about,) = json.loads((machine.folder / FILE).read_bytes())
    (machine.folder / SALT_FILE).write_bytes(os.urandom(32))
    (machine.folder / FILE).unlink()
    machine.begin(20.0)
    assert [about] != list(json.loads((machine.folder / FILE).read_bytes())), "another salt, another hash"
    if os.name != "nt":
        assert (machine.folder / SALT_FILE).stat().st_mode & 0o077 == 0


def test_clocks_that_jump_and_pauses_that_are_too_long(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.begin(9_999.0)
    assert machine.process().left(SPEC, KEY) == MAX_PAUSE_S
    machine.time -= 3_600
    assert machine.process().left(SPEC, KEY) == 0.0
    machine.time += 3_600 + MAX_PAUSE_S + 1
    assert machine.process().left(SPEC, KEY) == 0.0


@pytest.mark.parametrize("value", [{}, {"begun": "x", "over": 1.0}, {"begun": 1.0, "over": 1e300}, {"over": True}])
def test_what_others_wrote_is_not_trusted(value: dict[str, object], tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.begin(20.0)
    path = machine.folder / FILE
    (about,) = json.loads(path.read_bytes())
    FactFile(str(path), lambda: machine.time, no_log).put(about, "pause", value, 60)
    os.utime(path, (machine.time, machine.time))
    assert machine.process().left(SPEC, KEY) == 0.0
    for damage in (b"", b"{", b"[]", b"\xff" * 100):
        path.write_bytes(damage)
        os.utime(path, (machine.time, machine.time))
        assert machine.process().left(SPEC, KEY) == 0.0
    machine.begin(5.0)
    assert machine.process().left(SPEC, KEY) == pytest.approx(5.0), "a damaged file is replaced"
    (machine.folder / SALT_FILE).write_bytes(b"short")
    machine.begin(5.0)
    assert machine.process().left(SPEC, KEY) == pytest.approx(5.0), "so is a damaged salt"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_named_pipes_in_their_place_block_nothing(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.begin(20.0)
    for name in (FILE, SALT_FILE):
        (machine.folder / name).unlink()
        os.mkfifo(machine.folder / name)
    os.utime(machine.folder / FILE, (machine.time, machine.time))
    assert machine.process().left(SPEC, KEY) == 0.0


def test_a_home_that_cannot_be_written_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said: list[str] = []
    pauses = Pauses(str(tmp_path / "file" / ".yume"), lambda level, text: said.append(level), FakeClock().now)
    pauses.begin(SPEC, KEY, 5.0)
    assert pauses.left(SPEC, KEY) == 0.0
    assert said == ["debug"]
