"""`yume-shim acp` with the official TypeScript client of the protocol. The story is in `ts/acp.mjs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.helpers.client_packages import from_npm
from tests.helpers.scripted_model import call, hold, say
from tests.hosts.test_ts_sdk import tell

if TYPE_CHECKING:
    from tests.helpers.host_world import HostWorld

PACKAGE = "@agentclientprotocol/sdk@2.4.0"
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
        "asked": [["allow_once", "allow_always", "reject_once", "reject_always"]],
        "stopped": "cancelled",
        "loaded": "Write a note.Count.",
        "refused": -32601,
        "code": 0,
    }
    assert (world.cwd / "note.txt").read_text("utf-8") == "tea\n"
