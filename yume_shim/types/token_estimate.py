"""How many tokens a text, a history or a request has, roughly, where the provider does not say.

A text is counted by classes of characters: words, numbers and punctuation of ASCII, and every other character by its
script. The weights are thousandths of a token, fitted to the counts of o200k_base on sentences of each script, on code
and on JSON; other vocabularies differ by 10 to 20 percent. Characters are told apart by the first byte of their UTF-8
form, which takes one pass in C. `count` may be a better counter for texts; `write` is the JSON encoder
(`text.codec.dumps`), because this floor does not import `text`.
"""

from __future__ import annotations

from _operator import is_

from yume_shim.types.blocks import Document, Image, Other, Text, Thinking, ToolCall, ToolResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, TypeAlias

    from yume_shim.types.blocks import Block, Message
    from yume_shim.types.models import ToolSpec

    Count: TypeAlias = Callable[[str], int]
    Write: TypeAlias = Callable[[Any], bytes]

IMAGE_TOKENS = 1_600
"""An image, whatever its bytes: vendors scale it down to about this much."""
DOCUMENT_CHARS_PER_TOKEN = 30
"""Base64 characters of a PDF per token: a page is some 50 KB of file and 2,000 tokens of content."""

WORD, LETTER, HUMP = 430, 135, 1_050
"""A run of ASCII letters, each of its letters, a capital after a small letter (`readFile`)."""
NUMBER, PUNCTUATION, NEWLINE = 1_750, 850, 700
"""A run of digits, a run of punctuation, a newline. Spaces belong to the word that follows."""
SCRIPTS: tuple[tuple[str, int, int, int], ...] = (
    ("Latin with accents", 0xC2, 0xCD, 880),
    ("Greek", 0xCE, 0xCF, 440),
    ("Cyrillic", 0xD0, 0xD4, 272),
    ("Hebrew, Armenian", 0xD5, 0xD7, 450),
    ("Arabic", 0xD8, 0xDF, 340),
    ("Devanagari, Bengali, Tamil, Thai and others of India", 0xE0, 0xE0, 385),
    ("Georgian, Vietnamese and others", 0xE1, 0xE1, 430),
    ("symbols", 0xE2, 0xE2, 1_900),
    ("kana and Chinese punctuation", 0xE3, 0xE3, 690),
    ("Chinese characters", 0xE4, 0xE9, 700),
    ("Hangul", 0xEA, 0xED, 690),
    ("full-width and other forms", 0xEE, 0xEF, 800),
    ("emoji and rare characters", 0xF0, 0xF4, 2_050),
)
"""Name, first and last byte that begins a character, weight."""
QUOTES, QUOTE_WEIGHT = b"\xe2\x80", 800
"""Typographic quotes and dashes are cheaper than other symbols."""
VARIANT, VARIANT_WEIGHT = b"\xef\xb8\x8f", 400
"""The mark that makes a symbol an emoji."""


def _table(*classes: tuple[str, str]) -> bytes:
    """A table for bytes.translate: characters to the letter of their class, everything else to a space."""
    table = bytearray(b" " * 256)
    for characters, name in classes:
        for char in characters.encode():
            table[char] = ord(name)
    return bytes(table)


def _scripts() -> bytes:
    table = bytearray(b" " * 256)
    for place, (_, first, last, _) in enumerate(SCRIPTS):
        table[first : last + 1] = bytes([place + 65]) * (last - first + 1)
    return bytes(table)


_SMALL, _LARGE, _DIGITS = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
_LETTERS = _table((_SMALL + _LARGE, "a"))
_CASES = _table((_SMALL, "a"), (_LARGE, "A"))
_NUMBERS = _table((_DIGITS, "a"))
_MARKS = _table(("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", "a"))
_BY_SCRIPT = _scripts()


def by_characters(text: str) -> int:
    """Tokens of a text, by the classes of its characters, rounded up."""
    data = text.encode("utf-8", "surrogatepass")
    letters = data.translate(_LETTERS)
    total = WORD * _runs(letters) + LETTER * letters.count(b"a") + HUMP * data.translate(_CASES).count(b"aA")
    total += NUMBER * _runs(data.translate(_NUMBERS)) + PUNCTUATION * _runs(data.translate(_MARKS))
    total += NEWLINE * data.count(b"\n")
    if len(data) != len(text):
        classes = data.translate(_BY_SCRIPT)
        total += sum(weight * classes.count(place + 65) for place, (_, _, _, weight) in enumerate(SCRIPTS))
        total += (QUOTE_WEIGHT - SCRIPTS[7][3]) * data.count(QUOTES)
        total += (VARIANT_WEIGHT - SCRIPTS[11][3]) * data.count(VARIANT)
    return -(-total // 1_000)


def _runs(classes: bytes) -> int:
    """How many runs of `a` there are."""
    return classes.count(b"a ") + classes.endswith(b"a")


def size_of_frame(system: Iterable[str], tools: Iterable[ToolSpec], count: Count, write: Write) -> int:
    """Tokens of everything but the history: system prompt and tools."""
    total = sum(map(count, system))
    for tool in tools:
        total += count(f"{tool.name}\n{tool.description}\n{write(tool.schema).decode()}")
    return total


def size_of_messages(messages: Iterable[Message], count: Count, write: Write) -> int:
    """Tokens of a history, or of a part of one."""
    total = 0
    if count is by_characters and isinstance(messages, (tuple, list)):
        total, messages = without_stored(messages)
    return total + sum(size_of_block(block, count, write) for message in messages for block in message.blocks)


class GrowingSize:
    """The estimated size of a history that grows: what was counted before is not counted again. `others`: also blocks
    that only one API understands. Threads may share one: what is known is replaced in one step."""

    def __init__(self, *, others: bool = True) -> None:
        self._others = others
        self._known: tuple[tuple[Message, ...], int] = ((), 0)

    def of(self, messages: tuple[Message, ...], write: Write) -> int:
        """Tokens of these messages; `write` as in `size_of_block`."""
        known, total = self._known
        count = len(known)
        if not count or len(messages) < count or messages[0] != known[0] or not all(map(is_, messages[1:], known[1:])):
            total, count = 0, 0
        stored, rest = without_stored(messages[count:])
        counted = (block for message in rest for block in message.blocks if self._others or type(block) is not Other)
        total += stored + sum(size_of_block(block, by_characters, write) for block in counted)
        self._known = messages, total
        return total


def without_stored(messages: Sequence[Message]) -> tuple[int, Sequence[Message]]:
    """(the estimated tokens of the messages of a checkpoint, the other messages) of a history that begins with it."""
    stored: Any = getattr(messages[1], "stored", None) if len(messages) > 1 else None
    if stored is None:
        return 0, messages
    end = len(stored.messages) + 1
    if len(messages) < end or messages[end - 1] is not stored.messages[-1]:
        return 0, messages
    return stored.tokens, (messages[0], *messages[end:])


def size_of_block(block: Block, count: Count, write: Write) -> int:
    """Tokens of one block."""
    match block:
        case Text(text) | Thinking(text):
            return count(text)
        case ToolCall():
            arguments = block.broken if block.broken is not None else write(block.input).decode()
            return count(f"{block.name}{arguments}")
        case ToolResult():
            if isinstance(block.content, str):
                return count(block.content)
            return sum(size_of_block(part, count, write) for part in block.content)
        case Image():
            return IMAGE_TOKENS
        case Document():
            if block.media_type == "text/plain":
                return count(block.data)
            return -(-len(block.data) // DOCUMENT_CHARS_PER_TOKEN)
        case Other():
            return count(write(block.data).decode())
