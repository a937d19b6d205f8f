"""Agents through the real Agent SDK for Python: definitions of options, permissions, background, stored transcripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claude_agent_sdk import (
    AgentDefinition,
    AssistantMessage,
    PermissionResultAllow,
    TaskNotificationMessage,
    TaskStartedMessage,
    UserMessage,
    get_subagent_messages,
    list_subagents,
)

from tests.helpers.scripted_model import call, say
from tests.helpers.sdk_host import SdkHost, lines, result_of, results

if TYPE_CHECKING:
    import pytest
    from claude_agent_sdk import Message, ToolPermissionContext

    from tests.helpers.host_world import HostWorld

SCOUT = {"scout": AgentDefinition(description="Looks around", prompt="You are the scout.", tools=["Read", "Write"])}


def start(background: bool) -> Any:
    return call(
        "Agent", description="look", prompt="Look at the kettle.", subagent_type="scout", run_in_background=background
    )


def test_an_agent_works_in_the_foreground(world: HostWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its question reaches `can_use_tool` with its id; its transcript is where the SDK looks."""
    world.serve(
        [start(background=False)],
        [say("I write."), call("Write", file_path="made.txt", content="tea")],
        [say("It is written.")],
        [say("The scout wrote it.")],
    )
    asked: list[tuple[str, bool]] = []

    async def allow(tool: str, given: dict[str, Any], context: ToolPermissionContext) -> PermissionResultAllow:
        asked.append((tool, bool(context.agent_id)))
        return PermissionResultAllow()

    host = SdkHost(world)
    prompt = lines({"type": "user", "message": {"role": "user", "content": "Go."}})
    got = host.ask(prompt, agents=SCOUT, can_use_tool=allow)
    assert asked == [("Write", True)]
    assert (world.cwd / "made.txt").read_text() == "tea"
    assert result_of(got).result == "The scout wrote it."
    [started] = [message for message in got if isinstance(message, TaskStartedMessage)]
    [ended] = [message for message in got if isinstance(message, TaskNotificationMessage)]
    assert (started.task_id, ended.status, ended.summary) == (ended.task_id, "completed", "It is written.")
    assert parents(got) == {None, started.tool_use_id}
    assert "It is written." in str(results(got)[-1].content)
    assert "You are the scout." in world.requests()[1].system
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(world.home / ".claude"))
    session = result_of(got).session_id
    assert list_subagents(session, directory=str(world.cwd)) == [started.task_id]
    stored = get_subagent_messages(session, started.task_id, directory=str(world.cwd))
    assert [message.type for message in stored] == ["user", "assistant", "assistant", "user", "assistant"]
    assert {message.parent_tool_use_id for message in stored} == {started.tool_use_id}


def test_an_agent_works_in_the_background(world: HostWorld) -> None:
    """The report comes in a turn of its own. The order of the model's answers depends on who asks first, so both say
    the same."""
    world.serve([start(background=True)], [say("Tea.")], [say("Tea.")], [say("Tea.")])
    got = SdkHost(world).ask("Go.", agents=SCOUT)
    [started] = [message for message in got if isinstance(message, TaskStartedMessage)]
    [ended] = [message for message in got if isinstance(message, TaskNotificationMessage)]
    assert (ended.task_id, ended.status, ended.summary) == (started.task_id, "completed", "Tea.")
    assert len([message for message in got if type(message).__name__ == "ResultMessage"]) == 2
    assert "<task-notification>" in str(world.requests()[-1])


def parents(messages: list[Message]) -> set[str | None]:
    return {each.parent_tool_use_id for each in messages if isinstance(each, (AssistantMessage, UserMessage))}
