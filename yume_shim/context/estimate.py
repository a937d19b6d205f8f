"""How many tokens a text, a history or a request is, when the provider does not say, and what room that leaves.

Characters times 0.3, rounded up: a little high for English, about right for code and JSON. tiktoken counts exactly
(for its own vocabulary), but it downloads its data on first use and a turn must never wait for a download; so it is
used only when its file is on this machine already, and whole.
"""

from __future__ import annotations

import os

from yume_shim.text import codec
from yume_shim.types.blocks import Document, Image, Other, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.value import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import TypeAlias

    from yume_shim.types.blocks import Block, Message
    from yume_shim.types.models import Request, ToolSpec, Usage

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

LEAST_OUTPUT = 1_024
"""An answer gets at least this much room; where even that does not fit, the provider's refusal says so best."""

SAFETY_SHARE = 50
"""The part of the window, one in so many, that is left free: our count and the provider's are never the same."""

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
    return frame_size(request.system, request.tools, estimate_text) + size_of(request.messages, estimate_text)


def by_characters(text: str) -> int:
    """Three tokens for ten characters, rounded up."""
    return (len(text) * 3 + 9) // 10


def frame_size(system: Iterable[str], tools: Iterable[ToolSpec], count: Count = by_characters) -> int:
    """Tokens of what stands around the history."""
    total = sum(map(count, system))
    for tool in tools:
        total += count(f"{tool.name}\n{tool.description}\n{codec.dumps(tool.schema).decode()}")
    return total


def size_of(messages: Iterable[Message], count: Count = by_characters) -> int:
    """Tokens of a history, or of a piece of one."""
    return sum(_block(block, count) for message in messages for block in message.blocks)


@value
class Measured:
    """What the provider counted: everything it was sent and has answered, up to `messages` of the history."""

    tokens: int
    messages: int
    origin: str

    def size(self, history: list[Message]) -> int:
        """The same for a history that has grown since."""
        return self.tokens + size_of(history[self.messages :])


def measured(usage: Usage, messages: int, origin: str) -> Measured | None:
    """The size of a context after an answer; None if the provider gave no figures."""
    asked = usage.input + usage.cache_read + usage.cache_write
    return None if usage.estimated or not asked else Measured(asked + usage.output, messages, origin)


def room_for_output(window: int, size: int, wanted: int) -> int:
    """How long an answer may be asked for: what is wanted, or what the window leaves."""
    left = window - size - window // SAFETY_SHARE
    return min(wanted, max(left, LEAST_OUTPUT))


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


def _block(block: Block, count: Count) -> int:
    match block:
        case Text(text) | Thinking(text):
            return count(text)
        case ToolCall():
            arguments = block.broken if block.broken is not None else codec.dumps(block.input).decode()
            return count(f"{block.name}{arguments}")
        case ToolResult():
            return sum(_block(part, count) for part in _parts(block))
        case Image():
            return IMAGE_TOKENS
        case Document():
            if block.media_type == "text/plain":
                return count(block.data)
            return -(-len(block.data) // DOCUMENT_CHARS_PER_TOKEN)
        case Other():
            return count(codec.dumps(block.data).decode())


def _parts(result: ToolResult) -> Iterator[Block]:
    if isinstance(result.content, str):
        yield Text(result.content)
    else:
        yield from result.content
