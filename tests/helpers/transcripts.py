"""Transcript lines written by hand, in the Claude CLI's form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yume_shim.text.codec import dumps

if TYPE_CHECKING:
    from yume_shim.types.blocks import Json


def question(uuid: str, content: Any, parent: str | None = None, **more: Any) -> Json:
    """A `user` line."""
    return _line("user", uuid, parent) | {"message": {"role": "user", "content": content}} | more


def answer(uuid: str, content: Any, parent: str | None = None, message_id: str = "", **more: Any) -> Json:
    """An `assistant` line."""
    message = {"id": message_id or f"msg-{uuid}", "role": "assistant", "model": "claude-x", "content": content}
    return _line("assistant", uuid, parent) | {"message": message} | more


def chain(*lines: Json) -> list[Json]:
    """The lines, each the child of the one before."""
    parents = [None, *(line["uuid"] for line in lines)]
    return [line | {"parentUuid": parent} for line, parent in zip(lines, parents, strict=False)]


def save(*lines: Json) -> bytes:
    """As the lines of a file."""
    return b"".join(dumps(line) + b"\n" for line in lines)


def _line(kind: str, uuid: str, parent: str | None) -> Json:
    return {
        "parentUuid": parent,
        "isSidechain": False,
        "type": kind,
        "uuid": uuid,
        "timestamp": "2026-01-02T03:04:05.000Z",
        "cwd": "/w",
        "sessionId": "s",
        "version": "2.1.325",
    }
