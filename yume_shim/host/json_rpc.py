"""One stdin line -> one JSON-RPC 2.0 message. Pure; raises BadMessage and nothing else."""

from __future__ import annotations

import re

from yume_shim.host.input_lines import parse_json
from yume_shim.types.errors import BadLine
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.types.blocks import Json

    RpcId = int | str | float | None

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
_ID_IN_HEAD = re.compile(rb'"id"\s*:\s*(?:"((?:[^"\\]|\\.){0,200})"|(-?[0-9]{1,15}))')
_METHOD_IN_HEAD = re.compile(rb'"method"\s*:')


class BadMessage(Exception):
    """A message that is answered with a JSON-RPC error. `id` is that of the request, None if it is not known."""

    def __init__(self, code: int, message: str, id: RpcId = None, data: Json | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.id, self.data = code, message, id, data


class RpcRequest(Value):
    """A request of the client: it gets exactly one answer."""

    id: RpcId
    method: str
    params: Json


class RpcNotification(Value):
    """A message that gets no answer."""

    method: str
    params: Json


class RpcReply(Value):
    """The client's answer to one of our requests; `error` is its message, "" for a success."""

    id: RpcId
    result: Any
    error: str = ""


RpcMessage = RpcRequest | RpcNotification | RpcReply


def parse_message(line: bytes) -> RpcMessage | None:
    """The message in this line; None for a blank one. Raises BadMessage."""
    stripped = line.strip()
    if not stripped:
        return None
    try:
        parsed = parse_json(stripped)
    except BadLine as bad:
        raise BadMessage(PARSE_ERROR, f"Parse error: {bad.message}") from None
    if not isinstance(parsed, dict):
        what = "batches are not part of this protocol" if isinstance(parsed, list) else "send one JSON object per line"
        raise BadMessage(INVALID_REQUEST, f"Invalid request: {what}")
    return _message_of(parsed)


def _message_of(parsed: Json) -> RpcMessage:
    has_id, id = "id" in parsed, parsed.get("id")
    if isinstance(id, bool) or not isinstance(id, (int, str, float, type(None))):
        raise BadMessage(INVALID_REQUEST, "Invalid request: `id` must be a string or a number")
    if parsed.get("jsonrpc") != "2.0":
        raise BadMessage(INVALID_REQUEST, 'Invalid request: `jsonrpc` must be "2.0"', id)
    method, params = parsed.get("method"), parsed.get("params")
    if method is None and has_id and ("result" in parsed or "error" in parsed):
        return RpcReply(id, parsed.get("result"), _error_text(parsed.get("error")) if "error" in parsed else "")
    if not isinstance(method, str) or not method:
        raise BadMessage(INVALID_REQUEST, "Invalid request: `method` must be a string", id)
    if params is not None and not isinstance(params, dict):
        raise BadMessage(INVALID_PARAMS, "Invalid params: `params` must be an object", id)
    return RpcRequest(id, method, params or {}) if has_id else RpcNotification(method, params or {})


def _error_text(error: Any) -> str:
    message = error.get("message") if isinstance(error, dict) else None
    return message if isinstance(message, str) and message else "the client answered with an error"


def long_message(head: bytes, limit: int) -> BadMessage | RpcReply:
    """What a line over the size limit was, by its start: an answer of the client, or something to answer."""
    text = f"the line is longer than {limit >> 20} MiB and was dropped: send less at once"
    found = _ID_IN_HEAD.search(head)
    id: RpcId = None
    if found is not None:
        id = int(found[2]) if found[2] else found[1].decode("utf-8", "replace")
    if id is not None and not _METHOD_IN_HEAD.search(head) and b'"result"' in head:
        return RpcReply(id, None, text)
    return BadMessage(INVALID_REQUEST, f"Invalid request: {text}", id)


# ---------------------------------------------------------------- what we send


def result_message(id: RpcId, result: Json | None) -> Json:
    """The successful answer to a request."""
    return {"jsonrpc": "2.0", "id": id, "result": {} if result is None else result}


def error_message(bad: BadMessage) -> Json:
    """The answer to a request that failed."""
    error: Json = {"code": bad.code, "message": bad.message}
    if bad.data is not None:
        error["data"] = bad.data
    return {"jsonrpc": "2.0", "id": bad.id, "error": error}
