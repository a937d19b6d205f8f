"""Recognises an address that speaks another API than it should, by the shape of what it sends."""

from __future__ import annotations

from yume_shim.providers.wire.failures import failure_wrong_api
from yume_shim.text import codec
from yume_shim.types.errors import ProviderFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from yume_shim.types.blocks import Json

QUOTE = 200
"""Characters of an unknown answer that are quoted."""
_MESSAGES = frozenset(
    (
        "message",
        "message_start",
        "message_delta",
        "message_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
    )
)
_SHAPES: Mapping[str, Callable[[Json], bool]] = {
    "anthropic-messages": lambda frame: str(frame.get("type")) in _MESSAGES,
    "openai-responses": lambda frame: (
        str(frame.get("type", "")).startswith("response.") or frame.get("object") == "response"
    ),
    "google-genai": lambda frame: any(name in frame for name in ("candidates", "promptFeedback", "usageMetadata")),
    "openai-chat": lambda frame: (
        "choices" in frame or "x_groq" in frame or str(frame.get("object", "")).startswith("chat.completion")
    ),
    "ollama-chat": lambda frame: "done" in frame and ("message" in frame or "response" in frame),
}
"""What no other API sends. Pings, errors and first frames of gateways have no shape of their own."""


class ApiCheck:
    """Looks at the frames of one answer until one has the shape of its API."""

    def __init__(self, api: str, provider: str) -> None:
        self._api, self._provider = api, provider
        self._unknown = ""
        self.open = api in _SHAPES
        """No frame of this API was seen yet."""

    def see(self, frame: Json) -> None:
        """Raises ProviderFailed if the frame is one of another API."""
        if "!done" in frame:
            return
        if frame.get("error") or frame.get("type") == "error" or _SHAPES[self._api](frame):
            self.open = False
            return
        other = next((api for api, fits in _SHAPES.items() if fits(frame)), "")
        if other:
            raise ProviderFailed(failure_wrong_api(self._provider, self._api, f"it seems to speak {other}"))
        self._unknown = self._unknown or codec.dumps(frame).decode("utf-8", "replace")[:QUOTE]

    def end(self) -> None:
        """The answer ended before its end mark. Raises ProviderFailed if nothing in it was of this API."""
        if self.open and self._unknown:
            raise ProviderFailed(failure_wrong_api(self._provider, self._api, f"it answered {self._unknown}"))
