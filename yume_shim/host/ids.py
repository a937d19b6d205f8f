"""Fresh ids: random ones, or counted ones for byte-exact transcripts (`YUME_TEST_IDS=1`)."""

from __future__ import annotations

import os
from itertools import count


class RandomIds:
    """Version-4 uuids from one random start and a counter: unique, and without a system call per line."""

    def __init__(self) -> None:
        self._start = os.urandom(8).hex()
        start = self._start
        self._head = f"{start[:8]}-{start[8:12]}-4{start[12:15]}-9{os.urandom(2).hex()[:3]}-"
        self._count = count(int.from_bytes(os.urandom(4), "big"))

    def uuid(self) -> str:
        return f"{self._head}{next(self._count):012x}"

    def uuids(self, count: int) -> list[str]:
        head, numbers = self._head, self._count
        return [f"{head}{next(numbers):012x}" for _ in range(count)]

    def call_id(self) -> str:
        return f"toolu_{self._start}{next(self._count):010x}"


class CountedIds:
    """1, 2, 3 … in the form of uuids."""

    def __init__(self) -> None:
        self._count = count(1)

    def uuid(self) -> str:
        return f"00000000-0000-4000-8000-{next(self._count):012d}"

    def uuids(self, count: int) -> list[str]:
        return [self.uuid() for _ in range(count)]

    def call_id(self) -> str:
        return f"toolu_{next(self._count):06d}"


def random_uuid() -> str:
    """A session's id: random in every digit, since it must be unique over all processes."""
    digits = bytearray(os.urandom(16))
    digits[6] = digits[6] & 0x0F | 0x40
    digits[8] = digits[8] & 0x3F | 0x80
    text = digits.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
