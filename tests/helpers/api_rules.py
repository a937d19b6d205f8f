"""What each API demands of a conversation, as its vendor documents it or was seen to enforce it. Pure.

    broken_rules("anthropic-messages", body, issued) -> ["messages.2: `tool_use` without a `tool_result` …"]

`issued` holds the signatures and encrypted reasoning that this very API gave out earlier: anything else is foreign.
It may hold other texts of its answers: ids that it gave out itself may have any length, and an answer that it paused
may be last.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from tests.helpers.body_rules import broken_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from yume_shim.types.blocks import Json
    from yume_shim.types.models import ModelSpec

    Rules = Callable[[Json, Collection[str]], Iterator[str]]

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
ANTHROPIC_ID = re.compile(r"[A-Za-z0-9_-]+")
SKIP_SIGNATURE = "skip_thought_signature_validator"
"""Gemini's documented word for a call that another model made."""


def broken_rules(api: str, body: Json, issued: Collection[str] = ()) -> list[str]:
    """Everything that the API would refuse about the request, in its own words where known."""
    return list(_RULES[api](body, issued))


def broken_request(body: Json, spec: ModelSpec, issued: Collection[str] = ()) -> list[str]:
    """The same, and everything about parameters, tools and media, for the dialect that the model's endpoint speaks."""
    api, quirks = spec.endpoint.api, spec.endpoint.quirks
    broken = broken_rules(api, body, issued)
    if spec.thinking != "level" and not quirks.checks_signatures:  # Gemini 2.5 leaves signatures to the client
        broken = [rule for rule in broken if "missing a thought_signature" not in rule]
    if quirks.stringify_arguments and api == "ollama-chat":  # a server that wants what Ollama itself refuses
        broken = [rule for rule in broken if "ToolCallFunctionArguments" not in rule]
    return broken + broken_parts(api, body, quirks)


# ---------------------------------------------------------------- Anthropic Messages


def _anthropic(body: Json, issued: Collection[str]) -> Iterator[str]:
    if not isinstance(body.get("max_tokens"), int):
        yield "max_tokens: Field required"
    messages = body["messages"]
    if not messages or messages[0]["role"] != "user":
        yield "messages: first message must use the user role"
    if messages and messages[-1]["role"] != "user" and not _paused(messages[-1], issued):
        yield "This model does not support assistant message prefill."
    seen: set[str] = set()
    for place, message in enumerate(messages):
        blocks = _as_blocks(message["content"])
        where = f"messages.{place}"
        if not blocks:
            yield f"{where}: all messages must have non-empty content"
        for block in blocks:
            yield from _anthropic_block(where, message["role"], block, issued)
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        for call in calls:
            if not ANTHROPIC_ID.fullmatch(call) and call not in issued:
                yield f"{where}.tool_use.id: String should match pattern"
            if call in seen:
                yield f"{where}: `tool_use` ids must be unique"
            seen.add(call)
        if blocks and message["role"] == "assistant" and blocks[-1]["type"] in ("thinking", "redacted_thinking"):
            yield f"{where}: The final block in an assistant message cannot be `thinking`."
        after = _as_blocks(messages[place + 1]["content"]) if place + 1 < len(messages) else []
        yield from _anthropic_results(where, calls, after)
        before = _as_blocks(messages[place - 1]["content"]) if place else []
        asked = {block["id"] for block in before if block["type"] == "tool_use"}
        for block in blocks:
            if block["type"] == "tool_result" and block["tool_use_id"] not in asked:
                yield f"{where}: unexpected `tool_use_id` found in `tool_result` blocks: {block['tool_use_id']}"


def _paused(message: Json, issued: Collection[str]) -> bool:
    """An answer that stopped with `pause_turn`, amid a server's own tools, is sent back as it is."""
    return "pause_turn" in issued or any(block["type"] == "server_tool_use" for block in _as_blocks(message["content"]))


def _anthropic_block(where: str, role: str, block: Json, issued: Collection[str]) -> Iterator[str]:
    kind = block["type"]
    if kind == "text" and not block["text"].strip():
        yield f"{where}: text content blocks must contain non-whitespace text"
    if role == "assistant" and kind in ("image", "document", "tool_result"):
        yield f"{where}: `{kind}` blocks are not permitted in assistant messages"
    if role == "user" and kind in ("tool_use", "thinking", "redacted_thinking"):
        yield f"{where}: `{kind}` blocks can only be in assistant messages"
    if kind == "thinking" and block.get("signature") not in issued:
        yield f"{where}: Invalid `signature` in `thinking` block"
    if kind == "tool_use" and not isinstance(block["input"], dict):
        yield f"{where}.tool_use.input: Input should be a valid dictionary"
    if kind == "tool_result":
        for part in _as_blocks(block.get("content", [])):
            if part["type"] == "text" and not part["text"].strip() and not isinstance(block["content"], str):
                yield f"{where}.tool_result: text content blocks must be non-empty"


def _anthropic_results(where: str, calls: list[str], after: list[Json]) -> Iterator[str]:
    if not calls:
        return
    first = after[: len(calls)]
    answered = [block.get("tool_use_id") for block in first if block["type"] == "tool_result"]
    if sorted(map(str, answered)) != sorted(calls):
        yield f"{where}: `tool_use` ids were found without `tool_result` blocks immediately after: {calls}"


def _as_blocks(content: Any) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


# ---------------------------------------------------------------- Gemini


def _google(body: Json, issued: Collection[str]) -> Iterator[str]:
    contents = body["contents"]
    if not contents or contents[0]["role"] != "user":
        yield "Please ensure that function call turn comes immediately after a user turn"
    turn = _last_user_text(contents)
    for place, content in enumerate(contents):
        where = f"contents[{place}]"
        if content["role"] not in ("user", "model"):
            yield f"{where}: Please use a valid role: user, model."
        if place and contents[place - 1]["role"] == content["role"] and not _behind_results(contents, place):
            yield f"{where}: Please ensure that multiturn requests alternate between user and model."
        if not content["parts"]:
            yield f"{where}.parts: must not be empty."
        for part in content["parts"]:
            yield from _google_part(where, part, issued)
        calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
        if calls:
            yield from _google_results(where, calls, contents[place + 1 : place + 2])
            first = next(part for part in content["parts"] if "functionCall" in part)
            if place > turn and not first.get("thoughtSignature"):
                yield f"{where}: Function call is missing a thought_signature in functionCall parts."
        elif any("functionResponse" in part for part in content["parts"]) and not (
            place and any("functionCall" in part for part in contents[place - 1]["parts"])
        ):
            yield f"{where}: function response turn comes immediately after a function call turn"


def _behind_results(contents: list[Json], place: int) -> bool:
    """What the user says right after function results is a separate content: beside them it would be counted
    with them (google-gemini/gemini-cli#16135)."""
    answers = [["functionResponse" in part for part in contents[at]["parts"]] for at in (place - 1, place)]
    return all(answers[0]) and not any(answers[1])


def _google_part(where: str, part: Json, issued: Collection[str]) -> Iterator[str]:
    if "text" in part and not part["text"] and "thoughtSignature" not in part:
        yield f"{where}: required oneof field 'data' must have one initialized field"
    signature = part.get("thoughtSignature")
    if signature is not None and signature not in issued and signature != SKIP_SIGNATURE:
        yield f"{where}: Corrupted thought signature."
    if "functionResponse" in part and not isinstance(part["functionResponse"]["response"], dict):
        yield f"{where}: functionResponse.response: Invalid value"


def _google_results(where: str, calls: list[Json], after: list[Json]) -> Iterator[str]:
    parts = after[0]["parts"] if after else []
    responses = [part["functionResponse"] for part in parts if "functionResponse" in part]
    expected = [(call["name"], call.get("id")) for call in calls]
    if [(each["name"], each.get("id")) for each in responses] != expected:
        yield f"{where}: the number of function response parts must equal that of the function call parts: {expected}"


def _last_user_text(contents: list[Json]) -> int:
    """Where the current turn begins: Gemini checks signatures from there on."""
    places = [
        place
        for place, content in enumerate(contents)
        if content["role"] == "user" and any(part.get("text") for part in content["parts"])
    ]
    return places[-1] if places else -1


# ---------------------------------------------------------------- OpenAI Responses


def _responses(body: Json, issued: Collection[str]) -> Iterator[str]:
    items = body["input"]
    open_calls: list[str] = []
    known: set[str] = set()
    for place, item in enumerate(items):
        where = f"input[{place}]"
        kind = item.get("type", "message")
        if kind == "message" and item["role"] != "assistant" and open_calls:
            yield f"{where}: No tool output found for function call {open_calls[0]}."
            open_calls = []
        match kind:
            case "function_call":
                known.add(item["call_id"])
                open_calls.append(item["call_id"])
                yield from _openai_call(where, item["call_id"], item["name"], item["arguments"], 64, issued)
            case "function_call_output":
                if item["call_id"] not in known:
                    yield f"{where}: No tool call found for function call output with call_id {item['call_id']}."
                elif item["call_id"] not in open_calls:
                    yield f"{where}: Duplicate output for call_id {item['call_id']}."
                else:
                    open_calls.remove(item["call_id"])
                if not isinstance(item["output"], str) and not item["output"]:
                    yield f"{where}.output: empty array"
            case "reasoning":
                if item.get("encrypted_content") not in issued:
                    yield f"{where}: The encrypted content could not be verified (invalid_encrypted_content)."
                if "summary" not in item:
                    yield f"Missing required parameter: '{where}.summary'."
                follower = items[place + 1] if place + 1 < len(items) else {"role": "none"}
                if follower.get("type") == "function_call_output" or follower.get("role", "assistant") != "assistant":
                    yield f"{where}: reasoning was provided without its required following item."
            case "message":
                yield from _responses_message(where, item)
            case _:
                pass  # what the server's own tools left
    if open_calls:
        yield f"No tool output found for function call {open_calls[0]}."


def _responses_message(where: str, item: Json) -> Iterator[str]:
    content = item["content"]
    if not content:
        yield f"{where}.content: empty"
    for part in content if isinstance(content, list) else ():
        allowed = (
            ("output_text", "refusal") if item["role"] == "assistant" else ("input_text", "input_image", "input_file")
        )
        if part["type"] not in allowed:
            yield f"{where}.content: Invalid value: '{part['type']}'. Supported values are: {allowed}"


def _openai_call(
    where: str, call_id: str, name: str, arguments: Any, longest: int, issued: Collection[str]
) -> Iterator[str]:
    if not 0 < len(call_id) <= longest and call_id not in issued:
        yield f"{where}: id '{call_id}': string too long. Expected max {longest}"
    if not NAME.fullmatch(name):
        yield f"{where}: Invalid function name '{name}'"
    if not isinstance(json.loads(arguments) if isinstance(arguments, str) else arguments, dict):
        yield f"{where}: arguments must be an object"


# ---------------------------------------------------------------- Chat Completions


def _chat(body: Json, issued: Collection[str]) -> Iterator[str]:
    waiting: list[str] = []
    for place, message in enumerate(body["messages"]):
        where = f"messages[{place}]"
        role = message["role"]
        if role == "tool":
            if message["tool_call_id"] not in waiting:
                yield f"{where}: 'tool' must be a response to a preceding message with 'tool_calls'."
            else:
                waiting.remove(message["tool_call_id"])
            if not isinstance(message["content"], str):
                yield f"{where}.content: tool messages take text only"
            continue
        if waiting:
            yield f"{where}: tool_call_ids did not have response messages: {waiting}"
            waiting = []
        calls = message.get("tool_calls", [])
        if "tool_calls" in message and not calls:
            yield f"{where}.tool_calls: empty array"
        for call in calls:
            waiting.append(call["id"])
            yield from _openai_call(
                where, call["id"], call["function"]["name"], call["function"]["arguments"], 40, issued
            )
        if not message.get("content") and not calls:
            yield f"{where}.content: expected a string, got null"
        for part in message["content"] if isinstance(message.get("content"), list) else ():
            if part["type"] == "text" and not part["text"].strip():
                yield f"{where}.content: text content is empty"
            if part["type"] != "text" and role != "user":
                yield f"{where}.content: only the user may send '{part['type']}'"
    if waiting:
        yield f"tool_call_ids did not have response messages: {waiting}"


# ---------------------------------------------------------------- Ollama


def _ollama(body: Json, issued: Collection[str]) -> Iterator[str]:
    """The server decodes into Go structs: a value of another type is a 400 that names the field."""
    called: list[str] = []
    for place, message in enumerate(body["messages"]):
        where = f"messages[{place}]"
        if message["role"] not in ("system", "user", "assistant", "tool"):
            yield f"{where}.role: unknown role {message['role']!r}"
        if not isinstance(message.get("content"), str):
            yield f"{where}: json: cannot unmarshal into Go struct field ChatRequest.messages.content of type string"
        if message["role"] == "tool":
            if message.get("tool_name") not in called:
                yield f"{where}: a result of {message.get('tool_name')!r}, which was not called"
            else:
                called.remove(message["tool_name"])
            continue
        if called:
            yield f"{where}: calls without their results: {called}"
            called = []
        if not message.get("content") and not message.get("tool_calls") and not message.get("images"):
            yield f"{where}: nothing is said"
        for call in message.get("tool_calls", []):
            called.append(call["function"]["name"])
            if not isinstance(call["function"]["arguments"], dict):
                yield f"{where}: json: cannot unmarshal string into ToolCallFunctionArguments"
        if "images" in message and message["role"] != "user":
            yield f"{where}: only the user shows images"
        if any(image.startswith(("data:", "http")) for image in message.get("images", [])):
            yield f"{where}: illegal base64 data at input byte 4"
    if called:
        yield f"calls without their results: {called}"
    if not isinstance(body.get("options", {}).get("num_ctx"), int):
        yield "no num_ctx: the front of a long conversation would be dropped in silence"


_RULES: dict[str, Rules] = {
    "anthropic-messages": _anthropic,
    "google-genai": _google,
    "openai-responses": _responses,
    "openai-chat": _chat,
    "ollama-chat": _ollama,
}
