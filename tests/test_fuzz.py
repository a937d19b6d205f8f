"""A few inputs for each fuzz target (many: scripts/fuzz.py), and proof that the harness sees what it looks for."""

from __future__ import annotations

import random
import signal
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz import harness
from tests.fuzz.harness import Target, kept_inputs, open_target, run_random, target_names, time_limit, try_input
from tests.fuzz.mutation import make_input, pool_of
from yume_shim.engine import model_client
from yume_shim.net import message
from yume_shim.providers import pipeline
from yume_shim.text import frontmatter
from yume_shim.types.events import Notice
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fuzz.harness import Finding

NAMES = sorted(target_names())
FEW = {"turn": 12, "bash": 60, "rules": 40, "sessions": 60, "provider": 60}
MANY = 120
SHORT = {"bash": 2_000}
"""Bytes of an input, where long ones are slow: the judge of commands works on them until its time limit."""
pytestmark = pytest.mark.filterwarnings("error")


def findings_of(target: Target, inputs: int, seed: int = 5) -> list[str]:
    """What a short run finds."""
    found: list[Finding] = []
    run_random(target, inputs=inputs, seconds=0.0, seed=seed, found=found.append)
    return [finding.what for finding in found]


@pytest.mark.parametrize("name", NAMES)
def test_inputs_that_once_broke_a_promise(name: str, tmp_path: Path) -> None:
    target = open_target(name, tmp_path)
    for data in kept_inputs(name):
        target.check(data)
    target.close()


@pytest.mark.parametrize("name", NAMES)
def test_a_few_random_inputs(name: str, tmp_path: Path) -> None:
    target = open_target(name, tmp_path)
    chance, pool = random.Random(name), pool_of(target.seeds, target.words)
    for _ in range(FEW.get(name.partition("-")[0], MANY)):
        finding = try_input(target, make_input(chance, pool)[: SHORT.get(name)])
        assert finding is None, finding.report
    target.close()


@pytest.mark.parametrize("name", ["stdin", "frames", "front-matter", "hooks"])
def test_inputs_of_hypothesis(name: str, tmp_path: Path) -> None:
    target = open_target(name, tmp_path)
    piece = st.one_of(st.sampled_from(target.seeds), st.sampled_from((b"\n", *target.words)), st.binary(max_size=12))

    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(piece, max_size=4).map(b"".join))
    def check(data: bytes) -> None:
        target.check(data)

    check()


# ---------------------------------------------------------------- the harness can fail


def test_a_planted_exception_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = frontmatter._plain

    def broken(text: str) -> object:
        return real(text) if text != "high" else text[9]

    monkeypatch.setattr(frontmatter, "_plain", broken)
    [found] = findings_of(open_target("front-matter", tmp_path), 5)
    assert found.startswith("IndexError")


def test_a_planted_dependence_on_reads_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message, "_head_end", lambda data: (data.index(b"\r\n\r\n"), 4))
    assert any(found.startswith("ValueError") for found in findings_of(open_target("http", tmp_path), 30))


def test_a_planted_invalid_line_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = open_target("turn-openai-chat", tmp_path)
    [data] = [data for data in kept_inputs("turn-openai-chat") if b'"model": true' in data]
    assert try_input(target, data) is None
    with monkeypatch.context() as patch:
        patch.setattr(
            pipeline, "_with_texts", lambda event, *names: replace(event, **dict.fromkeys({"id"} & {*names}, "x"))
        )
        finding = try_input(target, data)
    assert finding is not None
    assert "must be a string" in finding.what
    monkeypatch.setattr(pipeline, "_with_texts", lambda event, *names: event)  # the id is a list, then
    finding = try_input(target, data)
    assert finding is not None
    assert "internal error: TypeError" in finding.what
    target.close()


def test_a_planted_error_of_order_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = open_target("turn-openai-chat", tmp_path)
    [data] = [data for data in kept_inputs("turn-openai-chat") if b'"id": "c"' in data]
    assert try_input(target, data) is None
    monkeypatch.setattr(model_client, "ResponseDropped", lambda *_, **__: Notice("x", "y"))
    finding = try_input(target, data)
    assert finding is not None
    assert "before `message_stop`" in finding.what
    target.close()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a POSIX timer")
def test_a_hang_and_quadratic_time_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "HANG_SECONDS", 0.05)
    monkeypatch.setattr(harness, "SLOW_SECONDS", 0.002)

    def for_ever(data: bytes) -> None:
        while data:
            time.thread_time()

    def quadratic(data: bytes) -> None:
        held = b""
        for at in range(len(data)):
            held += data[at : at + 1] * 3
            held.count(b"zz")

    with time_limit():
        hang = try_input(Target("x", for_ever, ()), b"x")
    monkeypatch.setattr(harness, "HANG_SECONDS", 5.0)
    with time_limit():
        slow = try_input(Target("x", quadratic, ()), b"ab" * 1_001)
    assert hang is not None
    assert hang.what.startswith("Hang")
    assert slow is not None
    assert slow.what == "more than linear"
