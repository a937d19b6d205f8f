"""Regular expressions that are compiled at their first use: a start pays neither for `re` nor for compiling those of
failures, tool calls and files that a plain turn never meets."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern
    from typing import overload

    @overload
    def late_pattern(text: str) -> Pattern[str]: ...

    @overload
    def late_pattern(text: bytes) -> Pattern[bytes]: ...

    def late_pattern(text: str | bytes) -> Pattern[str] | Pattern[bytes]:
        """`re.compile(text)`, later. Flags stand in the pattern: `(?i)`."""
        ...
else:
    METHODS = ("findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn")

    class late_pattern:  # noqa: N801  # to those who call it, it is a function
        """Becomes the pattern at its first use: then it has the methods of the compiled one."""

        def __init__(self, text):
            self._text = text

        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            import re

            compiled = re.compile(self._text)
            self.__dict__.update((each, getattr(compiled, each)) for each in METHODS)
            return getattr(compiled, name)
