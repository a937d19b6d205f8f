"""Requests and refusals for the tests of adaptations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yume_shim.types.blocks import Message, Text, Thinking
from yume_shim.types.errors import Failure
from yume_shim.types.models import Endpoint, ModelSpec, Quirks, Request, ToolSpec

if TYPE_CHECKING:
    from yume_shim.types.blocks import Block

CHAT, CLAUDE = "openai-chat", "anthropic-messages"
SIGNATURE = "messages.1.content.0: Invalid `signature` in `thinking` block"
TOOL = ToolSpec("Read", "Reads.", {"type": "object", "properties": {}})


def refusal(message: str, status: int | None = 400, **more: Any) -> Failure:
    return Failure("bad_request", message, status, **more)


def asking(*messages: Message, api: str = CHAT, **more: Any) -> Request:
    quirks = more.pop("quirks", Quirks())
    model = ModelSpec("m", Endpoint("vendor", api, "http://127.0.0.1:1", quirks=quirks))
    return Request(model, messages or (Message("user", (Text("Hi"),)),), **more)


def said(*blocks: Block) -> Message:
    return Message("assistant", blocks, f"{CHAT}/m")


def asked(*blocks: Block) -> Message:
    return Message("user", blocks)


def thought(name: str) -> Thinking:
    return Thinking(name, opaque={CHAT: {"signature": name}})
