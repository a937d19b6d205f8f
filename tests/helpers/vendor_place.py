"""A home and a workspace in which the real program finds every vendor at one loopback server."""

from __future__ import annotations

import base64
import binascii
import io
from typing import TYPE_CHECKING, Any

import PIL.Image

from tests.helpers import child

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.helpers.scripted_model import ModelServer

MODELS = {
    "anthropic-messages": "anthropic/claude-sonnet-4-5",
    "google-genai": "google/gemini-3.5-flash",
    "ollama-chat": "ollama/some-model",
    "openai-chat": "openrouter/some/model",
    "openai-responses": "openai/gpt-5.4",
}
NESTED = ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
FLAT = ("--output-format", "flat")
SESSION = "11111111-2222-4333-8444-555555555555"
_PATHS = {
    "ANTHROPIC_BASE_URL": "",
    "GOOGLE_GEMINI_BASE_URL": "",
    "OLLAMA_BASE_URL": "",
    "OPENAI_BASE_URL": "/v1",
    "OPENROUTER_BASE_URL": "/v1",
}
_KEYS = ("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY")
SHORTEST = 24
"""Base64 of fewer characters is not looked into."""


class VendorPlace:
    """Where the program runs."""

    def __init__(self, folder: Path, server: ModelServer) -> None:
        self.home, self.cwd = folder / "home", folder / "work"
        self.home.mkdir(parents=True)
        self.cwd.mkdir()
        addresses = {name: server.url + path for name, path in _PATHS.items()}
        self.env = child.clean_environment(self.home, **addresses, **dict.fromkeys(_KEYS, "sk-test"))

    def run(self, *argv: str, lines: list[dict[str, Any]], form: tuple[str, ...] = NESTED) -> list[dict[str, Any]]:
        """One process: a turn per user line; what it printed. On stderr only warnings are allowed."""
        script = [step for line in lines for step in (line, {"!after": "result"})]
        ended = child.run([*form, *argv], script, cwd=self.cwd, env=self.env)
        warned = [line for line in ended.lines if line.get("subtype") in ("warning", "informational")]
        words = [line["message"] if form == FLAT else line["content"] for line in warned]
        logged = ended.stderr.decode().splitlines()
        assert [line.partition("] warning ")[2] for line in logged] == words
        return ended.lines


def media_in(body: Any) -> list[tuple[str, tuple[int, int]]]:
    """Every image and PDF in a request body, in order: ("PNG", (wide, high)) or ("PDF", (0, 0))."""
    found: list[tuple[str, tuple[int, int]]] = []
    for text in _strings(body):
        packed = text.partition(";base64,")[2] if text.startswith("data:") else text
        if len(packed) < SHORTEST:
            continue
        try:
            data = base64.b64decode(packed, validate=True)
        except (binascii.Error, ValueError):
            continue
        if data.startswith(b"%PDF-"):
            found.append(("PDF", (0, 0)))
            continue
        try:
            image = PIL.Image.open(io.BytesIO(data))
        except OSError:
            continue
        found.append((str(image.format), image.size))
    return found


def _strings(item: Any) -> Iterator[str]:
    if isinstance(item, str):
        yield item
    elif isinstance(item, dict):
        for inner in item.values():
            yield from _strings(inner)
    elif isinstance(item, list):
        for inner in item:
            yield from _strings(inner)
