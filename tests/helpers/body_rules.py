"""What each API demands of a request besides the order of its messages: parameters, tools, media. Pure.

    broken_parts("openai-chat", body, quirks) -> ["tools: [] is too short"]

`quirks` say which dialect of the API is spoken: a server that wants a field elsewhere has its own rule.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING, Any

from yume_shim.text.image_head import dimensions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from yume_shim.types.blocks import Json
    from yume_shim.types.models import Quirks

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
CLAUDE_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
GOOGLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")
EFFORTS = ("low", "medium", "high", "xhigh", "max")
IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
MIN_BUDGET = 1_024
MAX_MARKS = 4
MAX_KEY = 64
_MAGIC = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
    "application/pdf": b"%PDF-",
}


def broken_parts(api: str, body: Json, quirks: Quirks) -> list[str]:
    """Everything that the API would refuse about the request's own fields."""
    return list(_RULES[api](body, quirks))


def _at_least_if_said(body: Json, name: str, least: int) -> Iterator[str]:
    if name in body:
        yield from _at_least(body, name, least)


def _between(body: Json, name: str, least: float, most: float) -> Iterator[str]:
    value = body.get(name)
    if value is not None and not (isinstance(value, int | float) and least <= value <= most):
        yield f"{name}: {value!r} is not between {least} and {most}"


def _at_least(body: Json, name: str, least: int) -> Iterator[str]:
    if not isinstance(body.get(name), int) or body[name] < least:
        yield f"{name}: {body.get(name)!r} is less than {least}"


def _only(body: Json, *names: str) -> Iterator[str]:
    for name in body:
        if name not in names:
            yield f"{name}: Extra inputs are not permitted"


def _file(where: str, media_type: str, data: str, allowed: tuple[str, ...], quirks: Quirks) -> Iterator[str]:
    """The bytes are there, are base64, are what they are called, and not too many."""
    if media_type not in allowed:
        yield f"{where}: media type {media_type!r} is not one of {allowed}"
    try:
        found = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        yield f"{where}: not base64"
        return
    if not found:
        yield f"{where}: no data"
    if not found.startswith(_MAGIC.get(media_type, b"")):
        yield f"{where}: specified using the {media_type} media type, but it appears to be something else"
    if media_type in IMAGES and 0 < quirks.image_bytes < len(found):
        yield f"{where}: image exceeds {quirks.image_bytes} bytes maximum"
    if 0 < quirks.image_side < max(dimensions(media_type, found) or (0,)):
        yield f"{where}: image dimensions exceed max allowed size: {quirks.image_side} pixels"


def _address(where: str, url: str, allowed: tuple[str, ...], quirks: Quirks) -> Iterator[str]:
    """A `data:` URL with a file of its kind, or somewhere to fetch it."""
    head, comma, data = url.partition(";base64,")
    if comma and head.startswith("data:"):
        yield from _file(where, head[5:], data, allowed, quirks)
    elif not url.startswith(("http://", "https://")):
        yield f"{where}: Expected a base64-encoded data URL or an address, got {url[:40]!r}"


def _schema(where: str, schema: Any) -> Iterator[str]:
    if not isinstance(schema, dict) or schema.get("type") != "object":
        yield f"{where}: schema must be of type object"
    elif any(name in schema for name in ("oneOf", "anyOf", "allOf")):
        yield f"{where}: does not support oneOf, allOf, or anyOf at the top level"


def _names(where: str, names: list[str], legal: re.Pattern[str]) -> Iterator[str]:
    for name in names:
        if not legal.fullmatch(name):
            yield f"{where}: invalid tool name {name!r}"
    if len(set(names)) < len(names):
        yield f"{where}: tool names must be unique"


# ---------------------------------------------------------------- Anthropic Messages


def _anthropic(body: Json, quirks: Quirks) -> Iterator[str]:
    known = ("model", "max_tokens", "stream", "system", "tools", "messages", "thinking", "tool_choice", "output_config")
    yield from _only(body, *known, "metadata", "temperature", "top_p", "stop_sequences", *quirks.extra_body)
    yield from _at_least(body, "max_tokens", 1)
    yield from _between(body, "temperature", 0, 1)
    yield from _between(body, "top_p", 0, 1)
    if any(not text.strip() for text in body.get("stop_sequences", ())):
        yield "stop_sequences: each stop sequence must contain non-whitespace"
    tools = body.get("tools", [])
    yield from _names("tools", [tool["name"] for tool in tools], CLAUDE_NAME)
    for tool in tools:
        yield from _schema(f"tools.{tool['name']}.input_schema", tool["input_schema"])
    yield from _anthropic_thinking(body)
    choice = body.get("tool_choice")
    if choice is not None and (not tools or choice["type"] not in ("auto", "any", "tool", "none")):
        yield f"tool_choice: {choice} with {len(tools)} tools"
    if choice is not None and choice["type"] == "tool" and choice["name"] not in [tool["name"] for tool in tools]:
        yield f"tool_choice: tool {choice['name']!r} not found"
    if body.get("output_config", {}).get("effort", "low") not in EFFORTS:
        yield f"output_config.effort: {body['output_config']}"
    if len(body.get("metadata", {}).get("user_id", "")) > 256:
        yield "metadata.user_id: too long"
    for block in body.get("system", []):
        if block["type"] != "text" or not block["text"].strip():
            yield "system: text content blocks must contain non-whitespace text"
    yield from _anthropic_marks(body, quirks)
    for place, message in enumerate(body["messages"]):
        if message["role"] not in ("user", "assistant"):
            yield f"messages.{place}: unexpected role {message['role']!r}"
        for block in message["content"]:
            yield from _anthropic_media(f"messages.{place}", block, quirks)


def _anthropic_thinking(body: Json) -> Iterator[str]:
    thinking = body.get("thinking")
    if thinking is None:
        return
    if thinking["type"] not in ("enabled", "adaptive", "disabled", "between_tools"):
        yield f"thinking.type: {thinking['type']!r}"
    budget = thinking.get("budget_tokens")
    if (budget is not None) != (thinking["type"] == "enabled"):
        yield f"thinking: budget_tokens belongs to enabled: {thinking}"
    if budget is not None and not MIN_BUDGET <= budget < body["max_tokens"]:
        yield f"thinking.budget_tokens: {budget} must be at least 1024 and less than max_tokens"
    if thinking["type"] != "disabled" and (body.get("temperature") is not None or body.get("top_p") is not None):
        yield "`temperature` may only be set to 1 when thinking is enabled"
    if thinking["type"] == "enabled" and body.get("tool_choice", {}).get("type") in ("any", "tool"):
        yield "Thinking may not be enabled when tool_choice forces tool use."


def _anthropic_marks(body: Json, quirks: Quirks) -> Iterator[str]:
    blocks = [*body.get("tools", []), *body.get("system", [])]
    blocks += [block for message in body["messages"] for block in message["content"]]
    blocks += [part for block in blocks if isinstance(block.get("content"), list) for part in block["content"]]
    marked = [block for block in blocks if "cache_control" in block]
    if len(marked) > MAX_MARKS:
        yield f"A maximum of 4 blocks with cache_control may be provided. Found {len(marked)}."
    if marked and not quirks.prompt_cache:
        yield "cache_control: this endpoint does not know it"
    for block in marked:
        if block.get("type") in ("thinking", "redacted_thinking"):
            yield "cache_control cannot be set on thinking blocks"
        if block.get("type") == "text" and not block["text"].strip():
            yield "cache_control cannot be set for empty text blocks"


def _anthropic_media(where: str, block: Json, quirks: Quirks, *, inside: bool = False) -> Iterator[str]:
    source = block.get("source", {})
    match block["type"]:
        case "image":
            if not quirks.images or (inside and not quirks.images_in_results):
                yield f"{where}: no images are taken here"
            if source["type"] == "url":
                yield from _address(where, source["url"], (), quirks)
            else:
                yield from _file(where, source["media_type"], source["data"], IMAGES, quirks)
        case "document":
            if not quirks.documents or (inside and not quirks.images_in_results):
                yield f"{where}: no documents are taken here"
            if source["type"] == "base64":
                yield from _file(where, source["media_type"], source["data"], ("application/pdf",), quirks)
            elif source["type"] != "text" or source["media_type"] != "text/plain":
                yield f"{where}: document source {source['type']}"
        case "tool_result":
            for part in block["content"] if isinstance(block.get("content"), list) else ():
                yield from _anthropic_media(f"{where}.tool_result", part, quirks, inside=True)
        case "tool_use":
            yield from _names(where, [block["name"]], CLAUDE_NAME)


# ---------------------------------------------------------------- OpenAI Responses


def _responses(body: Json, quirks: Quirks) -> Iterator[str]:
    known = ("model", "input", "stream", "stream_options", "store", "max_output_tokens", "instructions", "tools")
    further = ("tool_choice", "include", "reasoning", "prompt_cache_key", "temperature", "top_p")
    yield from _only(body, *known, *further, *quirks.extra_body)
    yield from _at_least_if_said(body, "max_output_tokens", 16)
    yield from _openai_common(body, quirks)
    if not body["input"]:
        yield "input: must not be empty"
    tools = body.get("tools", [])
    yield from _names("tools", [tool["name"] for tool in tools], NAME)
    for tool in tools:
        yield from _schema(f"tools.{tool['name']}", tool["parameters"])
        if not isinstance(tool.get("strict"), bool):
            yield f"Missing required parameter: tools.{tool['name']}.strict"
        elif tool["strict"]:
            yield from _strict(f"tools.{tool['name']}", tool["parameters"])
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice["name"] not in [tool["name"] for tool in tools]:
        yield f"Tool choice {choice} not found in 'tools' parameter."
    if body.get("reasoning", {}).get("effort", "low") not in ("none", "minimal", *EFFORTS):
        yield f"reasoning.effort: {body['reasoning']}"
    kinds = [item.get("type", "message") for item in body["input"]]
    for place, item in enumerate(body["input"]):
        if quirks.calls_together and item.get("type") == "function_call":
            after = next(kind for kind in (*kinds[place + 1 :], "nothing") if kind != "function_call")
            if after != "function_call_output":
                yield f"input[{place}]: No tool output found for tool call: {after} follows it"
        if item.get("role", "user") not in ("user", "assistant", "system", "developer"):
            yield f"input[{place}].role: {item['role']!r}"
        output = item.get("output")
        if isinstance(output, list) and not quirks.images_in_results:
            yield f"input[{place}].output: this endpoint takes text only"
        parts = item.get("content", output)
        for part in parts if isinstance(parts, list) else ():
            yield from _openai_part(f"input[{place}]", part, quirks)


def _strict(where: str, schema: Any) -> Iterator[str]:
    """Every property required, nothing else allowed, at every level."""
    if isinstance(schema, dict) and isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            yield f"{where}: 'additionalProperties' is required to be supplied and to be false."
        if sorted(schema.get("required", [])) != sorted(schema["properties"]):
            yield f"{where}: 'required' is required to be an array including every key in properties."
        for name, part in schema["properties"].items():
            yield from _strict(f"{where}.{name}", part)


def _openai_common(body: Json, quirks: Quirks) -> Iterator[str]:
    if body.get("tools") == []:
        yield "tools: [] is too short"
    if "tool_choice" in body and not body.get("tools"):
        yield "tool_choice is only allowed when tools are specified"
    if isinstance(body.get("tool_choice"), str) and body["tool_choice"] not in ("auto", "none", "required"):
        yield f"tool_choice: {body['tool_choice']!r}"
    if "stream_options" in body and not body.get("stream"):
        yield "The 'stream_options' parameter is only allowed when 'stream' is enabled."
    if len(body.get("prompt_cache_key", "")) > MAX_KEY or ("prompt_cache_key" in body and not quirks.cache_key):
        yield "prompt_cache_key: unknown here or too long"
    yield from _between(body, "temperature", 0, quirks.temperature_max)
    yield from _between(body, "top_p", 0, 1)
    effort = body.get("reasoning_effort")
    if effort is not None and effort not in ("none", "minimal", *EFFORTS):
        yield f"reasoning_effort: {effort!r}"


def _openai_part(where: str, part: Json, quirks: Quirks) -> Iterator[str]:
    match part["type"]:
        case "text" | "input_text" | "output_text":
            if not isinstance(part["text"], str) or not part["text"].strip():
                yield f"{where}: blank text"
        case "input_image" | "image_url":
            url = part["image_url"]
            if not quirks.images:
                yield f"{where}: unknown variant `image_url`, expected `text`"
            yield from _address(where, url["url"] if isinstance(url, dict) else url, quirks.image_formats, quirks)
        case "input_file" | "file":
            file = part.get("file", part)
            if not quirks.documents:
                yield f"{where}: files are not taken here"
            if not file["filename"]:
                yield f"{where}: a file needs a name"
            yield from _address(where, file["file_data"], ("application/pdf",), quirks)
        case "refusal":
            pass
        case kind:
            yield f"{where}: Invalid value: {kind!r}"


# ---------------------------------------------------------------- Chat Completions


def _chat(body: Json, quirks: Quirks) -> Iterator[str]:
    limits = ("max_tokens", "max_completion_tokens")
    known = ("model", "messages", "stream", "stream_options", *limits, "tools", "tool_choice")
    further = (quirks.effort_field, "prompt_cache_key", "temperature", "top_p", "stop")
    yield from _only(body, *known, *further, *quirks.extra_body)
    for name in limits:
        yield from _at_least_if_said(body, name, 1)
    if all(name in body for name in limits):
        yield "max_tokens and max_completion_tokens cannot both be set"
    yield from _openai_common(body, quirks)
    if not body["messages"]:
        yield "messages: [] is too short"
    if "stop" in body and not 1 <= len(body["stop"]) <= (quirks.stop_sequences_max or len(body["stop"])):
        yield f"stop: {len(body['stop'])} sequences"
    functions = [tool["function"] for tool in body.get("tools", [])]
    yield from _names("tools", [function["name"] for function in functions], NAME)
    for function in functions:
        yield from _schema(f"tools.{function['name']}", function["parameters"])
        if function.get("strict"):
            yield from _strict(f"tools.{function['name']}", function["parameters"])
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice["function"]["name"] not in [function["name"] for function in functions]:
        yield f"tool_choice: {choice} is not among the tools"
    for place, message in enumerate(body["messages"]):
        yield from _chat_message(f"messages[{place}]", message, body["messages"][place - 1 : place], quirks)


def _chat_message(where: str, message: Json, before: list[Json], quirks: Quirks) -> Iterator[str]:
    role = message["role"]
    if role not in ("system", "developer", "user", "assistant", "tool"):
        yield f"{where}.role: {role!r} is not one of the roles"
    if role == "user" and before and before[0]["role"] == "tool" and not quirks.user_after_results:
        yield f"{where}: Unexpected role 'user' after role 'tool'"
    if role == "tool" and quirks.tool_result_name and not message.get("name"):
        yield f"{where}.name: Field required"
    calls = message.get("tool_calls", [])
    echo = quirks.reasoning_echo
    if calls and echo and echo != "reasoning_details" and not isinstance(message.get(echo), str):
        yield f"{where}: `{echo}` must be passed back to the API"
    legal = re.compile(quirks.id_pattern or ".{1,40}")
    for call in calls:
        if isinstance(call["function"]["arguments"], str) != (quirks.stringify_arguments is not False):
            yield f"{where}: arguments in the wrong form"
        if not legal.fullmatch(call["id"]):
            yield f"{where}: Tool call id was {call['id']!r}"
    content = message.get("content")
    if isinstance(content, list):
        for part in content:
            yield from _openai_part(where, part, quirks)
    elif content is None and not (calls and quirks.empty_content != "empty"):
        yield f"{where}.content: a string is needed"


# ---------------------------------------------------------------- Gemini


def _google(body: Json, quirks: Quirks) -> Iterator[str]:
    known = ("contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "continuationToken")
    yield from _only(body, *known, *quirks.extra_body)
    config = body["generationConfig"]
    yield from _at_least(config, "maxOutputTokens", 1)
    yield from _between(config, "temperature", 0, 2)
    yield from _between(config, "topP", 0, 1)
    stops = config.get("stopSequences", [])
    if quirks.stop_sequences_max and len(stops) > quirks.stop_sequences_max:
        yield f"generationConfig.stopSequences: {len(stops)} sequences"
    thinking = config.get("thinkingConfig", {})
    if "thinkingLevel" in thinking and "thinkingBudget" in thinking:
        yield "You can only set only one of thinking budget and thinking level."
    if thinking.get("thinkingLevel", "LOW") not in ("MINIMAL", "LOW", "MEDIUM", "HIGH"):
        yield f"thinkingLevel: {thinking}"
    yield from _google_tools(body, quirks)
    if not body["contents"]:
        yield "contents is not specified"
    for part in body.get("systemInstruction", {}).get("parts", ()):
        if not part["text"].strip():
            yield "systemInstruction: empty part"
    for place, content in enumerate(body["contents"]):
        for part in content["parts"]:
            yield from _google_part(f"contents[{place}]", part, quirks)


def _google_tools(body: Json, quirks: Quirks) -> Iterator[str]:
    if "tools" not in body:
        if "toolConfig" in body:
            yield "Function calling config is set without function_declarations."
        return
    declared: list[Json] = []
    for tool in body["tools"]:
        found = tool.get("functionDeclarations") or tool.get("function_declarations")
        declared += found or [tool.get("function") or {}]
    names = [each.get("name", "") for each in declared]
    yield from _names("tools", names, GOOGLE_NAME)
    for each in declared:
        if "parameters" in each and "parametersJsonSchema" in each:
            yield f"{each['name']}: parameters and parametersJsonSchema"
    choice = body.get("toolConfig", {}).get("functionCallingConfig", {})
    if choice.get("mode", "AUTO") not in ("AUTO", "ANY", "NONE", "VALIDATED"):
        yield f"toolConfig.mode: {choice}"
    allowed = choice.get("allowedFunctionNames", [])
    if allowed and (choice["mode"] != "ANY" or not set(allowed) <= set(names)):
        yield f"allowed_function_names: {allowed}"


def _google_part(where: str, part: Json, quirks: Quirks) -> Iterator[str]:
    data = [name for name in part if name not in ("thought", "thoughtSignature")]
    if len(data) != 1:
        yield f"{where}: required oneof field 'data' must have one initialized field: {sorted(part)}"
    if "inlineData" in part:
        kind = part["inlineData"]["mimeType"]
        if (kind == "application/pdf" and not quirks.documents) or (kind.startswith("image/") and not quirks.images):
            yield f"{where}: {kind} is not taken here"
        allowed = (*quirks.image_formats, "application/pdf")
        yield from _file(where, kind, part["inlineData"]["data"], allowed, quirks)
    if "functionCall" in part:
        yield from _names(where, [part["functionCall"]["name"]], GOOGLE_NAME)
        if not isinstance(part["functionCall"].get("args", {}), dict):
            yield f"{where}: functionCall.args must be an object"
    for inner in part.get("functionResponse", {}).get("parts", ()):
        if not quirks.images_in_results:
            yield f"{where}: no media in function responses here"
        yield from _google_part(f"{where}.functionResponse", inner, quirks)


# ---------------------------------------------------------------- Ollama


def _ollama(body: Json, quirks: Quirks) -> Iterator[str]:
    known = ("model", "messages", "stream", "tools", "options", "think", "keep_alive", "format", "truncate", "shift")
    yield from _only(body, *known, *quirks.extra_body)
    if body.get("tools") == []:
        yield "tools: empty"
    for tool in body.get("tools", []):
        yield from _schema(f"tools.{tool['function']['name']}", tool["function"]["parameters"])
    for place, message in enumerate(body["messages"]):
        if message.get("images") and not quirks.images:
            yield f"messages[{place}]: this model does not support image input"
        for data in message.get("images", ()):
            formats = quirks.image_formats
            if all(any(_file("", kind, data, formats, quirks)) for kind in formats):
                yield f"messages[{place}]: image: unknown format"


_RULES: dict[str, Callable[[Json, Quirks], Iterator[str]]] = {
    "anthropic-messages": _anthropic,
    "google-genai": _google,
    "ollama-chat": _ollama,
    "openai-chat": _chat,
    "openai-responses": _responses,
}
