"""The real Agent SDK for Python as a host of our program."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ResultMessage,
    SystemMessage,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
    query,
)

from tests.helpers.host_world import program

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterable

    from claude_agent_sdk import Message

    from tests.helpers.host_world import HostWorld

T = TypeVar("T")
DEADLINE = 60.0
"""Seconds for a whole story."""


class SdkHost:
    """Starts our program in a world by the SDK's own means; keeps what it says on stderr."""

    def __init__(self, world: HostWorld) -> None:
        self.world = world
        self.stderr: list[str] = []

    def options(self, **more: Any) -> ClaudeAgentOptions:
        return ClaudeAgentOptions(
            cli_path=program(), cwd=self.world.cwd, env=self.world.env, stderr=self.stderr.append, **more
        )

    @asynccontextmanager
    async def client(self, **more: Any) -> AsyncIterator[ClaudeSDKClient]:
        """A connected client; disconnected at the end."""
        async with ClaudeSDKClient(self.options(**more)) as client:
            yield client

    def ask(self, prompt: str | AsyncIterator[dict[str, Any]], **more: Any) -> list[Message]:
        """One `query()` to its end."""

        async def story() -> list[Message]:
            return [message async for message in query(prompt=prompt, options=self.options(**more))]

        return run(story())


def run(story: Coroutine[Any, Any, T]) -> T:
    """Run a story to its end, within DEADLINE."""

    async def in_time() -> T:
        return await asyncio.wait_for(story, DEADLINE)

    return asyncio.run(in_time())


async def turn(client: ClaudeSDKClient, prompt: str) -> list[Message]:
    """One prompt and everything up to its result."""
    await client.query(prompt)
    return [message async for message in client.receive_response()]


async def lines(*found: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """Prompts as a stream of user lines."""
    for line in found:
        yield line


def result_of(messages: list[Message]) -> ResultMessage:
    """The one result, which is also the last message."""
    results = [message for message in messages if isinstance(message, ResultMessage)]
    assert len(results) == 1, messages
    assert messages[-1] is results[0]
    return results[0]


def init_of(messages: list[Message]) -> dict[str, Any]:
    """The init line's data."""
    found = [m.data for m in messages if isinstance(m, SystemMessage) and m.subtype == "init"]
    assert len(found) == 1, messages
    return found[0]


def texts(messages: Iterable[Message]) -> list[str]:
    """The assistant's texts."""
    return [block.text for block in _blocks(messages, AssistantMessage) if isinstance(block, TextBlock)]


def calls(messages: Iterable[Message]) -> list[ToolUseBlock]:
    """The tool calls."""
    return [block for block in _blocks(messages, AssistantMessage) if isinstance(block, ToolUseBlock)]


def results(messages: Iterable[Message]) -> list[ToolResultBlock]:
    """What came back from tools."""
    return [block for block in _blocks(messages, UserMessage) if isinstance(block, ToolResultBlock)]


def _blocks(messages: Iterable[Message], kind: type[AssistantMessage] | type[UserMessage]) -> list[Any]:
    found: list[Any] = []
    for message in messages:
        if isinstance(message, kind) and isinstance(message.content, list):
            found += message.content
    return found
