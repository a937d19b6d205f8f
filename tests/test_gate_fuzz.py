"""A short run of the gate's fuzzer (the long one is scripts/fuzz_gate.py), and a proof that it can find something."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.helpers.gate_fuzz import Trial, fuzz, snippet

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.bubblewrap


def test_what_the_gate_allows_does_what_the_gate_saw(tmp_path: Path) -> None:
    tally = fuzz(Trial(tmp_path), 1, range(60))
    assert (tally.generated, tally.findings) == (180, ())
    assert tally.allowed > 20
    assert tally.programs > 20


@pytest.mark.parametrize(
    ("mode", "command", "what"),
    [
        ("default", "printf 'abc%n' PATH; ls", "it ran a program of the workspace"),
        ("default", "touch new", "it changed the workspace"),
        ("default", "cat ../outside/o.txt", "it showed a file outside"),
        ("acceptEdits", "mv n n3 && echo x > n3/out/new", "it changed something outside"),
        ("default", "X=cat; $X a.txt", "it ran ('cat', 'a.txt')"),
    ],
)
def test_the_fuzzer_sees_what_an_open_gate_lets_pass(tmp_path: Path, mode: str, command: str, what: str) -> None:
    assert Trial(tmp_path, allow=("Bash",)).check(mode, command)[2] == what


def test_a_seed_and_a_number_give_the_same_command() -> None:
    assert [snippet(3, number) for number in range(50)] == [snippet(3, number) for number in range(50)]
    assert len({snippet(3, number) for number in range(50)}) > 40
