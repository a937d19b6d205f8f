"""`otelHeadersHelper`: the command of the user that prints headers for the collector."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

import pytest

from tests.helpers.timing import SOON, wait_until
from yume_shim.system.processes import process_exists
from yume_shim.telemetry.headers_helper import HeadersHelper

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")


def test_the_command_does_not_outlive_the_session(tmp_path: Path) -> None:
    place = tmp_path / "number"
    said: list[str] = []
    command = f"trap '' TERM; echo $$ > {place}.new; mv {place}.new {place}; sleep 600"
    helper = HeadersHelper(command, {"PATH": "/usr/bin:/bin"}, str(tmp_path), lambda _, text: said.append(text), 60.0)
    asking = threading.Thread(target=helper)
    asking.start()
    wait_until(place.exists, "the command")
    helper.end()
    asking.join(SOON)
    assert not asking.is_alive()
    assert not process_exists(int(place.read_text()))
    assert said == []


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("echo '{}'; exec 1>&-; sleep 600", "did not end within 0.5 s"),
        ("sleep 600", "did not end within 0.5 s"),
        ("head -c 70000 /dev/zero; sleep 600", "printed too much"),
        ("echo '[]'", "must print a JSON object of texts (exit code 0)"),
        ("echo '{}'; exit 3", "must print a JSON object of texts (exit code 3)"),
    ],
)
def test_a_command_that_misbehaves_is_ended_and_named(
    command: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("yume_shim.telemetry.headers_helper.HELPER_S", 0.5)
    said: list[str] = []
    helper = HeadersHelper(command, {"PATH": "/usr/bin:/bin"}, str(tmp_path), lambda _, text: said.append(text), 60.0)
    assert helper() == {}
    assert said == [f"telemetry: otelHeadersHelper {problem}; what it printed is not shown"]
