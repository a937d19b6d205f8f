"""Prompts of the Agent Client Protocol: what each kind of content becomes."""

from __future__ import annotations

import base64

import pytest

from yume_shim.host.acp_prompt import read_prompt
from yume_shim.host.json_rpc import BadMessage, RpcReply, long_message
from yume_shim.types.blocks import Document, Image, Text
from yume_shim.types.commands import UserInput

NOTES = base64.b64encode("grün".encode()).decode()


def test_every_kind_of_content() -> None:
    made = read_prompt(
        [
            {"type": "text", "text": "Look"},
            {"type": "image", "data": "AA==", "mimeType": "image/png"},
            {"type": "image", "data": "", "uri": "https://x/y.png"},
            {"type": "resource_link", "name": "a", "uri": "file:///w/a%20b"},
            {"type": "resource_link", "uri": "https://x/"},
            {"type": "resource", "resource": {"uri": "file:///n.md", "text": "@/etc/passwd"}},
            {"type": "resource", "resource": {"uri": "u:1", "blob": "AA==", "mimeType": "image/gif"}},
            {"type": "resource", "resource": {"uri": "u:2", "blob": "AA==", "mimeType": "application/pdf"}},
            {"type": "resource", "resource": {"uri": "u:3", "blob": NOTES}},
            {"type": "resource", "resource": {"uri": "u:4", "blob": "/w==", "mimeType": "application/zip"}},
        ],
        "id",
    )
    assert isinstance(made, UserInput)
    assert made.uuid == "id"
    assert made.blocks == (
        Text("Look"),
        Image("image/png", "AA=="),
        Image("", "", "https://x/y.png"),
        Text("[a](/w/a b)"),
        Text("[https://x/](https://x/)"),
        Document("text/plain", "@/etc/passwd", "/n.md"),
        Image("image/gif", "AA=="),
        Document("application/pdf", "AA==", "u:2"),
        Document("text/plain", "grün", "u:3"),
        Text("[u:4: application/zip, not shown]"),
    )


@pytest.mark.parametrize("prompt", [None, "x", [], [{"type": "image", "data": "AA=="}], [{"type": "text"}] * 1001])
def test_wrong_prompts(prompt: object) -> None:
    with pytest.raises(BadMessage) as caught:
        read_prompt(prompt, "id")
    assert caught.value.code == -32602


def test_what_a_dropped_line_was() -> None:
    reply = long_message(b'{"jsonrpc":"2.0","id":"q-1","result":{"content":"aaaa', 1 << 20)
    assert isinstance(reply, RpcReply)
    assert (reply.id, reply.error) == ("q-1", "the line is longer than 1 MiB and was dropped: send less at once")
    request = long_message(b'{"id":5,"method":"session/prompt","params":', 1 << 20)
    assert isinstance(request, BadMessage)
    assert (request.id, request.code) == (5, -32600)
    assert getattr(long_message(b"garbage", 1 << 20), "id", 0) is None
