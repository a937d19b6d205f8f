"""The real Agent SDK for Python: its helpers read our transcripts, and sessions are resumed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeSDKError,
    fork_session,
    get_session_info,
    get_session_messages,
    list_sessions,
    rename_session,
)

from tests.helpers.scripted_model import call, say
from tests.helpers.sdk_host import SdkHost, calls, init_of, result_of, run, texts, turn

if TYPE_CHECKING:
    from tests.helpers.host_world import HostWorld


@pytest.fixture(autouse=True)
def _same_config_dir(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK's session helpers read the disk themselves: they must look where the program writes."""
    world: HostWorld = request.getfixturevalue("world")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", world.env["CLAUDE_CONFIG_DIR"])


def test_the_helpers_read_the_transcript(world: HostWorld) -> None:
    (world.cwd / "a.txt").write_text("alpha\n", "utf-8")
    world.serve([say("Looking."), call("Read", file_path="a.txt")], [say("It says alpha.")])
    got = SdkHost(world).ask("What does a.txt say?")
    session = result_of(got).session_id
    (listed,) = list_sessions(directory=str(world.cwd))
    assert (listed.session_id, listed.first_prompt, listed.cwd) == (session, "What does a.txt say?", str(world.cwd))
    info = get_session_info(session, directory=str(world.cwd))
    assert info is not None
    assert info.summary == listed.summary
    kept = get_session_messages(session, directory=str(world.cwd))
    assert [message.type for message in kept] == ["user", "assistant", "assistant", "user", "assistant"]
    printed = [message.uuid for message in got if isinstance(message, AssistantMessage)]
    assert [message.uuid for message in kept if message.type == "assistant"] == printed


def test_a_session_is_resumed(world: HostWorld) -> None:
    world.serve([say("Nice to meet you, Ann.")], [say("Ann.")])
    host = SdkHost(world)
    first = result_of(host.ask("I am Ann"))
    got = host.ask("Who am I?", resume=first.session_id)
    assert (init_of(got)["session_id"], texts(got)) == (first.session_id, ["Ann."])
    assert [text for text in world.requests()[1].said if text in ("I am Ann", "Who am I?")] == [
        "I am Ann",
        "Who am I?",
    ]
    kept = get_session_messages(first.session_id, directory=str(world.cwd))
    assert [message.type for message in kept] == ["user", "assistant", "user", "assistant"]
    assert host.stderr == []


def test_the_newest_session_is_continued(world: HostWorld) -> None:
    world.serve([say("One.")], [say("Two.")], [say("Three.")])
    host = SdkHost(world)
    host.ask("first")
    newest = result_of(host.ask("second")).session_id
    got = host.ask("third", continue_conversation=True)
    assert result_of(got).session_id == newest
    said = world.requests()[2].said
    assert [text for text in said if text in ("first", "second", "third")] == ["second", "third"]


def test_a_fork_leaves_the_old_session_alone(world: HostWorld) -> None:
    world.serve([say("One.")], [say("Two.")])
    host = SdkHost(world)
    first = result_of(host.ask("first")).session_id
    before = get_session_messages(first, directory=str(world.cwd))
    forked = result_of(host.ask("second", resume=first, fork_session=True)).session_id
    assert forked != first
    assert get_session_messages(first, directory=str(world.cwd)) == before
    assert len(get_session_messages(forked, directory=str(world.cwd))) == 4
    assert "first" in world.requests()[1].said


def test_a_session_that_the_helpers_touched_is_resumed(world: HostWorld) -> None:
    world.serve([call("Glob", pattern="*")], [say("Empty.")], [say("Still empty.")])
    host = SdkHost(world)
    first = host.ask("What is here?")
    rename_session(result_of(first).session_id, "An empty room", directory=str(world.cwd))
    copy = fork_session(result_of(first).session_id, directory=str(world.cwd)).session_id
    got = host.ask("And now?", resume=copy)
    assert (result_of(got).session_id, texts(got)) == (copy, ["Still empty."])
    assert len(calls(first)) == len(world.requests()[2].results) == 1
    info = get_session_info(result_of(first).session_id, directory=str(world.cwd))
    assert info is not None
    assert info.custom_title == "An empty room"


def test_an_unknown_session_is_reported(world: HostWorld) -> None:
    world.serve([say("Never asked.")])
    host = SdkHost(world)
    missing = "00000000-0000-4000-8000-000000000000"

    async def story() -> None:
        async with host.client(resume=missing) as client:
            await turn(client, "Hello")

    with pytest.raises(ClaudeSDKError, match="No conversation found with session ID"):
        run(story())
    assert world.requests() == []


def test_a_session_gets_the_id_that_the_host_chose(world: HostWorld) -> None:
    world.serve([say("Hello.")])
    chosen = "11111111-2222-4333-8444-555555555555"
    got = SdkHost(world).ask("Hi", session_id=chosen)
    assert (init_of(got)["session_id"], result_of(got).session_id) == (chosen, chosen)
    assert [entry.session_id for entry in list_sessions(directory=str(world.cwd))] == [chosen]
