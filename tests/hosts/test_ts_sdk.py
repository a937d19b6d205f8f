"""The real Agent SDK for TypeScript with our program as its executable. The stories are in `ts/*.mjs`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.client_packages import from_npm, node
from tests.helpers.host_world import program
from tests.helpers.scripted_model import call, hold, pause, say

if TYPE_CHECKING:
    from tests.helpers.host_world import HostWorld

STORIES = Path(__file__).parent / "ts"
PACKAGE = "@anthropic-ai/claude-agent-sdk@0.3.325"
DEADLINE = 60
pytestmark = pytest.mark.node
INTERRUPT_PROMISE_MS = 100


@pytest.fixture(scope="session")
def modules() -> Path:
    """Where the SDK is installed."""
    return from_npm(PACKAGE)


def tell(story: str, world: HostWorld, modules: Path) -> Any:
    """Run a story in Node; returns what it printed."""
    env = {**world.env, "HOST_MODULES": str(modules), "HOST_PROGRAM": program(), "HOST_CWD": str(world.cwd)}
    done = subprocess.run(
        [node(), str(STORIES / f"{story}.mjs")],
        env=env,
        cwd=world.cwd,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=DEADLINE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    seen = json.loads(done.stdout)
    assert seen.pop("stderr") == ""
    return seen


def test_a_query(world: HostWorld, modules: Path) -> None:
    (world.cwd / "kettle.txt").write_text("sencha at 70 degrees\n", "utf-8")
    world.serve([say("Let me look."), call("Read", file_path="kettle.txt")], [say("Sencha, at 70 degrees.")])
    seen = tell("query", world, modules)
    assert seen["kinds"] == ["system", "assistant", "assistant", "user", "assistant", "result"]
    assert seen["texts"] == ["Let me look.", "Sencha, at 70 degrees."]
    assert seen["calls"] == [{"name": "Read", "input": {"file_path": "kettle.txt"}}]
    assert seen["results"] == [False]
    assert (seen["init"]["subtype"], seen["init"]["model"]) == ("init", world.vendor.model)
    assert (seen["result"]["subtype"], seen["result"]["result"]) == ("success", "Sencha, at 70 degrees.")
    assert "sencha at 70 degrees" in world.requests()[1].results[0]


def test_several_turns(world: HostWorld, modules: Path) -> None:
    world.serve([say("One.")], [say("Two.")], [say("Three.")])
    seen = tell("turns", world, modules)
    assert seen == {"texts": [["One."], ["Two."], ["Three."]], "sessions": 1, "rest": []}
    asked = [text for text in world.requests()[2].said if text in ("first", "second", "third")]
    assert asked == ["first", "second", "third"]


def test_model_and_mode_change_between_turns(world: HostWorld, modules: Path) -> None:
    written = [call("Write", file_path=f"{name}.txt", content=name) for name in ("a", "b")]
    world.serve([written[0]], [say("No.")], [written[1]], [say("Yes.")])
    seen = tell("changes", world, modules)
    assert seen["errors"] == [[True], [False]]
    assert seen["inits"] == [
        {"model": world.vendor.model, "permissionMode": "default"},
        {"model": world.vendor.other_model, "permissionMode": "acceptEdits"},
    ]
    assert "bypassPermissions" in seen["refused"]
    first, last = world.vendor.model, world.vendor.other_model
    assert [request.model for request in world.requests()] == [first, first, last, last]
    assert [path.name for path in world.cwd.iterdir()] == ["b.txt"]


def test_the_host_decides(world: HostWorld, modules: Path) -> None:
    names = ("a.txt", "b.txt", "c.txt")
    world.serve([call("Write", file_path=name, content=name) for name in names], [say("Well.")])
    seen = tell("permission", world, modules)
    given = [{"file_path": name, "content": name} for name in names]
    paths = [str(world.cwd / name) for name in names]
    assert seen["asked"] == [
        {"name": "Write", "given": {**one, "file_path": path}, "id": "string"}
        for one, path in zip(given, paths, strict=True)
    ]
    assert [result["error"] for result in seen["results"]] == [False, False, True]
    assert seen["results"][2]["text"] == "not today"
    assert [denied["tool_input"] for denied in seen["result"]["permission_denials"]] == [
        {**given[2], "file_path": paths[2]}
    ]
    assert sorted(path.name for path in world.cwd.iterdir()) == ["a.txt", "changed.txt"]


def test_an_interrupt(world: HostWorld, modules: Path) -> None:
    world.serve([say("One, two, three"), hold()], [say("You are welcome.")])
    seen = tell("interrupt", world, modules)
    assert seen["milliseconds"] < 10 * INTERRUPT_PROMISE_MS
    assert (seen["stopped"]["subtype"], seen["stopped"]["is_error"]) == ("error_during_execution", True)
    assert seen["after"] == ["You are welcome."]


def test_partial_messages(world: HostWorld, modules: Path) -> None:
    world.serve([say("A rather long answer in pieces.", pieces=6), pause(50)])
    seen = tell("partial", world, modules)
    assert seen["kinds"][:2] == ["message_start", "content_block_start"]
    assert seen["kinds"][-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert ["".join(seen["pieces"])] == seen["texts"] == ["A rather long answer in pieces."]


def test_what_initialize_reports(world: HostWorld, modules: Path) -> None:
    world.serve()
    seen = tell("about", world, modules)
    named = {model["value"]: model for model in seen["models"]}
    assert named["sonnet"]["resolvedModel"].endswith(world.vendor.model)
    assert seen["account"]["apiProvider"]
    assert (seen["servers"], type(seen["commands"]), type(seen["agents"])) == ([], list, list)
    assert "extra" not in seen
    assert world.requests() == []


def test_structured_output(world: HostWorld, modules: Path) -> None:
    world.serve([call("StructuredOutput", city="Kyoto", degrees=31)])
    result = tell("structured", world, modules)["result"]
    assert (result["subtype"], result["structured_output"]) == ("success", {"city": "Kyoto", "degrees": 31})


def test_system_prompts(world: HostWorld, modules: Path) -> None:
    world.serve(*[[say("Yes.")]] * 3)
    assert tell("system", world, modules) == {"results": ["Yes.", "Yes.", "Yes."]}
    own, appended, none = (request.system for request in world.requests())
    assert own == "Speak like a pirate."
    assert appended.endswith("Mention tea.")
    assert len(appended) > 200
    assert none == ""


def test_an_abort(any_world: HostWorld, modules: Path) -> None:
    any_world.serve([say("It begins"), hold()])
    assert "abort" in tell("abort", any_world, modules)["error"]


def test_tools_of_the_host(world: HostWorld, modules: Path) -> None:
    world.serve([call("mcp__sums__add", a=19, b=23)], [say("42")])
    seen = tell("server", world, modules)
    assert "The sum is 42" in json.dumps(seen["results"])
    assert seen["result"]["result"] == "42"


def test_hooks(world: HostWorld, modules: Path) -> None:
    world.serve([call("Bash", command="touch made.txt")], [say("Blocked.")])
    seen = tell("hooks", world, modules)
    assert seen["seen"] == [["PreToolUse", "Bash"]]
    assert seen["results"][0][0] is True
    assert "no touching" in str(seen["results"][0][1])
    assert not (world.cwd / "made.txt").exists()


def test_an_agent_of_the_options(world: HostWorld, modules: Path) -> None:
    (world.cwd / "kettle.txt").write_text("sencha\n", "utf-8")
    given = {"description": "look", "prompt": "Look.", "subagent_type": "scout", "run_in_background": False}
    world.serve(
        [call("Agent", **given)],
        [say("I look."), call("Read", file_path="kettle.txt")],
        [say("Sencha.")],
        [say("The scout found sencha.")],
    )
    seen = tell("agents", world, modules)
    names = ["Explore", "general-purpose", "Plan", "scout"]
    assert (seen["known"], seen["init"]) == (names, names)
    assert seen["tasks"] == ["task_started", "task_progress", "task_updated", "task_notification"]
    assert seen["texts"] == ["I look.", "Sencha.", "The scout found sencha."]
    assert (seen["calls"], seen["parents"]) == (["Agent", "Read"], 5)
    assert [row["agent_type"] for row in seen["result"]["agentUsage"]] == ["scout"]
