"""Texts as they may leave the machine: without keys, without lone surrogates, and within a limit."""

from __future__ import annotations

from yume_shim.text.redact import redact, with_texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

MARGIN = 1_000
"""Characters beyond the limit that are looked at, too: the limit must not cut a key in two."""


class Cleaner:
    """Callable. `secrets` are the keys that this process knows; the list may grow."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = secrets

    def __call__(self, text: str, most: int = 0) -> str:
        """The text, and no more than so many characters of it (0 = all)."""
        found = text[: most + MARGIN] if most else text
        if not found.isascii():  # protobuf takes no lone surrogate: one would cost a whole export
            found = found.encode("utf-8", "replace").decode("utf-8")
        found = redact(found, self._secrets)
        return found if not most or len(text) <= most else found[:most] + "…"

    def inside(self, given: Any) -> Any:
        """The same for all texts of a JSON value."""
        return with_texts(given, self)
