"""The Agent SDK keeps a session in a store, resumes it on another machine, and rewinds it to an earlier answer."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from claude_agent_sdk import (
    AssistantMessage,
    InMemorySessionStore,
    get_session_messages,
    get_session_messages_from_store,
    list_sessions,
    list_sessions_from_store,
    tag_session,
)

from tests.helpers.scripted_model import call, say
from tests.helpers.sdk_host import SdkHost, result_of, run, texts, turn

if TYPE_CHECKING:
    from claude_agent_sdk import Message

    from tests.helpers.host_world import HostWorld

WORDS = ("first", "second", "third")


@pytest.fixture(autouse=True)
def _same_config_dir(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK's session helpers read the disk themselves: they must look where the program writes."""
    name = "world" if "world" in request.fixturenames else "any_world"
    world: HostWorld = request.getfixturevalue(name)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", world.env["CLAUDE_CONFIG_DIR"])


def asked(world: HostWorld) -> list[list[str]]:
    """The prompts in each request."""
    return [[text for text in request.said if text in WORDS] for request in world.requests()]


def last_uuid(messages: list[Message]) -> str:
    return [str(message.uuid) for message in messages if isinstance(message, AssistantMessage)][-1]


def test_a_session_in_a_store_is_continued_on_another_machine(world: HostWorld) -> None:
    (world.cwd / "a.txt").write_text("alpha\n", "utf-8")
    world.serve([say("Looking."), call("Read", file_path="a.txt")], [say("It says alpha.")], [say("Alpha, again.")])
    store = InMemorySessionStore()
    host = SdkHost(world)
    session = result_of(host.ask("first", session_store=store)).session_id
    on_disk = get_session_messages(session, directory=str(world.cwd))

    async def kept() -> tuple[list[str], list[object]]:
        listed = await list_sessions_from_store(store, directory=str(world.cwd))
        messages = await get_session_messages_from_store(store, session, directory=str(world.cwd))
        return [entry.session_id for entry in listed], list(messages)

    assert run(kept()) == ([session], list(on_disk))
    shutil.rmtree(world.home / ".claude" / "projects")  # nothing of it is on the other machine
    got = host.ask("second", session_store=store, resume=session)
    assert (result_of(got).session_id, texts(got)) == (session, ["Alpha, again."])
    assert asked(world) == [["first"], ["first"], ["first", "second"]]
    assert "alpha" in world.requests()[2].results[0]
    assert host.stderr == []


def test_going_back_to_an_earlier_answer(any_world: HostWorld) -> None:
    world = any_world
    world.serve([say("One.")], [say("Two.")], [say("Three.")])
    host = SdkHost(world)
    first = host.ask("first")
    session = result_of(first).session_id
    host.ask("second", resume=session)
    got = host.ask("third", resume=session, resume_session_at=last_uuid(first), fork_session=True)
    assert asked(world)[2] == ["first", "third"]
    kept = get_session_messages(result_of(got).session_id, directory=str(world.cwd))
    assert [message.type for message in kept] == ["user", "assistant", "user", "assistant"]
    assert len(get_session_messages(session, directory=str(world.cwd))) == 4


def test_what_a_host_adds_to_the_file_stays(any_world: HostWorld) -> None:
    world = any_world
    world.serve([say("One.")], [say("Two.")])
    host = SdkHost(world)
    session = result_of(host.ask("first")).session_id
    tag_session(session, "important", directory=str(world.cwd))
    host.ask("second", resume=session)
    (listed,) = list_sessions(directory=str(world.cwd))
    assert (listed.tag, listed.first_prompt) == ("important", "first")


def test_a_client_of_many_turns_and_a_later_one_share_the_conversation(any_world: HostWorld) -> None:
    world = any_world
    world.serve([say("One.")], [say("Two.")], [say("Three.")])
    host = SdkHost(world)

    async def story() -> str:
        async with host.client() as client:
            await turn(client, "first")
            return result_of(await turn(client, "second")).session_id

    session = run(story())
    host.ask("third", resume=session)
    assert asked(world) == [["first"], ["first", "second"], ["first", "second", "third"]]
