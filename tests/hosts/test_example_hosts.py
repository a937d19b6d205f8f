"""The example hosts of docs/examples, driven as a person would: prompt, approve, interrupt, menus, resume, cost."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers import child
from tests.helpers.client_packages import node
from tests.helpers.host_world import program
from tests.helpers.scripted_model import call, hold, say

if TYPE_CHECKING:
    from tests.helpers.child import Child
    from tests.helpers.host_world import HostWorld

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
MAX_LINES = 150
HOSTS = ["host.py", pytest.param("host.mjs", marks=pytest.mark.node)]


class Terminal:
    """A person in front of the host: types, and waits for what they expect to read next."""

    def __init__(self, started: Child) -> None:
        self.child = started
        self.read = 0

    def type(self, text: str) -> None:
        self.child.send(f"{text}\n".encode())

    def expect(self, text: str) -> str:
        """Everything up to and with the next line that holds this text."""
        seen = b""
        with self.child.changed:
            while True:
                while self.read < len(self.child.out):
                    line = self.child.out[self.read]
                    self.read += 1
                    seen += line
                    if text.encode() in line:
                        return seen.decode()
                if self.child.finished or time.monotonic() > self.child.deadline:
                    raise AssertionError(f"{text!r} was not printed; {self.child.transcript()}")
                self.child.changed.wait(0.05)


def started(host: str, world: HostWorld) -> Terminal:
    runner = sys.executable if host.endswith(".py") else node()
    words = [str(EXAMPLES / host), program()]
    return Terminal(child.start(words, cwd=world.cwd, env=world.env, program=(runner,)))


@pytest.mark.parametrize("host", HOSTS)
def test_a_conversation(host: str, world: HostWorld) -> None:
    write = call("Write", file_path="note.txt", content="tea\n")
    world.serve(
        [say("A note."), write],
        [say("Written.")],
        [write],
        [say("Again.")],
        [say("Counting.\n", 1), hold()],
        [say("Other model.")],
        [say("I remember.")],
    )
    terminal = started(host, world)
    terminal.expect(f"[{world.vendor.name}/{world.vendor.model} in {world.cwd}]")
    terminal.type("Write a note.")
    asked = terminal.expect("[y]es, [a]lways, [n]o:")
    assert "A note." in asked
    terminal.type("a")
    assert "Written." in terminal.expect("[success, $")
    terminal.type("Once more.")
    assert "?" not in terminal.expect("[success, $")  # "always" was remembered
    terminal.type("Count.")
    terminal.expect("Counting.")
    terminal.type("/stop")
    terminal.expect("[cancelled, $")
    terminal.type("/models")
    terminal.expect(world.vendor.model)
    terminal.type(f"/model {world.vendor.name}/{world.vendor.other_model}")
    terminal.expect(f"[{world.vendor.name}/{world.vendor.other_model}]")
    terminal.type("Who are you?")
    assert "Other model." in terminal.expect("[success, $")
    terminal.type("/cost")
    terminal.expect("$0.")
    terminal.type("/sessions")
    terminal.expect("Write a note.")
    terminal.type("/resume 1")
    terminal.expect(f"[{world.vendor.name}/{world.vendor.other_model} in")
    terminal.type("Do you remember?")
    assert "I remember." in terminal.expect("[success, $")
    terminal.type("/quit")
    ended = terminal.child.end()
    assert (ended.code, ended.stderr) == (0, b"")
    assert "Write a note." in str(world.requests()[-1].said)
    assert (world.cwd / "note.txt").read_text("utf-8") == "tea\n"


@pytest.mark.parametrize("name", ["host.py", "host.mjs"])
def test_the_hosts_stay_short(name: str) -> None:
    assert len((EXAMPLES / name).read_text("utf-8").splitlines()) < MAX_LINES
