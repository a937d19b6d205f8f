"""The composed program, without a process: a text prompt from start to exit code, signals, a host that has gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.settings import settings_with
from yume_shim.app.program import Program
from yume_shim.app.start import Startup
from yume_shim.text import codec
from yume_shim.types.errors import BadInvocation
from yume_shim.types.events import ModelChanged, SessionReady
from yume_shim.types.settings import Rules
from yume_shim.types.stored_session import StoredSession
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.types.blocks import Json


class Stage:
    """A program whose model has no key: every request fails at once, and nothing is sent."""

    def __init__(self, folder: Path, *, flat: bool = False, stored: StoredSession | None = None, **more: Any) -> None:
        own = {"output_format": "stream-json", "input_format": "text", "prompt": "Hi", "verbose": True}
        env = {"HOME": str(folder), "ANTHROPIC_API_KEY": "sk-key" if flat else ""}
        settings = settings_with(cwd=str(folder), env=env, **{"model": "claude-haiku-4-5", **own, **more})
        self.received: list[Any] = []
        self.startup = Startup(settings, flat, [lambda tagged: self.received.append(tagged.event)])
        if stored is not None:
            self.startup.opened = replace(self.startup.opened, stored=stored)
        self.program = Program(self.startup, lambda: False)

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.received if isinstance(event, kind)]


def lines(capfd: pytest.CaptureFixture[str]) -> list[Json]:
    return [codec.loads(line.encode()) for line in capfd.readouterr().out.splitlines()]


def test_a_prompt_as_an_argument_is_one_turn(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    stage = Stage(tmp_path)
    stage.startup.output.emit(SessionReady(stage.program.info()))
    stage.program.run()
    end = stage.program.last_end()
    assert end is not None
    assert end.failure is not None
    assert end.failure.kind == "auth"
    result = lines(capfd)[-1]
    assert (result["type"], result["is_error"]) == ("result", True)
    with open(stage.startup.opened.transcript, "rb") as file:
        assert b'"Hi"' in file.read()


def test_a_session_that_is_not_stored_leaves_no_file(tmp_path: Path) -> None:
    Stage(tmp_path, persist=False).program.run()
    assert not (tmp_path / ".claude").exists()


def test_without_a_prompt_nothing_runs(tmp_path: Path) -> None:
    stage = Stage(tmp_path, prompt=None)
    with pytest.raises(BadInvocation, match="Input must be provided"):
        stage.program.run()
    assert stage.program.last_end() is None


@pytest.mark.parametrize(
    ("flat", "signal", "muted"),
    [(False, "SIGTERM", True), (False, "SIGINT", False), (True, "SIGTERM", False), (True, "SIGINT", False)],
)
def test_a_signal_ends_the_session(
    flat: bool, signal: str, muted: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    stage = Stage(tmp_path, flat=flat, output_format="flat" if flat else "stream-json")
    stage.program.on_signal(signal)
    stage.program.run()
    assert stage.program.last_end() is None
    capfd.readouterr()
    stage.startup.output.emit(ModelChanged("p", "m", "host"))
    assert (capfd.readouterr().out == "") is muted


def test_a_flat_session_ends_when_its_host_has_gone(tmp_path: Path) -> None:
    stage = Stage(tmp_path, flat=True, output_format="flat")
    stage.startup.output.host_gone.set("gone")
    stage.program.run()
    assert stage.program.last_end() is None


def test_a_claude_form_finishes_its_turn_without_its_host(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.startup.output.host_gone.set("gone")
    stage.program.run()
    assert stage.program.last_end() is not None


@pytest.mark.parametrize(
    ("before", "changed"),
    [
        ("openai/gpt-5.4", [ModelChanged("anthropic", "claude-haiku-4-5", "resume")]),
        ("anthropic/claude-haiku-4-5", []),
        ("", []),
    ],
)
def test_a_resumed_session_reports_another_model(before: str, changed: list[ModelChanged], tmp_path: Path) -> None:
    stage = Stage(tmp_path, stored=StoredSession("s-1", (), None, model=before))
    stage.program.run()
    assert stage.of(ModelChanged) == changed


EVERY_DAY: list[dict[str, Any]] = [
    {},
    {"permission_mode": "plan"},
    {"permission_mode": "bypassPermissions", "persist": False},
    {"tools": ("Read", "Bash")},
    {"tools": ("Read", "Agent")},
    {"rules": Rules(deny=("Bash", "SendMessage"))},
    {"rules": Rules(deny=("Agent",))},
    {"slash_commands": False, "prompt_tool": "stdio", "input_format": "lines"},
]


@pytest.mark.parametrize("more", EVERY_DAY, ids=str)
def test_the_init_line_of_an_ordinary_start_needs_no_program(more: dict[str, Any], tmp_path: Path) -> None:
    """It is printed before the program is loaded, and says what it would say afterwards."""
    stage = Stage(tmp_path, **more)
    assert stage.startup.knows_all()
    assert stage.startup.first_info() == stage.program.info()


def test_the_init_line_of_another_start_waits_for_the_program(tmp_path: Path) -> None:
    assert not Stage(tmp_path, add_dirs=(str(tmp_path),)).startup.knows_all()
    assert not Stage(tmp_path, permission_mode="auto").startup.knows_all()
