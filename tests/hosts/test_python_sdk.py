"""The real Agent SDK for Python with our program in the place of the CLI it expects: turns and their options."""

from __future__ import annotations

import asyncio
import base64
import gc
import time
from typing import TYPE_CHECKING, Any

import pytest
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeSDKClient,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    UserMessage,
    query,
)

from tests.helpers.scripted_model import call, hold, say, think
from tests.helpers.sdk_host import SdkHost, calls, init_of, lines, result_of, results, run, texts, turn
from tests.helpers.timing import SOON

if TYPE_CHECKING:
    from tests.helpers.host_world import HostWorld

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
LINE_LIMIT = 1024 * 1024
"""The limit of the SDK: a longer line ends its session."""
CLOSE_PROMISE = 5.0
"""After so long the SDK sends SIGTERM to a program that does not end with its input."""


def test_query_gets_the_whole_turn(world: HostWorld) -> None:
    (world.cwd / "kettle.txt").write_text("sencha at 70 degrees\n", "utf-8")
    world.serve([say("Let me look."), call("Read", file_path="kettle.txt")], [say("Sencha, at 70 degrees.")])
    host = SdkHost(world)
    got = host.ask("What is in the kettle?")
    expected = [SystemMessage, AssistantMessage, AssistantMessage, UserMessage, AssistantMessage, ResultMessage]
    assert [type(message) for message in got] == expected
    assert texts(got) == ["Let me look.", "Sencha, at 70 degrees."]
    (used,) = calls(got)
    assert (used.name, used.input) == ("Read", {"file_path": "kettle.txt"})
    (back,) = results(got)
    assert (back.tool_use_id, back.is_error or False) == (used.id, False)
    assert "sencha at 70 degrees" in str(back.content)
    end = result_of(got)
    assert (end.subtype, end.is_error, end.num_turns, end.result) == ("success", False, 2, "Sencha, at 70 degrees.")
    assert end.usage is not None
    assert (end.usage["input_tokens"], end.usage["output_tokens"]) == (24, 14)
    assert init_of(got)["model"] == world.vendor.model
    assert "sencha at 70 degrees" in world.requests()[1].results[0]
    assert host.stderr == []


def test_chat_completions_give_the_same_turn(any_world: HostWorld) -> None:
    """The API of most other vendors, at an address that the user chose."""
    (any_world.cwd / "a.txt").write_text("alpha\n", "utf-8")
    server = any_world.serve([say("Let me look."), call("Read", file_path="a.txt")], [say("It says alpha.")])
    flags = {"provider": "compatible", "api-base": server.url + "/v1"}
    got = SdkHost(any_world).ask("What does it say?", model="local-model", extra_args=flags)
    expected = [SystemMessage, AssistantMessage, AssistantMessage, UserMessage, AssistantMessage, ResultMessage]
    assert [type(message) for message in got] == expected
    assert result_of(got).result == "It says alpha."
    assert [(request.api, request.model) for request in any_world.requests()] == [("openai-chat", "local-model")] * 2
    assert "alpha" in any_world.requests()[1].results[0]


def test_a_client_keeps_the_conversation(world: HostWorld) -> None:
    world.serve([say("One.")], [say("Two.")], [say("Three.")])
    host = SdkHost(world)

    async def story() -> None:
        async with host.client() as client:
            turns = [await turn(client, prompt) for prompt in ("first", "second", "third")]
        assert [texts(messages) for messages in turns] == [["One."], ["Two."], ["Three."]]
        assert len({result_of(messages).session_id for messages in turns}) == 1
        assert [init_of(messages)["session_id"] for messages in turns] == [result_of(turns[0]).session_id] * 3

    run(story())
    asked = [[text for text in request.said if text in ("first", "second", "third")] for request in world.requests()]
    assert asked == [["first"], ["first", "second"], ["first", "second", "third"]]
    assert host.stderr == []


def test_partial_messages_come_as_the_text_grows(world: HostWorld) -> None:
    world.serve([say("A rather long answer in pieces.", pieces=6, gap_ms=80)])
    got = SdkHost(world).ask("Go on", include_partial_messages=True)
    events = [message.event for message in got if isinstance(message, StreamEvent)]
    kinds = [event["type"] for event in events]
    assert kinds[:2] == ["message_start", "content_block_start"]
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    pieces = [event["delta"]["text"] for event in events if event["type"] == "content_block_delta"]
    assert "".join(pieces) == "A rather long answer in pieces."
    assert len(pieces) > 2
    places = {id(message): place for place, message in enumerate(got)}
    whole = next(places[id(message)] for message in got if isinstance(message, AssistantMessage))
    stop = next(m for m in got if isinstance(m, StreamEvent) and m.event["type"] == "content_block_stop")
    assert whole < places[id(stop)]


def test_reasoning_is_shown(world: HostWorld) -> None:
    world.serve([think("Seven times six."), say("42")])
    got = SdkHost(world).ask("7 x 6?")
    blocks = [block for message in got if isinstance(message, AssistantMessage) for block in message.content]
    assert [type(block) for block in blocks] == [ThinkingBlock, TextBlock]
    assert isinstance(blocks[0], ThinkingBlock)
    assert blocks[0].thinking == "Seven times six."
    assert result_of(got).result == "42"


def test_images_in_prompts_reach_the_model(world: HostWorld) -> None:
    world.serve([say("A pixel.")])
    source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    content = [{"type": "image", "source": source}, {"type": "text", "text": "What is this?"}]
    got = SdkHost(world).ask(lines({"type": "user", "message": {"role": "user", "content": content}}))
    assert result_of(got).result == "A pixel."
    (asked,) = world.requests()
    assert [base64.b64decode(image) for image in asked.images] == [base64.b64decode(PIXEL)]
    assert "What is this?" in asked.said


def test_system_prompt_options(world: HostWorld) -> None:
    world.serve(*[[say("Yes.")]] * 4)
    host = SdkHost(world)
    (world.cwd / "rules.md").write_text("Rules from a file.", "utf-8")
    host.ask("1", system_prompt="Speak like a pirate.")
    host.ask("2", system_prompt={"type": "preset", "preset": "claude_code", "append": "Mention tea."})
    host.ask("3", system_prompt={"type": "file", "path": str(world.cwd / "rules.md")})
    host.ask("4")
    own, appended, filed, none = (request.system for request in world.requests())
    assert own == "Speak like a pirate."
    assert appended.endswith("Mention tea.")
    assert len(appended) > 200
    assert filed == "Rules from a file."
    assert none == ""


def test_tools_offered_and_refused(world: HostWorld) -> None:
    world.serve([call("Bash", command="touch made.txt")], [say("No such tool.")], [say("Only reading.")])
    host = SdkHost(world)
    got = host.ask("Make a file", disallowed_tools=["Bash"])
    (back,) = results(got)
    assert back.is_error is True
    assert "No such tool available: Bash" in str(back.content)
    assert result_of(got).permission_denials in ([], None)
    host.ask("Look", tools=["Read", "Glob"])
    first, _, last = world.requests()
    assert "Bash" not in first.tools
    assert "Read" in first.tools
    assert sorted(last.tools) == ["Glob", "Read"]
    assert not (world.cwd / "made.txt").exists()


def test_allowed_tools_run_unasked(world: HostWorld) -> None:
    world.serve([call("Bash", command="touch made.txt")], [say("Made.")])
    got = SdkHost(world).ask("Make a file", allowed_tools=["Bash(touch:*)"])
    assert [back.is_error or False for back in results(got)] == [False]
    assert (world.cwd / "made.txt").exists()


def test_unasked_tools_are_denied(world: HostWorld) -> None:
    world.serve([call("Bash", command="touch made.txt")], [say("Not allowed.")])
    got = SdkHost(world).ask("Make a file")
    (used,) = calls(got)
    assert [back.is_error for back in results(got)] == [True]
    denied = [{"tool_name": "Bash", "tool_use_id": used.id, "tool_input": used.input}]
    assert result_of(got).permission_denials == denied
    assert not (world.cwd / "made.txt").exists()


def test_max_turns_ends_the_turn(world: HostWorld) -> None:
    world.serve(*[[call("Glob", pattern="*.txt")]] * 2, [say("Never reached.")])
    host = SdkHost(world)

    async def story() -> None:
        async with host.client(max_turns=2) as client:
            end = result_of(await turn(client, "Look around"))
        assert (end.subtype, end.is_error, end.num_turns) == ("error_max_turns", True, 3)
        assert end.errors == ["Reached maximum number of turns (2)"]
        assert end.terminal_reason == "max_turns"

    run(story())
    assert len(world.requests()) == 2


def test_a_budget_ends_the_turn(world: HostWorld) -> None:
    world.serve([call("Glob", pattern="*.txt")], [say("Never reached.")])
    host = SdkHost(world)

    async def story() -> None:
        async with host.client(max_budget_usd=0.000001) as client:
            end = result_of(await turn(client, "Look around"))
        assert (end.subtype, end.is_error) == ("error_max_budget_usd", True)
        assert end.total_cost_usd is not None
        assert end.total_cost_usd > 0

    run(story())


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
    "required": ["city", "degrees"],
    "additionalProperties": False,
}


def test_structured_output(world: HostWorld) -> None:
    world.serve([call("StructuredOutput", city="Kyoto", degrees=31)])
    got = SdkHost(world).ask("Weather?", output_format={"type": "json_schema", "schema": SCHEMA})
    end = result_of(got)
    assert (end.subtype, end.is_error) == ("success", False)
    assert end.structured_output == {"city": "Kyoto", "degrees": 31}
    assert "StructuredOutput" in world.requests()[0].tools


def test_structured_output_that_does_not_fit_is_asked_for_again(world: HostWorld) -> None:
    world.serve(
        [call("StructuredOutput", city="Kyoto", degrees="hot")], [call("StructuredOutput", city="Kyoto", degrees=31)]
    )
    got = SdkHost(world).ask("Weather?", output_format={"type": "json_schema", "schema": SCHEMA})
    assert [back.is_error or False for back in results(got)] == [True, False]
    assert result_of(got).structured_output == {"city": "Kyoto", "degrees": 31}


def test_the_model_changes_between_turns(world: HostWorld) -> None:
    world.serve([say("One.")], [say("Two.")], [say("Three.")])
    host = SdkHost(world)

    async def story() -> None:
        async with host.client(model="sonnet") as client:
            first = await turn(client, "first")
            await client.set_model("haiku")
            second = await turn(client, "second")
            await client.set_model(f"{world.vendor.name}/{world.vendor.model}")
            third = await turn(client, "third")
        shown = [world.vendor.model, world.vendor.other_model, world.vendor.model]
        assert [init_of(messages)["model"] for messages in (first, second, third)] == shown
        assert texts(third) == ["Three."]

    run(story())
    heard = [request.model for request in world.requests()]
    assert heard == [world.vendor.model, world.vendor.other_model, world.vendor.model]


def test_what_initialize_reports(world: HostWorld) -> None:
    world.serve()
    host = SdkHost(world)

    async def story() -> None:
        async with host.client() as client:
            info = await client.get_server_info()
            status = await client.get_mcp_status()
        assert info is not None
        assert {"commands", "agents", "output_style", "available_output_styles", "models", "account"} <= set(info)
        named = {model["value"]: model["resolvedModel"] for model in info["models"]}
        assert named["sonnet"].endswith(world.vendor.model)
        assert status == {"mcpServers": []}

    run(story())
    assert host.stderr == []


def test_how_full_the_context_is(world: HostWorld) -> None:
    world.serve([say("Hello.")])
    host = SdkHost(world)

    async def story() -> None:
        async with host.client() as client:
            await turn(client, "Hi")
            usage = await client.get_context_usage()
        assert 0 < usage["totalTokens"] < usage["maxTokens"]
        assert usage["model"] == world.vendor.model
        assert isinstance(usage["categories"], list)

    run(story())


def test_long_answers_and_results_arrive(world: HostWorld) -> None:
    long = "0123456789abcdef" * 20_000
    (world.cwd / "long.txt").write_text("x" * 3_000_000, "utf-8")
    world.serve([call("Bash", command="cat long.txt")], [say(long, pieces=50)])
    got = SdkHost(world).ask("Show it", allowed_tools=["Bash"])
    (back,) = results(got)
    assert isinstance(back, ToolResultBlock)
    assert 0 < len(str(back.content)) < LINE_LIMIT
    assert "".join(texts(got)) == long
    assert result_of(got).is_error is False


def test_a_client_that_leaves_early_is_not_held_up(any_world: HostWorld) -> None:
    world = any_world
    world.serve([say("It begins"), hold()])
    host = SdkHost(world)

    async def story() -> float:
        client = ClaudeSDKClient(host.options(include_partial_messages=True))
        await client.connect()
        await client.query("Talk for ever")
        async for message in client.receive_messages():
            if isinstance(message, StreamEvent):
                break
        begun = time.monotonic()
        await client.disconnect()
        return time.monotonic() - begun

    assert run(story()) < 2 * CLOSE_PROMISE + SOON


def test_a_client_that_asks_nothing_ends_at_once(world: HostWorld) -> None:
    world.serve()
    host = SdkHost(world)

    async def story() -> float:
        async with host.client():
            begun = time.monotonic()
        return time.monotonic() - begun

    assert run(story()) < CLOSE_PROMISE
    assert (world.requests(), host.stderr) == ([], [])


@pytest.mark.filterwarnings("ignore:Unclosed <MemoryObject:ResourceWarning")
def test_a_dropped_query_leaves_no_process(any_world: HostWorld) -> None:
    world = any_world
    world.serve([call("Bash", command="sleep 300")])
    host = SdkHost(world)

    async def story() -> None:
        answers = query(prompt="Wait", options=host.options(allowed_tools=["Bash"]))
        async for message in answers:
            if isinstance(message, AssistantMessage):
                break
        assert world.processes() != []
        await answers.aclose()  # type: ignore[attr-defined]  # an async generator, typed as its iterator
        while world.processes():  # the SDK closes stdin, and sends SIGTERM when that does not help
            await asyncio.sleep(0.05)

    run(story())
    gc.collect()  # a dropped query leaves open streams of the SDK, whose collection would warn in a later test


@pytest.mark.parametrize("prompts", [["one"], ["one", "two"]], ids=["one", "two"])
def test_streamed_prompts_all_get_an_answer(prompts: list[str], world: HostWorld) -> None:
    world.serve(*[[say(f"Heard {number}.")] for number in range(len(prompts))])
    given = [{"type": "user", "message": {"role": "user", "content": prompt}} for prompt in prompts]
    got = SdkHost(world).ask(lines(*given))
    assert isinstance(got[-1], ResultMessage)
    assert got[-1].is_error is False
    assert set(prompts) <= {line for said in world.requests()[-1].said for line in said.split("\n")}
