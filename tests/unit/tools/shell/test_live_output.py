"""The output of a running command, shown while it runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.helpers.fakes import cancel
from tests.helpers.tool_cases import toolbox
from yume_shim.engine.toolbox import Toolbox
from yume_shim.tools.shell import live_output
from yume_shim.tools.shell.live_output import LiveOutput
from yume_shim.tools.shell.sink import Sink
from yume_shim.types.blocks import ToolCall
from yume_shim.types.outputs import ToolContext

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a POSIX shell is spoken here")


def test_whole_lines_are_shown_while_the_command_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_output, "FIRST_S", 0.02)
    monkeypatch.setattr(live_output, "INTERVAL_S", 0.02)
    tools = toolbox(tmp_path, tmp_path / "scratch")
    shown: list[tuple[str, int]] = []

    def show(text: str, dropped: int) -> None:
        shown.append((text, dropped))
        (tmp_path / f"go{len(shown)}").touch()

    wait = "while [ ! -e go{} ]; do sleep 0.02; done; "
    command = "printf 'one\\nhal'; " + wait.format(1) + "printf 'f\\n'; " + wait.format(2) + "echo end"
    box = Toolbox((tools,))
    prepared = box.prepare(box.complete_for_host(ToolCall("c1", "Bash", {"command": command})))
    output = box.run(prepared, ToolContext("c1", cancel(), show_output=show))
    tools.close()
    assert output.content == "one\nhalf\nend"
    assert shown[:2] == [("one\n", 0), ("half\n", 0)]


def pieces(*fed: bytes) -> list[tuple[str, int]]:
    """What is shown of output that comes in these parts."""
    shown: list[tuple[str, int]] = []
    sink = Sink(lambda: (_ for _ in ()).throw(OSError("no file")))
    live = LiveOutput(sink, lambda text, dropped: shown.append((text, dropped)), lambda text: text.replace("KEY", "*"))
    for data in fed:
        sink.feed(data)
        live._show_more()
    return shown


def test_long_output_is_cut_and_keys_are_removed() -> None:
    assert pieces(b"a KEY\nb", b"c\n") == [("a *\n", 0), ("bc\n", 0)]
    [(text, dropped)] = pieces(b"x" * 99 + b"\n" + b"y\n" * 10_000)
    assert len(text) <= live_output.MAX_PIECE + 2
    assert len(text) + dropped == 20_100
    assert pieces(b"z" * 10_000) == []  # no line has ended yet
    assert pieces(b"z" * 200_000)[0][0] == ""
