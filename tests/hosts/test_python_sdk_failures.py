"""The real Agent SDK for Python: what it sees when the provider fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from claude_agent_sdk import AssistantMessage, ResultError, ResultMessage, StreamEvent, SystemMessage, query

from tests.helpers.scripted_model import call, cut, refuse, say
from tests.helpers.sdk_host import SdkHost, result_of, results, run, texts, turn

if TYPE_CHECKING:
    from claude_agent_sdk import Message

    from tests.helpers.host_world import HostWorld

RETRIES = 2
"""As the world's configuration file says."""


def retries(messages: list[Message]) -> list[int]:
    """The announced attempts."""
    found = [m.data for m in messages if isinstance(m, SystemMessage) and m.subtype == "api_retry"]
    return [data["attempt"] for data in found]


def check_failed(messages: list[Message], status: int, category: str) -> None:
    end = result_of(messages)
    assert (end.subtype, end.is_error, end.api_error_status) == ("success", True, status)
    assert end.terminal_reason == "api_error"
    shown = [message for message in messages if isinstance(message, AssistantMessage)][-1]
    assert (shown.error, shown.model) == (category, "<synthetic>")
    assert texts([shown]) == [end.result]


def test_a_wrong_key_is_not_tried_twice(world: HostWorld) -> None:
    world.serve([refuse(401)], [say("Now it works.")])
    host = SdkHost(world)

    async def story() -> None:
        async with host.client() as client:
            got = await turn(client, "Hello")
            check_failed(got, 401, "authentication_failed")
            assert retries(got) == []
            assert texts(await turn(client, "Again")) == ["Now it works."]

    run(story())
    assert len(world.requests()) == 2
    assert host.stderr == []


def test_too_many_requests_are_repeated_after_the_wait_that_was_asked_for(world: HostWorld) -> None:
    world.serve([refuse(429, retry_after=0.2)], [say("Here I am.")])
    got = SdkHost(world).ask("Hello")
    assert retries(got) == [1]
    (waited,) = [m.data for m in got if isinstance(m, SystemMessage) and m.subtype == "api_retry"]
    assert (waited["retry_delay_ms"], waited["error_status"], waited["error"]) == (200, 429, "rate_limit")
    end = result_of(got)
    assert (end.is_error, end.result) == (False, "Here I am.")


def test_a_server_that_keeps_failing_is_given_up(world: HostWorld) -> None:
    world.serve(*[[refuse(500)]] * (RETRIES + 1))
    host = SdkHost(world)

    async def story() -> None:
        async with host.client() as client:
            got = await turn(client, "Hello")
        assert retries(got) == [1, 2]
        check_failed(got, 500, "server_error")

    run(story())
    assert len(world.requests()) == RETRIES + 1


def test_a_query_that_fails_raises(world: HostWorld) -> None:
    world.serve([refuse(401)])
    host = SdkHost(world)
    got: list[Message] = []

    async def story() -> None:
        async for message in query(prompt="Hello", options=host.options()):
            got.append(message)  # noqa: PERF401  # the last step raises: what came before it must be kept

    with pytest.raises(ResultError) as raised:
        run(story())
    assert isinstance(got[-1], ResultMessage)
    assert str(got[-1].result) in str(raised.value)


def test_a_stream_cut_in_the_text_is_asked_for_again(world: HostWorld) -> None:
    world.serve([say("The answer is forty-"), cut()], [say("The answer is forty-two.")])
    got = SdkHost(world).ask("Well?", include_partial_messages=True)
    assert retries(got) == [1]
    assert texts(got) == ["The answer is forty-two."]
    end = result_of(got)
    assert (end.is_error, end.result) == (False, "The answer is forty-two.")
    open_blocks: set[int] = set()
    for event in (message.event for message in got if isinstance(message, StreamEvent)):
        if event["type"] == "content_block_start":
            assert event["index"] not in open_blocks
            open_blocks.add(event["index"])
        if event["type"] == "content_block_stop":
            open_blocks.remove(event["index"])
    assert open_blocks == set()


def test_a_stream_cut_before_a_tool_call_ends_runs_nothing_twice(world: HostWorld) -> None:
    command = "echo x >> runs.txt"
    world.serve([say("I will"), cut()], [call("Bash", command=command)], [cut()], [say("Done.")])
    got = SdkHost(world).ask("Do it", allowed_tools=["Bash"])
    assert [back.is_error or False for back in results(got)] == [False]
    assert result_of(got).result == "Done."
    assert (world.cwd / "runs.txt").read_text("utf-8") == "x\n"


def test_a_stream_that_keeps_breaking_is_given_up(world: HostWorld) -> None:
    world.serve(*[[say("Al"), cut()]] * (RETRIES + 1), [say("All is well.")])
    host = SdkHost(world)

    async def story() -> None:
        async with host.client() as client:
            end = result_of(await turn(client, "Hello"))
            assert (end.subtype, end.is_error) == ("success", True)
            assert texts(await turn(client, "Again")) == ["All is well."]

    run(story())


def test_a_missing_key_is_reported_in_the_conversation(world: HostWorld) -> None:
    server = world.serve([say("Never asked.")])
    del world.env[world.vendor.key_var]
    host = SdkHost(world)

    async def story() -> None:
        async with host.client() as client:
            got = await turn(client, "Hello")
        end = result_of(got)
        assert (end.subtype, end.is_error) == ("success", True)
        assert world.vendor.key_var in str(end.result)
        shown = [message for message in got if isinstance(message, AssistantMessage)]
        assert [(message.error, message.model) for message in shown] == [("authentication_failed", "<synthetic>")]

    run(story())
    assert server.requests == []
