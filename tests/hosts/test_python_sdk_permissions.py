"""The real Agent SDK for Python: permissions and interrupts."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest
from claude_agent_sdk import (
    AssistantMessage,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
    ResultMessage,
    StreamEvent,
    ToolUseBlock,
    create_sdk_mcp_server,
    tool,
)

from tests.helpers.scripted_model import call, hold, say
from tests.helpers.sdk_host import SdkHost, calls, lines, result_of, results, run, texts, turn
from tests.helpers.timing import SOON

if TYPE_CHECKING:
    from claude_agent_sdk import ClaudeSDKClient, Message, ToolPermissionContext

    from tests.helpers.host_world import HostWorld


class Decider:
    """A permission callback that gives the same answer to every question, and remembers the questions."""

    def __init__(self, answer: PermissionResultAllow | PermissionResultDeny) -> None:
        self._answer = answer
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.ids: list[str | None] = []

    async def __call__(
        self, name: str, given: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResultAllow | PermissionResultDeny:
        self.asked.append((name, given))
        self.ids.append(context.tool_use_id)
        return self._answer


def write_once(world: HostWorld) -> None:
    world.serve([call("Write", file_path="hello.txt", content="hello\n")], [say("Well.")], [say("Next.")])


def test_a_call_is_allowed(world: HostWorld) -> None:
    write_once(world)
    host, decider = SdkHost(world), Decider(PermissionResultAllow())

    async def story() -> None:
        async with host.client(can_use_tool=decider) as client:
            got = await turn(client, "Write hello")
        assert decider.asked == [("Write", {"file_path": str(world.cwd / "hello.txt"), "content": "hello\n"})]
        assert decider.ids == [calls(got)[0].id]
        assert [back.is_error or False for back in results(got)] == [False]
        end = result_of(got)
        assert (end.is_error, end.permission_denials or []) == (False, [])

    run(story())
    assert (world.cwd / "hello.txt").read_text("utf-8") == "hello\n"
    assert host.stderr == []


def test_a_call_is_denied(world: HostWorld) -> None:
    write_once(world)
    host, decider = SdkHost(world), Decider(PermissionResultDeny(message="not today"))

    async def story() -> None:
        async with host.client(can_use_tool=decider) as client:
            got = await turn(client, "Write hello")
        (used,) = calls(got)
        assert [(back.content, back.is_error) for back in results(got)] == [("not today", True)]
        end = result_of(got)
        given = {**used.input, "file_path": str(world.cwd / "hello.txt")}
        denied = {"tool_name": "Write", "tool_use_id": used.id, "tool_input": given}
        assert (end.is_error, end.permission_denials, end.result) == (False, [denied], "Well.")

    run(story())
    assert not (world.cwd / "hello.txt").exists()
    assert "not today" in world.requests()[1].results[0]


def test_a_call_runs_with_the_input_that_the_host_changed(world: HostWorld) -> None:
    write_once(world)
    changed = {"file_path": "other.txt", "content": "changed\n"}
    host, decider = SdkHost(world), Decider(PermissionResultAllow(updated_input=changed))

    async def story() -> None:
        async with host.client(can_use_tool=decider) as client:
            got = await turn(client, "Write hello")
        assert result_of(got).is_error is False

    run(story())
    assert (world.cwd / "other.txt").read_text("utf-8") == "changed\n"
    assert not (world.cwd / "hello.txt").exists()


def test_a_denial_can_stop_the_turn(world: HostWorld) -> None:
    world.serve([call("Write", file_path="hello.txt", content="hello\n")], [say("Next.")])
    host, decider = SdkHost(world), Decider(PermissionResultDeny(message="stop it", interrupt=True))

    async def story() -> None:
        async with host.client(can_use_tool=decider) as client:
            end = result_of(await turn(client, "Write hello"))
            assert (end.subtype, end.is_error) == ("error_during_execution", True)
            assert end.terminal_reason == "aborted_tools"
            after = await turn(client, "And now?")
            assert texts(after) == ["Next."]

    run(story())
    assert not (world.cwd / "hello.txt").exists()


def test_a_remembered_permission_is_not_asked_for_again(world: HostWorld) -> None:
    written = [call("Write", file_path=f"{name}.txt", content=name) for name in ("a", "b")]
    world.serve([written[0]], [written[1]], [say("Both.")])
    update = PermissionUpdate(type="setMode", mode="acceptEdits", destination="session")
    host, decider = SdkHost(world), Decider(PermissionResultAllow(updated_permissions=[update]))

    async def story() -> None:
        async with host.client(can_use_tool=decider) as client:
            assert result_of(await turn(client, "Write both")).is_error is False

    run(story())
    assert [given["file_path"] for _, given in decider.asked] == [str(world.cwd / "a.txt")]
    assert (world.cwd / "b.txt").read_text("utf-8") == "b"


def test_a_query_may_decide_too(world: HostWorld) -> None:
    """Without a client: the prompt is a stream, which the SDK holds open until the result."""
    write_once(world)
    host, decider = SdkHost(world), Decider(PermissionResultAllow())
    prompt = lines({"type": "user", "message": {"role": "user", "content": "Write hello"}})
    got = host.ask(prompt, can_use_tool=decider)
    assert (result_of(got).result, [name for name, _ in decider.asked]) == ("Well.", ["Write"])
    assert (world.cwd / "hello.txt").exists()


def test_a_callback_that_fails_does_not_end_the_turn(world: HostWorld) -> None:
    write_once(world)
    host = SdkHost(world)

    async def broken(name: str, given: dict[str, Any], context: ToolPermissionContext) -> PermissionResultAllow:
        raise RuntimeError("the host is confused")

    async def story() -> None:
        async with host.client(can_use_tool=broken) as client:
            got = await turn(client, "Write hello")
        assert [back.is_error for back in results(got)] == [True]
        assert "the host is confused" in str(results(got)[0].content)
        assert result_of(got).result == "Well."

    run(story())
    assert not (world.cwd / "hello.txt").exists()


# ---------------------------------------------------------------- interrupts


async def stopped(client: ClaudeSDKClient) -> tuple[list[Message], float]:
    """Interrupt; the rest of the turn, and how long it took."""
    begun = time.monotonic()
    await client.interrupt()
    rest = [message async for message in client.receive_response()]
    return rest, time.monotonic() - begun


def check_stopped(rest: list[Message], seconds: float, where: str) -> None:
    end = result_of(rest)
    assert (end.subtype, end.is_error, end.terminal_reason) == ("error_during_execution", True, where)
    assert seconds < SOON


def test_an_interrupt_in_the_text(world: HostWorld) -> None:
    world.serve([say("One, two, three"), hold()], [say("You are welcome.")])
    host = SdkHost(world)

    async def story() -> None:
        async with host.client(include_partial_messages=True) as client:
            await client.query("Count to a thousand")
            async for message in client.receive_messages():
                if isinstance(message, StreamEvent) and message.event["type"] == "content_block_delta":
                    break
            rest, seconds = await stopped(client)
            check_stopped(rest, seconds, "aborted_streaming")
            assert texts(await turn(client, "Enough. Thanks?")) == ["You are welcome."]

    run(story())
    assert "Enough. Thanks?" in world.requests()[1].said
    assert host.stderr == []


def test_an_interrupt_in_a_tool(world: HostWorld) -> None:
    world.serve([call("Bash", command="touch begun.txt && sleep 60")], [say("Fine.")])
    host = SdkHost(world)

    async def story() -> None:
        async with host.client(allowed_tools=["Bash"]) as client:
            await client.query("Wait")
            async for message in client.receive_messages():
                if isinstance(message, AssistantMessage) and isinstance(message.content[0], ToolUseBlock):
                    break
            while not (world.cwd / "begun.txt").exists():
                await asyncio.sleep(0.02)
            rest, seconds = await stopped(client)
            check_stopped(rest, seconds, "aborted_tools")
            assert [back.is_error for back in results(rest)] == [True]
            assert texts(await turn(client, "Well?")) == ["Fine."]

    run(story())


def test_an_interrupt_while_the_host_is_asked(world: HostWorld) -> None:
    write_once(world)
    host = SdkHost(world)
    asked = asyncio.Event()
    withdrawn: list[bool] = []

    async def slow(name: str, given: dict[str, Any], context: ToolPermissionContext) -> PermissionResultAllow:
        asked.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            withdrawn.append(True)
            raise
        return PermissionResultAllow()

    async def story() -> None:
        async with host.client(can_use_tool=slow) as client:
            await client.query("Write hello")
            await asked.wait()
            rest, seconds = await stopped(client)
            check_stopped(rest, seconds, "aborted_tools")
            assert withdrawn == [True]
            assert texts(await turn(client, "Well?")) == ["Well."]

    run(story())
    assert not (world.cwd / "hello.txt").exists()


def test_an_interrupt_between_turns_has_no_effect(world: HostWorld) -> None:
    world.serve([say("One.")], [say("Two.")])
    host = SdkHost(world)

    async def story() -> None:
        async with host.client() as client:
            await turn(client, "first")
            await client.interrupt()
            assert texts(await turn(client, "second")) == ["Two."]

    run(story())


# ---------------------------------------------------------------- modes


def test_the_mode_changes_between_turns(world: HostWorld) -> None:
    written = [call("Write", file_path=f"{name}.txt", content=name) for name in ("a", "b")]
    world.serve([written[0]], [say("No.")], [written[1]], [say("Yes.")])
    host = SdkHost(world)

    async def story() -> None:
        async with host.client() as client:
            assert [back.is_error for back in results(await turn(client, "Write a"))] == [True]
            await client.set_permission_mode("acceptEdits")
            got = await turn(client, "Write b")
            assert [back.is_error or False for back in results(got)] == [False]

    run(story())
    assert sorted(path.name for path in world.cwd.iterdir()) == ["b.txt"]


def test_skipping_permissions_must_be_allowed_at_the_start(any_world: HostWorld) -> None:
    any_world.serve()
    host = SdkHost(any_world)

    async def story() -> None:
        async with host.client() as client:
            with pytest.raises(Exception, match="bypassPermissions"):
                await client.set_permission_mode("bypassPermissions")

    run(story())


# ---------------------------------------------------------------- hooks and tools of the host


def test_hooks_may_block_a_call(world: HostWorld) -> None:
    world.serve([call("Bash", command="touch made.txt")], [say("Blocked.")])
    host = SdkHost(world)
    seen: list[dict[str, Any]] = []

    async def guard(given: Any, tool_use_id: str | None, context: Any) -> Any:
        seen.append(given)
        decision = {"hookEventName": "PreToolUse", "permissionDecision": "deny"}
        return {"hookSpecificOutput": {**decision, "permissionDecisionReason": "no touching"}}

    async def story() -> None:
        hooks: Any = {"PreToolUse": [HookMatcher(matcher="Bash", hooks=[guard])]}
        async with host.client(hooks=hooks, allowed_tools=["Bash"]) as client:
            got = await turn(client, "Make a file")
        assert [back.is_error for back in results(got)] == [True]
        assert "no touching" in str(results(got)[0].content)
        assert isinstance(got[-1], ResultMessage)

    run(story())
    assert [(given["hook_event_name"], given["tool_name"]) for given in seen] == [("PreToolUse", "Bash")]
    assert not (world.cwd / "made.txt").exists()


def test_hooks_may_change_a_call_and_see_its_result(world: HostWorld) -> None:
    world.serve([call("Bash", command="touch made.txt")], [say("Done.")])
    host = SdkHost(world)
    after: list[Any] = []

    async def change(given: Any, tool_use_id: str | None, context: Any) -> Any:
        output = {"hookEventName": "PreToolUse", "permissionDecision": "allow"}
        return {"hookSpecificOutput": {**output, "updatedInput": {"command": "touch changed.txt"}}}

    async def look(given: Any, tool_use_id: str | None, context: Any) -> Any:
        after.append((given["tool_name"], given["tool_input"]["command"]))
        return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "Mind the gap."}}

    async def story() -> None:
        hooks: Any = {"PreToolUse": [HookMatcher(hooks=[change])], "PostToolUse": [HookMatcher(hooks=[look])]}
        async with host.client(hooks=hooks) as client:
            assert result_of(await turn(client, "Make a file")).is_error is False

    run(story())
    assert after == [("Bash", "touch changed.txt")]
    assert [path.name for path in world.cwd.iterdir()] == ["changed.txt"]
    asked = world.requests()[1]
    assert "Mind the gap." in "\n".join([*asked.said, *asked.results])


def test_a_hook_adds_to_the_prompt(world: HostWorld) -> None:
    world.serve([say("Noted.")])
    host = SdkHost(world)

    async def remind(given: Any, tool_use_id: str | None, context: Any) -> Any:
        assert given["prompt"] == "Hello"
        return {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "It is Tuesday."}}

    async def story() -> None:
        hooks: Any = {"UserPromptSubmit": [HookMatcher(hooks=[remind])]}
        async with host.client(hooks=hooks) as client:
            assert result_of(await turn(client, "Hello")).result == "Noted."

    run(story())
    assert "It is Tuesday." in "\n".join(world.requests()[0].said)


def test_tools_of_the_host(world: HostWorld) -> None:
    world.serve([call("mcp__sums__add", a=19, b=23)], [say("42")])
    host = SdkHost(world)

    @tool("add", "Adds two numbers", {"a": int, "b": int})
    async def add(given: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": f"The sum is {given['a'] + given['b']}"}]}

    async def story() -> None:
        servers = {"sums": create_sdk_mcp_server("sums", tools=[add])}
        async with host.client(mcp_servers=servers, allowed_tools=["mcp__sums__add"]) as client:
            got = await turn(client, "19 + 23?")
        assert "The sum is 42" in str(results(got)[0].content)
        assert result_of(got).result == "42"

    run(story())
    assert "mcp__sums__add" in world.requests()[0].tools
    assert "The sum is 42" in world.requests()[1].results[0]
