"""A host that was written from the page alone works on three vendors: `page_host.py`."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.helpers.host_world import program
from tests.helpers.scripted_model import call, hold, say

if TYPE_CHECKING:
    from tests.helpers.host_world import HostWorld

HOST = Path(__file__).with_name("page_host.py")


def test_it_imports_nothing_of_the_program() -> None:
    modules = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(HOST.read_text("utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([each.name for each in node.names] if isinstance(node, ast.Import) else [node.module or ""])
    }
    assert modules <= sys.stdlib_module_names


def test_the_page_is_enough_for_a_host(world: HostWorld) -> None:
    (world.cwd / "a.txt").write_text("old\n")
    world.serve(
        [say("I will look."), call("Read", file_path="a.txt")],
        [call("Edit", file_path="a.txt", old_string="old", new_string="hello")],
        [say("Written.")],
        [say("Once upon a time"), hold()],
        [say("The other model.")],
        [say("Still here.")],
    )
    done = subprocess.run(
        [sys.executable, str(HOST), program()],
        cwd=world.cwd,
        env=world.env,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    seen = json.loads(done.stdout)
    first, second = seen["first"], seen["second"]
    assert (world.cwd / "a.txt").read_text() == "hello\n"
    assert first["protocol"] == "flat/1"
    assert (first["listed"], first["tools"], first["joined"], first["title"]) == (True, True, True, "A visit")
    assert [(card["name"], card["state"]) for card in first["cards"]] == [("Read", "done"), ("Edit", "done")]
    assert first["results"] == [["success", "Written."], ["cancelled", ""], ["success", "The other model."]]
    assert first["costs"] == sorted(first["costs"])
    assert first["sessions"] == [[first["session"], "A visit", True]]
    assert [note.partition(":")[0] for note in first["notes"]] == ["bad_input", "unsupported"]
    assert first["code"] == 0
    requests = world.requests()
    assert "Then say so in one word." in requests[2].said[-1]
    assert requests[4].model == first["other"]
    assert (second["resumed"], second["last"], second["code"]) == (True, "Still here.", 0)
    assert len(second["calls"]) == 2
    assert second["calls"] == second["results"]
    assert [hunk["lines"] for hunks in second["patches"] for hunk in hunks] == [["-old", "+hello"]]
    assert second["prompts"][0] == "Change a.txt."
    assert "Then say so in one word." in second["prompts"]
    assert second["cost"] >= first["costs"][-1]
    assert second["left"] == [first["session"]]
