"""`yume-shim acp` with clients from npm: the official TypeScript library (its story is in `ts/acp.mjs`), and acpx."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.helpers.client_packages import from_npm, node
from tests.helpers.host_world import program
from tests.helpers.scripted_model import call, hold, say
from tests.hosts.test_ts_sdk import DEADLINE, tell

if TYPE_CHECKING:
    from tests.helpers.host_world import HostWorld

PACKAGE = "@agentclientprotocol/sdk@2.4.0"
ACPX = "acpx@0.19.1"
pytestmark = pytest.mark.node


def test_a_session(world: HostWorld) -> None:
    world.serve(
        [say("A note."), call("Write", file_path="note.txt", content="tea\n")],
        [say("Done.")],
        [say("One, two"), hold()],
    )
    assert tell("acp", world, from_npm(PACKAGE)) == {
        "version": 1,
        "model": f"{world.vendor.name}/{world.vendor.model}",
        "turn": {"stop": "end_turn", "text": "A note.Done.", "calls": ["edit"], "statuses": ["completed"]},
        "asked": [["allow_once", "allow_always", "allow_always", "reject_once", "reject_always"]],
        "stopped": "cancelled",
        "loaded": "Write a note.Count.",
        "refused": -32601,
        "code": 0,
    }
    assert (world.cwd / "note.txt").read_text("utf-8") == "tea\n"


def test_acpx(any_world: HostWorld) -> None:
    """A client of others for the command line: files go through it, and it approves the write."""
    world = any_world
    (world.cwd / "tea.txt").write_text("sencha\n", "utf-8")
    world.serve(
        [say("Let me look."), call("Read", file_path="tea.txt")],
        [call("Write", file_path="note.txt", content="70 degrees\n")],
        [say("Noted.")],
    )
    acpx = from_npm(ACPX) / "node_modules" / "acpx" / "dist" / "cli.js"
    words = ["--agent", f"{program()} acp", "--approve-all", "--timeout", "60", "exec", "Look at the tea."]
    done = subprocess.run(
        [node(), str(acpx), *words],
        cwd=world.cwd,
        env=world.env,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=DEADLINE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    parts = ["Let me look.", "Read tea.txt (completed)", "fs/write_text_file", "Write note.txt (completed)", "Noted."]
    places = [done.stdout.find(part) for part in (*parts, "[done] end_turn")]
    assert places == sorted(places)
    assert places[0] >= 0
    assert (world.cwd / "note.txt").read_text("utf-8") == "70 degrees\n"
