"""What a place that may hold keys turned out to hold, and the simplest kind of key: one that stands there as text."""

from __future__ import annotations

from yume_shim.types.value import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.types.models import Credential
    from yume_shim.types.ports import Cancel, KeySource

    Learn = Callable[[str], None]
    """Told every key as soon as it is known, so that it can be kept out of logs and outputs."""

MAX_KEY_LENGTH = 16_384
"""No vendor's key or token comes near; a longer one would not fit into a header."""


@value
class Look:
    """One place that was looked at: the keys there, or why there are none."""

    place: str
    sources: tuple[KeySource, ...] = ()
    note: str = ""
    warning: str = ""
    """What whoever started us should know although the search goes on: names files, never what is in them."""


class FixedKey:
    """A key that is written down where it was found. Implements `types.ports.KeySource`."""

    fixed = True

    def __init__(self, credential: Credential) -> None:
        self._credential = credential

    def known(self) -> Credential:
        return self._credential

    def get(self, cancel: Cancel) -> Credential:
        return self._credential

    def renew(self, refused: Credential, cancel: Cancel) -> bool:
        return False


def clean_key(text: str) -> str:
    """A key as it goes into a header; "" if there is none. Raises ValueError for what cannot be one."""
    key = text.strip()
    if len(key) > MAX_KEY_LENGTH or not key.isascii() or not key.isprintable() or " " in key:
        raise ValueError("this is not a key")
    return key


def learn_nothing(key: str) -> None:
    """For those who only look."""
