"""The content of a prompt in the Agent Client Protocol -> a `UserInput`. Raises BadMessage."""

from __future__ import annotations

from yume_shim.host.content import user_blocks
from yume_shim.host.json_rpc import INVALID_PARAMS, BadMessage
from yume_shim.types.commands import UserInput
from yume_shim.types.errors import BadLine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.types.blocks import Json

MAX_BLOCKS = 1_000
NO_AUDIO = "audio is not supported (promptCapabilities.audio is false): send text"
FILE_SCHEME = "file://"


def read_prompt(prompt: Any, uuid: str) -> UserInput:
    """The prompt as a command, under this uuid."""
    if not isinstance(prompt, list) or not prompt:
        raise _bad("`prompt` must be a list with at least one content block")
    if len(prompt) > MAX_BLOCKS:
        raise _bad(f"`prompt` has more than {MAX_BLOCKS} content blocks")
    content = [_claude_block(block, place) for place, block in enumerate(prompt)]
    try:
        blocks = user_blocks(content)
    except BadLine as bad:
        raise _bad(bad.message) from None
    return UserInput(blocks, tuple(content), uuid)


def _claude_block(block: Any, place: int) -> Json:
    """The block in the shape that transcripts hold."""
    if not isinstance(block, dict):
        raise _bad(f"prompt[{place}] must be an object with a type")
    match block.get("type"):
        case "text":
            return {"type": "text", "text": _string(block, "text", place)}
        case "image":
            return _image(block, place)
        case "audio":
            raise _bad(f"prompt[{place}]: {NO_AUDIO}")
        case "resource_link":
            uri = _string(block, "uri", place)
            name = block.get("name")
            return {"type": "text", "text": f"[{name if isinstance(name, str) else uri}]({_path(uri)})"}
        case "resource":
            return _resource(block.get("resource"), place)
        case other:
            raise _bad(f"prompt[{place}]: unknown content type {other!r}")


def _image(block: Json, place: int) -> Json:
    uri, data = block.get("uri"), block.get("data")
    if not data and isinstance(uri, str) and uri.startswith(("http://", "https://")):
        return {"type": "image", "source": {"type": "url", "url": uri}}
    kind = _string(block, "mimeType", place)
    return _base64("image", kind, _string(block, "data", place))


def _resource(resource: Any, place: int) -> Json:
    """Text is a document, so that an `@name` in it is never taken for a file that the user mentioned."""
    if not isinstance(resource, dict):
        raise _bad(f"prompt[{place}]: a resource needs `resource`, an object")
    uri = _string(resource, "uri", place)
    given = resource.get("mimeType")
    kind = given if isinstance(given, str) else ""
    if isinstance(resource.get("text"), str):
        return _document(resource["text"], uri)
    blob = _string(resource, "blob", place)
    if kind.startswith("image/"):
        return _base64("image", kind, blob)
    if kind == "application/pdf":
        return {**_base64("document", kind, blob), "title": _path(uri)}
    text = _decoded(blob)
    if text is not None:
        return _document(text, uri)
    return {"type": "text", "text": f"[{_path(uri)}: {kind or 'binary data'}, not shown]"}


def _document(text: str, uri: str) -> Json:
    return {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": text},
        "title": _path(uri),
    }


def _base64(type: str, kind: str, data: str) -> Json:
    return {"type": type, "source": {"type": "base64", "media_type": kind, "data": data}}


def _decoded(blob: str) -> str | None:
    from base64 import b64decode

    try:
        text = b64decode(blob, validate=True).decode("utf-8")
    except ValueError:
        return None
    return None if "\0" in text else text


def _path(uri: str) -> str:
    """The path of a file's address; other addresses as they are."""
    if not uri.startswith(FILE_SCHEME):
        return uri
    from urllib.parse import unquote

    return unquote(uri[len(FILE_SCHEME) :])


def _string(fields: Json, name: str, place: int) -> str:
    found = fields.get(name)
    if isinstance(found, str):
        return found
    raise _bad(f"prompt[{place}]: `{name}` must be a string")


def _bad(message: str) -> BadMessage:
    return BadMessage(INVALID_PARAMS, f"Invalid params: {message}")
