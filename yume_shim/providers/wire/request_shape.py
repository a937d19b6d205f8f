"""The shape of an encoded request, without its contents: what to look at when a provider refuses it.

Works on the body of every API: lists of messages are recognised by their `role` or `type`, tools by their schemas.
"""

from __future__ import annotations

import re

from yume_shim.providers.wire.history_memo import plain_body
from yume_shim.text import codec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from yume_shim.types.blocks import Json
    from yume_shim.types.models import WireRequest

MAX_LISTED = 60
"""Messages, tools, ids and keywords that are listed; of longer lists the end is kept, which is usually refused."""
MAX_DEPTH = 12
_CONVERSATIONS = ("messages", "input", "contents")
_PARTS = ("content", "parts", "tool_calls")
_PART_KEYS = frozenset(
    (
        "text",
        "thought",
        "functionCall",
        "functionResponse",
        "inlineData",
        "fileData",
        "thoughtSignature",
        "images",
        "tool_calls",
        "reasoning_content",
        "thinking",
    )
)
"""Keys that say what a part without a `type` is (Gemini, Ollama)."""
_IDS = frozenset(("id", "tool_use_id", "tool_call_id", "call_id"))
_ID_PREFIX = re.compile(r"(?:toolu|call|fc|rs|msg|chatcmpl-tool|srvtoolu|tool|functions)[_.:-]")
_SCHEMAS = ("input_schema", "parameters", "parametersJsonSchema", "parameters_json_schema")
_KEYWORDS = frozenset(
    (
        *("$schema", "$ref", "$defs", "definitions", "additionalProperties", "patternProperties", "propertyNames"),
        *("default", "examples", "enum", "const", "anyOf", "oneOf", "allOf", "not", "nullable", "format", "pattern"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"),
        *("minItems", "maxItems", "uniqueItems", "prefixItems", "minProperties", "maxProperties", "title", "strict"),
        "propertyOrdering",
    )
)
_WORD = re.compile(r"[\w.:/-]{1,64}", re.ASCII)


def request_shape(wire: WireRequest) -> Json:
    """Roles and kinds of parts in their order, tools and their schema dialect, formats of ids, sizes in bytes."""
    body = plain_body(wire.body)
    shape: Json = {
        "bytes": len(codec.dumps(body)),
        "parts": {name: len(codec.dumps(part)) for name, part in body.items() if isinstance(part, dict | list)},
        "values": {name: part for name, part in body.items() if isinstance(part, bool | int | float)},
    }
    for name in _CONVERSATIONS:
        listed = body.get(name)
        if isinstance(listed, list):
            shape["sequence"] = [_message(item) for item in listed[-MAX_LISTED:]]
            shape["messages"] = len(listed)
            shape["ids"] = sorted(set(_ids(listed)))[:MAX_LISTED]
    if isinstance(body.get("tools"), list):
        tools = list(_tools(body["tools"], 0))
        shape["tools"] = [name for name, _, _ in tools[:MAX_LISTED]]
        shape["schema"] = sorted({word for _, _, words in tools for word in words})
        shape["schema_field"] = sorted({field for _, field, _ in tools})
    return shape


def _message(item: Any) -> str:
    if not isinstance(item, dict):
        return type(item).__name__
    kinds = [kind for name in _PARTS for kind in _parts(item.get(name), name)]
    head = _word(item.get("role")) or _word(item.get("type")) or "?"
    return f"{head}: {'+'.join(kinds)}" if kinds else head


def _parts(found: Any, name: str) -> Iterator[str]:
    if isinstance(found, str):
        yield "text" if found else "empty"
    for part in found if isinstance(found, list) else ():
        if isinstance(part, dict):
            if name == "tool_calls":
                yield "tool_call"
            else:
                yield _word(part.get("type")) or "+".join(key for key in part if key in _PART_KEYS) or "?"


def _ids(found: Any, depth: int = 0) -> Iterator[str]:
    if depth > MAX_DEPTH:
        return
    if isinstance(found, list):
        for item in found:
            yield from _ids(item, depth + 1)
    elif isinstance(found, dict):
        for name, item in found.items():
            if name in _IDS and isinstance(item, str):
                yield f"{name} {_id_format(item)}"
            elif name not in ("input", "arguments", "args", "response"):  # what the model or a tool wrote
                yield from _ids(item, depth + 1)


def _id_format(given: str) -> str:
    """`toolu_` and 24 letters or digits -> `toolu_[a-zA-Z0-9]{24}`."""
    found = _ID_PREFIX.match(given)
    prefix = found.group() if found else ""
    rest = given[len(prefix) :]
    classes = "".join(
        name for name, pattern in (("a-z", r"[a-z]"), ("A-Z", r"[A-Z]"), ("0-9", r"[0-9]")) if re.search(pattern, rest)
    )
    other = "".join(sorted(set(re.sub(r"[a-zA-Z0-9]", "", rest)) & set("_-.:|/+=")))
    strange = "?" if re.search(r"[^\w.:|/+=-]", rest, re.ASCII) else ""
    return f"{prefix}[{classes}{other}{strange}]{{{len(rest)}}}"


def _tools(found: Any, depth: int) -> Iterator[tuple[str, str, set[str]]]:
    """(name, field of the schema, keywords in it) of each tool, also inside `function` and `functionDeclarations`."""
    for item in found if isinstance(found, list) else [found]:
        if not isinstance(item, dict) or depth > 2:
            continue
        field = next((name for name in _SCHEMAS if isinstance(item.get(name), dict)), "")
        if isinstance(item.get("name"), str):
            words = {"strict"} if "strict" in item else set()
            _keywords(item.get(field), words, 0)
            yield _word(item["name"]) or "?", field or "none", words
        else:
            for name in ("function", "functionDeclarations", "function_declarations"):
                if name in item:
                    yield from _tools(item[name], depth + 1)


def _keywords(schema: Any, words: set[str], depth: int) -> None:
    """Collect the JSON Schema keywords of a schema; names of properties and values of enums are not keywords."""
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return
    words |= _KEYWORDS & schema.keys()
    kind = schema.get("type")
    if isinstance(kind, str) and kind.isupper():
        words.add("type in capitals")
    elif isinstance(kind, list):
        words.add("type as a list")
    for name in ("properties", "$defs", "definitions", "patternProperties"):
        inner = schema.get(name)
        for part in inner.values() if isinstance(inner, dict) else ():
            _keywords(part, words, depth + 1)
    for name in ("items", "additionalProperties", "not"):
        _keywords(schema.get(name), words, depth + 1)
    for name in ("anyOf", "oneOf", "allOf", "prefixItems"):
        listed = schema.get(name)
        for part in listed if isinstance(listed, list) else ():
            _keywords(part, words, depth + 1)


def _word(found: Any) -> str:
    return found if isinstance(found, str) and _WORD.fullmatch(found) else ""
