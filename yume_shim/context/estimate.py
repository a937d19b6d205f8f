"""Counts the tokens of a request, and the room that it leaves in the window.

The arithmetic is in `types/token_estimate.py`. tiktoken counts exactly (for its own vocabulary), but loading its data
takes half a second and 90 MB, and it downloads the data if it is not there. It is used only where an estimate is too
close to a limit, and only if TIKTOKEN_CACHE_DIR names a folder that has the file, whole.
"""

from __future__ import annotations

import os

from yume_shim.text import codec
from yume_shim.types.token_estimate import by_characters, size_of_frame, size_of_messages
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from yume_shim.types.blocks import Message
    from yume_shim.types.models import Request, ToolSpec, Usage
    from yume_shim.types.token_estimate import Count

EXACT_LIMIT = 100_000
"""Longer texts are estimated: the encoder takes quadratic time on long runs without a word break."""

O200K_FILE = "fb374d419588a4632f3f557e76b4b70aebbca790"
"""The file name of tiktoken's o200k_base data: the SHA-1 of its download address."""

O200K_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
"""The content that tiktoken requires; it deletes any other file and downloads it again."""

MIN_OUTPUT = 1_024
"""An answer gets at least this much room; if even that does not fit, the provider's refusal is the best message."""

SAFETY_SHARE = 50
"""One part in so many of the window is left free: our count and the provider's differ."""


def estimate_request(request: Request) -> int:
    """Tokens of everything a request would send."""
    return frame_size(request.system, request.tools) + size_of(request.messages)


def frame_size(system: Iterable[str], tools: Iterable[ToolSpec], count: Count = by_characters) -> int:
    """Tokens of everything but the history: system prompt and tools."""
    return size_of_frame(system, tools, count, codec.dumps)


def size_of(messages: Iterable[Message], count: Count = by_characters) -> int:
    """Tokens of a history, or of a part of one."""
    return size_of_messages(messages, count, codec.dumps)


class Measured(Value):
    """The provider's count of everything sent and answered, up to `messages` of the history."""

    tokens: int
    messages: int
    origin: str

    def size(self, history: list[Message], count: Count = by_characters) -> int:
        """The size of a history that has grown since."""
        return self.tokens + size_of(history[self.messages :], count)


def measured(usage: Usage, messages: int, origin: str) -> Measured | None:
    """The size of a context after an answer; None if the provider gave no figures."""
    asked = usage.input + usage.cache_read + usage.cache_write
    return None if usage.estimated or not asked else Measured(asked + usage.output, messages, origin)


def room_for_output(window: int, size: int, requested: int) -> int:
    """The `max_tokens` to request: `requested`, or what the window leaves."""
    left = window - size - window // SAFETY_SHARE
    return min(requested, max(left, MIN_OUTPUT))


def load_exact(environ: Mapping[str, str]) -> Count | None:
    """tiktoken's counter; None if its data is not on this machine or the package does not work. Long texts are
    estimated."""
    if not _data_is_local(environ):
        return None
    try:
        import tiktoken

        encoder = tiktoken.get_encoding("o200k_base")
    except Exception:  # a broken install must not break a turn: an estimate will do
        return None
    return lambda text: len(encoder.encode_ordinary(text)) if len(text) <= EXACT_LIMIT else by_characters(text)


def _data_is_local(environ: Mapping[str, str]) -> bool:
    folder = environ.get("TIKTOKEN_CACHE_DIR")
    if not folder:
        return False
    try:
        with open(os.path.join(folder, O200K_FILE), "rb") as file:
            data = file.read()
    except OSError:
        return False
    import hashlib

    return hashlib.sha256(data).hexdigest() == O200K_SHA256
