"""Reads the string fields of a JSON object while its text arrives: each character is looked at once. Pure."""

from __future__ import annotations

from yume_shim.text.codec import loads
from yume_shim.text.late_pattern import late_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_READ = 256 * 1024
"""Characters of an object that are read; a longer one is given up."""
MAX_PLAIN = 100
"""Characters of a number or word; each piece looks through it again."""
_STRING_STOP = late_pattern(r'["\\]')
_PLAIN_END = late_pattern(r"[,}\s]")


class FieldReader:
    """Takes the pieces of one object. `fields` are the complete ones so far; `done`: no more are read. The object is
    complete, too long, or has something other than strings, numbers and words in it."""

    __slots__ = ("_at", "_key", "_raw", "_scan", "_state", "done", "fields")

    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}
        self.done = False
        self._raw = ""
        self._at: int = 0
        """Where the token begins that is being read."""
        self._scan: int = 0
        """How far a string was looked through."""
        self._key = ""
        self._state = "{"
        """What is read next: `{`, a `key`, `:`, a `value`, or `,`."""

    def feed(self, piece: str) -> None:
        """Take more of the text."""
        if self.done:
            return
        self._raw += piece
        if len(self._raw) > MAX_READ:
            self.done = True
        while not self.done and self._step():
            pass

    def _step(self) -> bool:
        """Read one token; False if it is not complete."""
        raw = self._raw
        while self._at < len(raw) and raw[self._at].isspace():
            self._at += 1
        if self._at >= len(raw):
            return False
        char = raw[self._at]
        match self._state:
            case "{" | ":" | ",":
                follows = {"{": "key", ":": "value", ",": "key"}[self._state]
                self.done = char != self._state
                self._at, self._state, self._scan = self._at + 1, follows, self._at + 2
                return True
            case "key":
                if char != '"':
                    self.done = True
                    return False
                key = self._string()
                if key is None:
                    return False
                self._key, self._state = key, ":"
                return True
            case _:
                return self._value(char)

    def _value(self, char: str) -> bool:
        if char == '"':
            text = self._string()
            if text is None:
                return False
            self.fields[self._key], self._state = text, ","
            return True
        if char in "{[":
            self.done = True
            return False
        end = _PLAIN_END.search(self._raw, self._at)
        if end is None:
            self.done = len(self._raw) - self._at > MAX_PLAIN
            return False
        self._keep(self._raw[self._at : end.start()])
        self._at, self._state = end.start(), ","
        return True

    def _keep(self, token: str) -> None:
        try:
            self.fields[self._key] = loads(token)
        except ValueError:
            self.done = True

    def _string(self) -> str | None:
        """The string that begins at `_at`; None if its end has not come."""
        raw, place = self._raw, max(self._scan, self._at + 1)
        while True:
            found = _STRING_STOP.search(raw, place)
            if found is None:
                self._scan = len(raw)
                return None
            if found[0] == '"':
                break
            place = found.start() + 2  # an escaped character
            if place > len(raw):
                self._scan = found.start()
                return None
        token, self._at = raw[self._at : found.end()], found.end()
        self._scan = self._at
        try:
            return str(loads(token))
        except ValueError:
            self.done = True
            return None
