"""Keys are removed from outputs that are saved to files, wherever the output is cut while it comes in."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.fakes import cancel
from tests.helpers.settings import settings_with
from tests.helpers.timing import wait_until
from tests.helpers.tool_cases import call
from yume_shim.text.redact import redact
from yume_shim.tools.dispatch.builtin import open_builtin_tools
from yume_shim.tools.shell.sink import MAX_HELD_LINE, PIPE_READ, Sink

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.tools.dispatch.builtin import BuiltinTools

KEY = "my-own-key-of-a-vendor-0123456789"
SHAPED = "sk-ant-" + "a1B2" * 20
PEM = "-----BEGIN RSA PRIVATE KEY-----\n" + "QUJDREVG\n" * 400 + "-----END RSA PRIVATE KEY-----\n"


def tools_in(folder: Path, **more: Any) -> BuiltinTools:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    settings = settings_with(cwd=str(folder), env=env, **more)
    return open_builtin_tools(settings, str(folder / "scratch"), env, lambda *_: None, secrets=[KEY])


@pytest.mark.parametrize("step", [1, 7, 4_096, PIPE_READ])
@pytest.mark.parametrize("secret", [KEY, SHAPED, PEM])
@pytest.mark.parametrize("around", ["\n", " ", '"'])
def test_no_cut_lets_a_key_through(tmp_path: Path, secret: str, around: str, step: int) -> None:
    def opened() -> tuple[int, str]:
        return os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT), str(tmp_path / "out")

    data = b"".join((f"word{number}" + around + secret + around).encode() for number in range(3 if step == 1 else 60))
    sink = Sink(opened, 10, lambda text: redact(text, (KEY,)))
    for start in range(0, len(data), step):
        sink.feed(data[start : start + step])
    sink.finish()
    saved = (tmp_path / "out").read_text()
    assert "[redacted]" in saved
    assert not any(part in saved for part in (KEY, SHAPED[:40], "QUJDREVG"))


def test_a_long_line_is_not_cut_inside_a_key(tmp_path: Path) -> None:
    def opened() -> tuple[int, str]:
        return os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT), str(tmp_path / "out")

    sink = Sink(opened, 10, lambda text: redact(text, (KEY,)))
    unit = f'"{KEY}",'.encode()
    for _ in range((MAX_HELD_LINE + PIPE_READ) * 4 // len(unit)):
        sink.feed(unit)
    sink.finish()
    saved = (tmp_path / "out").read_text()
    assert set(saved.split(",")) == {'"[redacted]"', ""}


@pytest.mark.skipif(sys.platform == "win32", reason="the commands are written for a POSIX shell")
@pytest.mark.parametrize("size", [40_000, 400_000])
def test_saved_outputs_of_commands(tmp_path: Path, size: int) -> None:
    tools = tools_in(tmp_path)
    try:
        command = f"echo {KEY}; head -c {size} /dev/zero | tr '\\0' x; echo; echo {KEY} {SHAPED}"
        shown = str(call(tools, "Bash", {"command": command}).content)
        [name] = [name for name in os.listdir(tmp_path / "scratch") if name.endswith(".txt")]
        saved = (tmp_path / "scratch" / name).read_text()
        assert f"saved to: {tmp_path}/scratch/{name}" in shown
        assert saved.startswith("[redacted]\nxxx")
        assert saved.endswith("[redacted] [redacted]\n" if size > 128 * 1024 else "[redacted] [redacted]")
    finally:
        tools.close()


@pytest.mark.skipif(sys.platform == "win32", reason="the commands are written for a POSIX shell")
def test_the_output_of_a_background_command(tmp_path: Path) -> None:
    tools = tools_in(tmp_path)
    try:
        call(tools, "Bash", {"command": f"echo {KEY}; echo end", "run_in_background": True})
        path = tmp_path / "scratch" / "bash_1.output"
        wait_until(lambda: path.exists() and "end" in path.read_text())
        assert path.read_text() == "[redacted]\nend\n"
    finally:
        tools.close()


@pytest.mark.skipif(sys.platform == "win32", reason="the commands are written for a POSIX shell")
def test_a_user_may_switch_it_off(tmp_path: Path) -> None:
    tools = tools_in(tmp_path, redact_output=False)
    try:
        call(tools, "Bash", {"command": f"echo {KEY}; head -c 200000 /dev/zero | tr '\\0' x"}, stop=cancel())
        [name] = [name for name in os.listdir(tmp_path / "scratch") if name.endswith(".txt")]
        assert (tmp_path / "scratch" / name).read_text().startswith(KEY)
    finally:
        tools.close()
