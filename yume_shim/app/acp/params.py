"""Reads the parameters of requests about sessions. Raises BadMessage, which says what to send instead."""

from __future__ import annotations

import os

from yume_shim.host.json_rpc import INVALID_PARAMS, BadMessage
from yume_shim.text import codec
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    from yume_shim.types.blocks import Json

    Values = Mapping[str, str | bool | tuple[str, ...]]
    Opening = Literal["new", "load", "resume"]

NOT_FOUND = -32002
MAX_SERVERS = 100
NO_LIMIT_S = "86400"
"""Seconds that a permission request may stay open: the client decides, and closes or cancels it."""
UNASKABLE = "AskUserQuestion"
"""The tool whose questions the protocol has no form for."""


class OpenParams(Value):
    """How a session is opened. `servers` is the JSON of `--mcp-config`, "" for none."""

    kind: Opening
    cwd: str
    session_id: str = ""
    folders: tuple[str, ...] = ()
    servers: str = ""


def open_params(kind: Opening, params: Json) -> OpenParams:
    """The parameters of `session/new`, `session/load` and `session/resume`."""
    cwd = text_param(params, "cwd")
    if not os.path.isabs(cwd):
        raise bad_params("`cwd` must be an absolute path")
    if not os.path.isdir(cwd):
        raise bad_params(f"`cwd` is not a folder: {cwd}")
    return OpenParams(
        kind,
        os.path.normpath(cwd),
        "" if kind == "new" else session_param(params),
        _folders(params.get("additionalDirectories")),
        _servers(params.get("mcpServers")),
    )


def text_param(params: Json, name: str) -> str:
    """A parameter that must be a string with something in it."""
    found = params.get(name)
    if not isinstance(found, str) or not found:
        raise bad_params(f"`{name}` must be a string")
    return found


def session_param(params: Json) -> str:
    """The id of a stored session."""
    from yume_shim.text.uuids import is_uuid

    found = text_param(params, "sessionId")
    if not is_uuid(found):
        raise unknown_session(found)
    return found


def unknown_session(session_id: str) -> BadMessage:
    """The error for an id that no session has."""
    return BadMessage(NOT_FOUND, f"Resource not found: no session {session_id[:100]}")


def bad_params(message: str) -> BadMessage:
    """The error for a wrong parameter."""
    return BadMessage(INVALID_PARAMS, f"Invalid params: {message}")


def session_values(values: Values, asked: OpenParams) -> Values:
    """The values of the command line, with what the client asks for this session."""
    made = dict(values)
    made.setdefault("permission-prompt-tool", "stdio")
    made.setdefault("approval-timeout", NO_LIMIT_S)
    made["disallowedTools"] = (*_many(values, "disallowedTools"), UNASKABLE)
    if asked.folders:
        made["add-dir"] = (*_many(values, "add-dir"), *asked.folders)
    if asked.servers:
        made["mcp-config"] = (*_many(values, "mcp-config"), asked.servers)
    if asked.kind != "new":
        made["resume"] = asked.session_id
    return made


def _many(values: Values, key: str) -> tuple[str, ...]:
    found = values.get(key, ())
    return found if isinstance(found, tuple) else ()


def _folders(given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    if not isinstance(given, list) or not all(isinstance(path, str) and os.path.isabs(path) for path in given):
        raise bad_params("`additionalDirectories` must be a list of absolute paths")
    return tuple(given)


def _servers(given: Any) -> str:
    """The client's MCP servers in the form of `--mcp-config`."""
    if not given:
        return ""
    if not isinstance(given, list) or len(given) > MAX_SERVERS:
        raise bad_params(f"`mcpServers` must be a list of at most {MAX_SERVERS} servers")
    tables = {}
    for place, server in enumerate(given):
        if not isinstance(server, dict) or not isinstance(server.get("name"), str):
            raise bad_params(f"mcpServers[{place}] must be an object with a `name`")
        kind = server.get("type") or "stdio"
        if kind in ("http", "sse"):
            table: Json = {"type": kind, "url": server.get("url"), "headers": _pairs(server.get("headers"))}
        elif kind == "stdio":
            table = {"command": server.get("command"), "args": server.get("args"), "env": _pairs(server.get("env"))}
        else:
            raise bad_params(f"mcpServers[{place}]: type {kind!r} is not supported (stdio, http, sse are)")
        tables[server["name"]] = table
    return codec.dumps({"mcpServers": tables}).decode("utf-8")


def _pairs(given: Any) -> dict[str, str]:
    """`[{"name": …, "value": …}]` as an object."""
    pairs = given if isinstance(given, list) else ()
    return {str(pair.get("name")): str(pair.get("value")) for pair in pairs if isinstance(pair, dict)}
