"""A request as a model sees it, whatever API it used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tests.helpers.scripted_model import api_of

if TYPE_CHECKING:
    from tests.helpers.fake_server import Received


class SeenRequest(NamedTuple):
    """One request, read by its meaning."""

    api: str
    model: str
    system: str
    tools: tuple[str, ...]
    said: tuple[str, ...]
    """The user's texts, in order."""
    results: tuple[str, ...]
    """What tools gave back, as text."""
    images: tuple[str, ...]
    """Base64 data of the images."""


def read_request(request: Received) -> SeenRequest:
    """The request by its meaning."""
    api = api_of(request.path)
    body = request.json()
    return _READERS[api](api, body, request.path)


def _anthropic(api: str, body: Any, path: str) -> SeenRequest:
    system = body.get("system", "")
    blocks = [block for message in body["messages"] if message["role"] == "user" for block in _blocks(message)]
    return SeenRequest(
        api,
        body["model"],
        system if isinstance(system, str) else "\n".join(block["text"] for block in system),
        tuple(tool["name"] for tool in body.get("tools", [])),
        tuple(block["text"] for block in blocks if block["type"] == "text"),
        tuple(_text(block.get("content", "")) for block in blocks if block["type"] == "tool_result"),
        tuple(block["source"]["data"] for block in blocks if block["type"] == "image"),
    )


def _blocks(message: Any) -> list[Any]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(block.get("text", "")) for block in content)


def _responses(api: str, body: Any, path: str) -> SeenRequest:
    items = body["input"]
    blocks = [block for item in items if item.get("role") == "user" for block in item["content"]]
    rules = [_text(item["content"]) for item in items if item.get("role") in ("system", "developer")]
    return SeenRequest(
        api,
        body["model"],
        "\n".join([body.get("instructions") or "", *rules]).strip(),
        tuple(tool["name"] for tool in body.get("tools", [])),
        tuple(block["text"] for block in blocks if block["type"] == "input_text"),
        tuple(_text(item["output"]) for item in items if item.get("type") == "function_call_output"),
        tuple(block["image_url"].partition(",")[2] for block in blocks if block["type"] == "input_image"),
    )


def _chat(api: str, body: Any, path: str) -> SeenRequest:
    messages = body["messages"]
    blocks = [block for message in messages if message["role"] == "user" for block in _blocks(message)]
    rules = [_text(message["content"]) for message in messages if message["role"] in ("system", "developer")]
    return SeenRequest(
        api,
        body["model"],
        "\n".join(rules),
        tuple(tool["function"]["name"] for tool in body.get("tools", [])),
        tuple(block["text"] for block in blocks if block["type"] == "text"),
        tuple(_text(message["content"]) for message in messages if message["role"] == "tool"),
        tuple(block["image_url"]["url"].partition(",")[2] for block in blocks if block["type"] == "image_url"),
    )


def _gemini(api: str, body: Any, path: str) -> SeenRequest:
    parts = [part for content in body["contents"] if content["role"] == "user" for part in content["parts"]]
    system = body.get("systemInstruction") or {"parts": []}
    tools = [tool for group in body.get("tools", []) for tool in group.get("functionDeclarations", [])]
    results = [part["functionResponse"]["response"] for part in parts if "functionResponse" in part]
    return SeenRequest(
        api,
        path.partition("/models/")[2].partition(":")[0],
        "\n".join(part["text"] for part in system["parts"]),
        tuple(tool["name"] for tool in tools),
        tuple(part["text"] for part in parts if "text" in part),
        tuple(str(result.get("output", result.get("error", ""))) for result in results),
        tuple(part["inlineData"]["data"] for part in parts if "inlineData" in part),
    )


def _ollama(api: str, body: Any, path: str) -> SeenRequest:
    messages = body["messages"]
    said = [message for message in messages if message["role"] == "user"]
    return SeenRequest(
        api,
        body["model"],
        "\n".join(message["content"] for message in messages if message["role"] == "system"),
        tuple(tool["function"]["name"] for tool in body.get("tools", [])),
        tuple(message["content"] for message in said if message["content"]),
        tuple(message["content"] for message in messages if message["role"] == "tool"),
        tuple(image for message in said for image in message.get("images", [])),
    )


_READERS = {
    "anthropic-messages": _anthropic,
    "openai-responses": _responses,
    "openai-chat": _chat,
    "google-genai": _gemini,
    "ollama-chat": _ollama,
}
