"""Makes foreign values fit to be shown: keys removed, lone surrogates replaced, long texts cut, deep JSON folded,
images checked. Everything in a `Document` went through here."""

from __future__ import annotations

import base64
import binascii

from yume_shim.pages.document import Attachment, Picture, Words
from yume_shim.text.clean import clean_model_text
from yume_shim.text.image_head import MEASURED, dimensions, image_kind
from yume_shim.text.redact import redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from yume_shim.pages.document import Part

MAX_TEXT = 200_000
"""Characters of a prompt, an answer or a thought that are shown; the file has all of them."""
MAX_RESULT = 40_000
"""Characters of a tool result, or of one text in its input, that are shown."""
MAX_INPUT = 80_000
"""Characters of all texts in one JSON value."""
MAX_LINE = 300
"""Characters of names, titles and other texts on one line."""
MAX_DEPTH = 24
MAX_ENTRIES = 500
"""Entries of one list or object."""
MAX_PICTURE = 8_000_000
"""Base64 characters of one image."""
MAX_PICTURES = 64_000_000
"""Base64 characters of all images of a page."""
FOLDED = "…"
_SHOWN = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
"""Kinds of images that every browser draws and that cannot hold a script."""


class Cleaner:
    """Cleans the values of one document. `secrets` are removed wherever they occur."""

    def __init__(self, secrets: Sequence[str] = ()) -> None:
        self._secrets = tuple(secrets)
        self._pictures = 0

    def words(self, text: str, limit: int = MAX_TEXT) -> Words:
        """A text with at most `limit` characters: its start and its end."""
        whole = len(text)
        if whole <= limit:
            return Words(self._safe(text))
        # cleaned before it is cut, so that no half of a key remains; what is far from both ends is never looked at
        room = limit + 4096
        head = self._safe(text[:room])[: limit * 3 // 4]
        tail = self._safe(text[-room:])[-(limit // 4) :]
        return Words(f"{head}\n{FOLDED}\n{tail}", whole - limit, text.rstrip("\n").count("\n") + 1)

    def text(self, text: Any, limit: int = MAX_RESULT) -> str:
        """The same as plain text; "" for what is no text."""
        if not isinstance(text, str):
            return ""
        words = self.words(text, limit)
        return f"{words.text}\n[{words.cut:,} more characters]" if words.cut else words.text

    def whole(self, text: str) -> str:
        """The same of any length, for scripts."""
        return self._safe(text)

    def line(self, text: Any) -> str:
        """A short text on one line: a name, a title, a model."""
        if not isinstance(text, str):
            return ""
        safe = " ".join(self._safe(text[: 4 * MAX_LINE]).split())
        return safe if len(safe) <= MAX_LINE else safe[: MAX_LINE - 1] + FOLDED

    def json(self, found: Any) -> Any:
        """A JSON value of bounded size and depth."""
        return _Tidy(self).value(found, 0)

    def fields(self, found: Any) -> dict[str, Any]:
        """The same for an object; {} for anything else."""
        return self.json(found) if isinstance(found, dict) else {}

    def picture(self, media_type: Any, data: Any, name: str = "") -> Part:
        """An image by what its bytes are, whatever its media type says."""
        named = self.line(name) or self.line(media_type) or "image"
        if not isinstance(data, str) or not data:
            return Attachment("image", named, "no data")
        if len(data) > MAX_PICTURE or self._pictures + len(data) > MAX_PICTURES:
            return Attachment("image", named, f"{len(data) * 3 // 4:,} bytes, too large for this page")
        try:
            raw = base64.b64decode(data, validate=True)
        except (ValueError, binascii.Error):
            return Attachment("image", named, "not base64")
        kind = image_kind(raw)
        if kind not in _SHOWN:
            return Attachment("image", named, f"{kind or 'no image'}, {len(raw):,} bytes")
        self._pictures += len(data)
        size = dimensions(kind, raw) if kind in MEASURED else None
        width, height = size or (0, 0)
        return Picture(kind, base64.b64encode(raw).decode("ascii"), width, height)

    def _safe(self, text: str) -> str:
        return redact(clean_model_text(text), self._secrets)


class _Tidy:
    """Copies one JSON value within its budgets."""

    def __init__(self, cleaner: Cleaner) -> None:
        self._cleaner = cleaner
        self._left = MAX_INPUT

    def value(self, found: Any, depth: int) -> Any:
        if isinstance(found, str):
            return self._text(found)
        if isinstance(found, dict):
            if depth >= MAX_DEPTH or self._left <= 0:
                return FOLDED
            made: dict[str, Any] = {}
            for place, (name, inner) in enumerate(found.items()):
                if place >= MAX_ENTRIES or self._left <= 0:
                    made[FOLDED] = f"{len(found) - place:,} more"
                    break
                self._left -= 8
                made[self._cleaner.line(name)] = self.value(inner, depth + 1)
            return made
        if isinstance(found, list):
            if depth >= MAX_DEPTH or self._left <= 0:
                return FOLDED
            items: list[Any] = []
            for place, inner in enumerate(found):
                if place >= MAX_ENTRIES or self._left <= 0:
                    items.append(f"{FOLDED} {len(found) - place:,} more")
                    break
                self._left -= 8
                items.append(self.value(inner, depth + 1))
            return items
        return found

    def _text(self, text: str) -> str:
        if self._left <= 0:
            return FOLDED
        shown = self._cleaner.text(text, min(MAX_RESULT, max(self._left, 1000)))
        self._left -= len(shown)
        return shown
