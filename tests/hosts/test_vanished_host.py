"""A host that dies, or signals and closes in one breath: the process ends at once, with the right code, and saves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.helpers import child
from tests.helpers.host_world import program
from tests.helpers.scripted_model import call, hold, say
from tests.helpers.timing import soon, wait_until
from yume_shim.text import codec

if TYPE_CHECKING:
    from tests.helpers.host_world import HostWorld

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="poll and POSIX signals")


@pytest.mark.parametrize("where", ["silent model", "command"])
def test_a_flat_process_whose_reader_is_gone_ends_without_writing(where: str, any_world: HostWorld) -> None:
    """Both wait for a minute or longer; stdin stays open, as a sibling of the dead host may hold it."""
    any_world.serve([hold()] if where == "silent model" else [call("Bash", command="touch begun; sleep 60")])
    argv = [program(), "--allowedTools", "Bash"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        argv, cwd=any_world.cwd, env=any_world.env, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(codec.dumps({"type": "user", "content": "Go"}) + b"\n")
        process.stdin.flush()
        if where == "command":
            wait_until(lambda: os.path.exists(os.path.join(any_world.cwd, "begun")), "the command")
        else:
            wait_until(any_world.requests, "the request")
        with soon():
            process.stdout.close()
            assert process.wait(30) == 0
    assert any_world.strays() == []


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGINT", 130)])
def test_a_signal_counts_when_the_input_ends_right_after_it(name: str, code: int, any_world: HostWorld) -> None:
    any_world.serve([say("unused")])
    codes = []
    for _ in range(4):
        running = child.start([], cwd=any_world.cwd, env=any_world.env, program=[program()])
        try:
            running.wait_for("init")
            running.process.send_signal(getattr(signal, name))
            codes.append(running.end().code)
        finally:
            running.kill()
    assert codes == [code] * 4


def test_an_interrupt_while_the_program_loads_prints_nothing(any_world: HostWorld) -> None:
    """Before the interpreter runs our first line its own default applies."""
    any_world.serve([say("unused")])
    for moment in (0.03, 0.06):
        running = child.start([], cwd=any_world.cwd, env=any_world.env, program=[program()])
        try:
            time.sleep(moment)
            running.process.send_signal(signal.SIGINT)
            done = running.end()
        finally:
            running.kill()
        assert b"yume_shim/app" not in done.stderr
        assert b"yume_shim/config" not in done.stderr
        # while the interpreter itself starts, some versions end with 1 or go on
        own = b"KeyboardInterrupt" in done.stderr and b"yume" not in done.stderr
        assert done.code in (130, -signal.SIGINT, *((0, 1) if own else ()))
