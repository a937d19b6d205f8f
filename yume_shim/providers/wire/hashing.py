"""A hash in letters and digits, for names and ids that a vendor would refuse."""

from __future__ import annotations

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def digest(text: str) -> str:
    """40 letters and digits that depend on the text alone."""
    import hashlib

    number = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(), "big")
    letters: list[str] = []
    for _ in range(40):
        number, rest = divmod(number, 62)
        letters.append(_ALPHABET[rest])
    return "".join(letters)
