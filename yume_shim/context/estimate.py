"""How many tokens a text or a request is, when the provider does not say.

Characters times 0.3, rounded up: a little high for English, about right for code and JSON. tiktoken counts exactly
(for its own vocabulary), but it downloads its data on first use and a turn must never wait for a download; so it is
used only when its file is on this machine already, and whole.
"""

from __future__ import annotations

import os

from yume_shim.text import codec
from yume_shim.types.blocks import Document, Image, Other, Text, Thinking, ToolCall, ToolResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import TypeAlias

    from yume_shim.types.blocks import Block
    from yume_shim.types.models import Request

    Count: TypeAlias = Callable[[str], int]

IMAGE_TOKENS = 1_600
"""An image, whatever its bytes: vendors scale it down to about this much."""

DOCUMENT_CHARS_PER_TOKEN = 30
"""Base64 characters of a PDF per token: a page is some 50 KB of file and 2,000 tokens of content."""

EXACT_LIMIT = 100_000
"""Longer texts are not encoded: the encoder needs quadratic time for long runs without a word break."""

O200K_FILE = "fb374d419588a4632f3f557e76b4b70aebbca790"
"""The name tiktoken gives its o200k_base data: the SHA-1 of the address it comes from."""

O200K_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
"""The content tiktoken insists on; on anything else it would delete the file and download it again."""

_exact: Count | None = None
_looked = False


def estimate_text(text: str) -> int:
    """Tokens of one text."""
    global _exact, _looked
    if not _looked:
        _looked = True
        _exact = load_exact(os.environ)
    if _exact is not None and len(text) <= EXACT_LIMIT:
        return _exact(text)
    return by_characters(text)


def estimate_request(request: Request) -> int:
    """Tokens of everything a request would send."""
    total = sum(map(estimate_text, request.system))
    for tool in request.tools:
        total += estimate_text(f"{tool.name}\n{tool.description}\n{codec.dumps(tool.schema).decode()}")
    for message in request.messages:
        total += sum(map(_block, message.blocks))
    return total


def by_characters(text: str) -> int:
    """Three tokens for ten characters, rounded up."""
    return (len(text) * 3 + 9) // 10


def load_exact(environ: Mapping[str, str]) -> Count | None:
    """tiktoken's counter, or None when its data is not here or the package does not work."""
    if not _data_is_here(environ):
        return None
    try:
        import tiktoken

        encoder = tiktoken.get_encoding("o200k_base")
    except Exception:  # a broken install must not break a turn: an estimate is all that is lost
        return None
    return lambda text: len(encoder.encode_ordinary(text))


def _data_is_here(environ: Mapping[str, str]) -> bool:
    folder = environ.get("TIKTOKEN_CACHE_DIR", environ.get("DATA_GYM_CACHE_DIR"))
    if folder is None:
        import tempfile

        folder = os.path.join(tempfile.gettempdir(), "data-gym-cache")
    if not folder:  # "" turns tiktoken's cache off
        return False
    try:
        with open(os.path.join(folder, O200K_FILE), "rb") as file:
            data = file.read()
    except OSError:
        return False
    import hashlib

    return hashlib.sha256(data).hexdigest() == O200K_SHA256


def _block(block: Block) -> int:
    match block:
        case Text(text) | Thinking(text):
            return estimate_text(text)
        case ToolCall():
            arguments = block.broken if block.broken is not None else codec.dumps(block.input).decode()
            return estimate_text(f"{block.name}{arguments}")
        case ToolResult():
            return sum(map(_block, _parts(block)))
        case Image():
            return IMAGE_TOKENS
        case Document():
            if block.media_type == "text/plain":
                return estimate_text(block.data)
            return -(-len(block.data) // DOCUMENT_CHARS_PER_TOKEN)
        case Other():
            return estimate_text(codec.dumps(block.data).decode())


def _parts(result: ToolResult) -> Iterator[Block]:
    if isinstance(result.content, str):
        yield Text(result.content)
    else:
        yield from result.content
