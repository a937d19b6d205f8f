"""The official client library of the Agent Client Protocol as a host of our program."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from acp import PROTOCOL_VERSION, RequestError, spawn_agent_process
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    FileSystemCapabilities,
    ReadTextFileResponse,
    RequestPermissionResponse,
    WriteTextFileResponse,
)

from tests.helpers.host_world import program

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine

    from acp.client.connection import ClientSideConnection

    from tests.helpers.host_world import HostWorld

DEADLINE = 90.0
"""Seconds for a whole story."""


class Editor:
    """Keeps every update; answers permission requests by the kinds in `choices`, in order; serves files from `buffers`
    and takes writes into `written`."""

    def __init__(self) -> None:
        self.updates: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self.choices: list[str] = []
        self.buffers: dict[str, str] = {}
        self.written: dict[str, str] = {}
        self.changed = asyncio.Event()
        self.hold_permission: asyncio.Event | None = None

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update.model_dump(mode="json", by_alias=True, exclude_none=True))
        self.changed.set()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: Any, **_: Any
    ) -> RequestPermissionResponse:
        self.asked.append(
            {
                "call": tool_call.model_dump(mode="json", by_alias=True, exclude_none=True),
                "options": [(option.kind, option.name) for option in options],
            }
        )
        self.changed.set()
        if self.hold_permission is not None:
            await self.hold_permission.wait()
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        kind = self.choices.pop(0)
        chosen = next(option.option_id for option in options if option.kind == kind)
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen))

    async def read_text_file(self, session_id: str, path: str, **_: Any) -> ReadTextFileResponse:
        if path not in self.buffers:
            raise RequestError.resource_not_found(path)
        return ReadTextFileResponse(content=self.buffers[path])

    async def write_text_file(self, session_id: str, path: str, content: str, **_: Any) -> WriteTextFileResponse:
        self.written[path] = content
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
        return WriteTextFileResponse()

    # ------------------------------------------------------------ what was seen

    def take(self, *kinds: str) -> list[dict[str, Any]]:
        """The updates of these kinds so far."""
        return [update for update in self.updates if update["sessionUpdate"] in kinds]

    def text(self, kind: str = "agent_message_chunk") -> str:
        """All text of this kind, joined."""
        return "".join(update["content"]["text"] for update in self.take(kind))

    async def until(self, kind: str) -> None:
        """Wait for an update of this kind."""
        while not self.take(kind):
            self.changed.clear()
            await self.changed.wait()

    async def until_asked(self) -> None:
        """Wait for a permission request."""
        while not self.asked:
            self.changed.clear()
            await self.changed.wait()


@asynccontextmanager
async def connected(
    world: HostWorld, editor: Editor, *flags: str, files: bool = False
) -> AsyncIterator[ClientSideConnection]:
    """Our program, started and initialized by the library."""
    client: Any = editor  # it has only the methods that our program calls
    started = spawn_agent_process(
        client, program(), "acp", *flags, env=world.env, cwd=world.cwd, use_unstable_protocol=True
    )
    async with started as (connection, process):
        offered = ClientCapabilities(fs=FileSystemCapabilities(read_text_file=files, write_text_file=files))
        await connection.initialize(protocol_version=PROTOCOL_VERSION, client_capabilities=offered)
        yield connection
    assert process.returncode == 0


def run(story: Coroutine[Any, Any, None]) -> None:
    """Play a story under a deadline."""
    asyncio.run(asyncio.wait_for(story, DEADLINE))
