"""The result of checking one place for keys, the key that never changes, and the check that a text can be a key."""

from __future__ import annotations

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.types.models import Credential
    from yume_shim.types.ports import Cancel, KeySource

    Learn = Callable[[str], None]
    """Receives every key as soon as it is read, so that it can be redacted in logs and outputs."""

MAX_KEY_LENGTH = 16_384
"""Far above the length of any vendor's key or token; a longer one would not fit into a header."""


class CheckedPlace(Value):
    """One place that was checked: the keys there, or why there are none."""

    name: str
    sources: tuple[KeySource, ...] = ()
    note: str = ""
    warning: str = ""
    """A problem to report although the search continues. Names files, never their content."""


class FixedKey:
    """A key that does not change. Implements `types.ports.KeySource`."""

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
    """The key without surrounding blanks; "" if the text is blank. Raises ValueError if it cannot be a key."""
    key = text.strip()
    if len(key) > MAX_KEY_LENGTH or not key.isascii() or not key.isprintable() or " " in key:
        raise ValueError("this is not a key")
    return key


def ignore(text: str) -> None:
    """The default callback: the caller needs neither keys nor warnings reported."""
