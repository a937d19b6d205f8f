"""Command lines and first messages of clients that cannot be installed here, taken from their sources."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.host_world import program
from tests.helpers.scripted_model import call, say
from yume_shim.text import codec

if TYPE_CHECKING:
    from tests.helpers.host_world import HostWorld

STREAMS = ["--verbose", "--output-format=stream-json", "--input-format=stream-json"]


def start(world: HostWorld, argv: list[str]) -> child.Child:
    return child.start(argv, cwd=world.cwd, env={**world.env, "IS_SANDBOX": "1"}, program=[program()])


def control(request_id: str, **request: Any) -> dict[str, Any]:
    return {"type": "control_request", "request_id": request_id, "request": request}


def test_vibe_kanban_asks_three_things_without_waiting(world: HostWorld) -> None:
    world.serve([call("Write", file_path="a.txt", content="a")], [say("Written.")])
    asking = ["--permission-prompt-tool=stdio", "--permission-mode=bypassPermissions"]
    more = ["--include-partial-messages", "--replay-user-messages"]
    running = start(world, ["-p", *asking, "--model", "sonnet", *STREAMS, *more])
    try:
        hook = {"matcher": "^(?!(Glob|Grep|Read)$).*", "hookCallbackIds": ["ask"]}
        running.send(control("r1", subtype="initialize", hooks={"PreToolUse": [hook]}))
        running.send(control("r2", subtype="set_permission_mode", mode="default"))
        running.send({"type": "user", "message": {"role": "user", "content": "Write a"}})
        asked = running.wait_for("hook_callback", "can_use_tool")
        assert asked["request"]["subtype"] == "hook_callback"
        decision = {"hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": "first"}
        body: dict[str, Any] = {"hookSpecificOutput": decision}
        running.send(answer(asked["request_id"], body))
        asked = running.wait_for("can_use_tool")
        request = asked["request"]
        assert (request["tool_name"], request["input"]["file_path"]) == ("Write", str(world.cwd / "a.txt"))
        assert isinstance(asked["request"]["tool_use_id"], str)
        running.send(answer(asked["request_id"], {"behavior": "allow", "updatedInput": asked["request"]["input"]}))
        running.wait_for("result")
        done = running.end()
    finally:
        running.kill()
    answered = [line["response"]["request_id"] for line in done.lines if line["type"] == "control_response"]
    asked_by_us = [line["request_id"] for line in done.lines if line["type"] == "control_request"]
    assert answered == ["r1", "r2", *asked_by_us]  # the host's own answers are echoed
    assert [line["message"]["content"] for line in done.lines if line.get("isReplay")] == ["Write a"]
    assert (world.cwd / "a.txt").read_text("utf-8") == "a"
    assert (done.stderr, done.code) == (b"", 0)


def answer(request_id: str, body: dict[str, Any]) -> dict[str, Any]:
    inner = {"subtype": "success", "request_id": request_id, "response": body}
    return {"type": "control_response", "response": inner}


def test_vibe_kanban_looks_for_commands(world: HostWorld) -> None:
    """It reads the first line only, and then ends the process."""
    world.serve([say("Nothing.")])
    running = start(world, ["-p", "--verbose", "--output-format=stream-json", "--max-turns", "1", "--", "/"])
    try:
        running.close_input()
        init = running.wait_for("init")
        running.end()
    finally:
        running.kill()
    for key, kind in (("slash_commands", list), ("agents", list), ("plugins", list), ("session_id", str)):
        assert isinstance(init[key], kind)


def test_opcode_leaves_stdin_open(any_world: HostWorld) -> None:
    world = any_world
    world.serve([call("Bash", command="touch made.txt")], [say("Made.")])
    form = ["--model", "sonnet", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"]
    running = start(world, ["-p", "Make a file", *form])
    try:
        init = running.wait_for("init")
        result = running.wait_for("result")
        running.process.wait(child.DEADLINE)
        done = running.end()
    finally:
        running.kill()
    assert init["session_id"] == result["session_id"]
    assert (result["is_error"], done.code) == (False, 0)
    assert {"total_cost_usd", "duration_ms", "num_turns", "usage"} <= set(result)
    assert (world.cwd / "made.txt").exists()


def test_opcode_goes_on_with_a_session(world: HostWorld) -> None:
    world.serve([say("One.")], [say("Two.")])
    form = ["--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"]
    ends = []
    for argv in (["-p", "first", *form], ["-c", "-p", "second", *form]):
        running = start(world, argv)
        try:
            running.close_input()
            ends.append(running.wait_for("result"))
            running.end()
        finally:
            running.kill()
    assert ends[0]["session_id"] == ends[1]["session_id"]
    assert {"first", "second"} <= set(world.requests()[1].said)


def test_goose_keeps_one_process(world: HostWorld) -> None:
    world.serve([say("One.")], [say("Two.")])
    form = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
    form += ["--permission-prompt-tool", "stdio", "--include-partial-messages", "--system-prompt", "You are goose."]
    running = start(world, [*form, "--model", "sonnet"])
    try:
        for text in ("first", "second"):
            content = [{"type": "text", "text": text}]
            running.send({"type": "user", "session_id": "g1", "message": {"role": "user", "content": content}})
            running.wait_for("result")
        running.send(control("r1", subtype="set_model", model="haiku"))
        running.wait_for("control_response")
        done = running.end()
    finally:
        running.kill()
    events = [line["event"] for line in done.lines if line["type"] == "stream_event"]
    pieces = [event["delta"]["text"] for event in events if event["type"] == "content_block_delta"]
    assert "".join(pieces) == "One.Two."
    assert world.requests()[0].system == "You are goose."
    assert (done.stderr, done.code) == (b"", 0)


def test_t3code_only_says_hello(world: HostWorld) -> None:
    """A probe: it reads the answer to initialize and ends the process; the model is not asked."""
    world.serve()
    running = start(world, ["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"])
    try:
        running.send(control("r1", subtype="initialize"))
        body = running.wait_for("control_response")["response"]["response"]
        done = running.end()
    finally:
        running.kill()
    assert isinstance(body["account"], dict)
    assert isinstance(body["commands"], list)
    assert (world.requests(), done.stderr, done.code) == ([], b"", 0)


@pytest.mark.parametrize("words", [["auth", "status"], ["auth", "status", "--json"], ["mcp", "list"]], ids=" ".join)
def test_subcommands_of_desktop_programs_ask_no_model(words: list[str], any_world: HostWorld) -> None:
    """`claude auth status` and `claude mcp list` are questions about the set-up, never prompts that cost money."""
    any_world.serve([say("This is expensive.")])
    running = start(any_world, words)
    try:
        running.close_input()
        done = running.end()
    finally:
        running.kill()
    assert any_world.requests() == []
    if "--json" in words:
        seen = codec.loads(done.stdout)
        assert (seen["loggedIn"], seen["apiProvider"]) == (True, any_world.vendor.name)
        assert done.code == 0


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX terminal")
def test_crystal_runs_us_in_a_terminal(world: HostWorld) -> None:
    """stdin is a terminal that never ends; stdout is the same terminal."""
    world.serve([say("Hello.")])
    form = ["--verbose", "--output-format", "stream-json", "--dangerously-skip-permissions", "-p", "Hi"]
    ours, theirs = os.openpty()
    shown = b""
    with subprocess.Popen(
        [program(), *form],
        cwd=world.cwd,
        env={**world.env, "IS_SANDBOX": "1"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # Linux: EIO when the last writer is gone
                break
            if not piece:
                break
            shown += piece
        assert process.wait(child.DEADLINE) == 0
    os.close(ours)
    lines = [codec.loads(line) for line in shown.replace(b"\r\n", b"\n").splitlines()]
    assert [line["type"] for line in lines] == ["system", "assistant", "result"]
