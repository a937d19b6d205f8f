"""Parses argv by the flag table, in the Claude CLI's grammar: `--x v`, `--x=v`, variadic and optional values, `--`.

A value is never searched for flags. Errors are collected, not raised: how they are reported depends on the dialect
(flat or Claude), which the whole command line decides.
"""

from __future__ import annotations

from yume_shim.cli.flags import BY_NAME
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from yume_shim.cli.flags import Flag

    Values = Mapping[str, str | bool | tuple[str, ...]]


class Parsed(Value):
    """What argv says. `values` is keyed by flag key; `words` are the positional arguments."""

    values: Values
    words: tuple[str, ...]
    errors: tuple[str, ...]

    def is_flat(self) -> bool:
        """Whether to start in the flat dialect: yes, unless something asks for a Claude format."""
        output = self.values.get("output-format")
        if output == "flat":
            return True
        return not (output or self.words or "print" in self.values or "input-format" in self.values)


def parse(argv: Sequence[str]) -> Parsed:
    """Read the whole command line."""
    reader = _Reader(argv)
    reader.read()
    return Parsed(reader.values, tuple(reader.words), tuple(reader.errors))


class _Reader:
    def __init__(self, argv: Sequence[str]) -> None:
        self.rest = list(argv)
        self.values: dict[str, str | bool | tuple[str, ...]] = {}
        self.words: list[str] = []
        self.errors: list[str] = []

    def read(self) -> None:
        while self.rest:
            word = self.rest.pop(0)
            if word == "--":
                self.words.extend(self.rest)
                return
            if word.startswith("--"):
                name, equals, given = word.partition("=")
                self.take(name, given if equals else None)
            elif word.startswith("-") and len(word) > 1:
                self.take_short(word)
            else:
                self.words.append(word)

    def take_short(self, word: str) -> None:
        """`-p`, `-rID`, or several switches in one word."""
        flag = BY_NAME.get(word[:2])
        if flag is not None and len(word) > 2:
            if flag.kind == "switch":
                self.take(word[:2], None)
                self.take_short("-" + word[2:])
            else:
                self.take(word[:2], word[2:].removeprefix("="))
            return
        self.take(word, None)

    def take(self, name: str, given: str | None) -> None:
        flag = BY_NAME.get(name)
        if flag is None:
            self.errors.append(f"error: unknown option '{name}'{_nearest(name)}")
            return
        if flag.status == "refused":
            self.errors.append(
                f"error: option '{flag.usage}' is not available: it belongs to interactive or cloud use, "
                "and this program runs headless. Leave it out."
            )
        match flag.kind:
            case "switch":
                if given is not None:
                    self.errors.append(f"error: option '{flag.usage}' takes no value")
                self.values[flag.key] = True
            case "optional":
                if given is None and self.rest and not self.rest[0].startswith("-"):
                    given = self.rest.pop(0)
                self.values[flag.key] = True if given is None else given
            case "variadic":
                self.add(flag, self.following(given))
            case "value" | "repeat":
                if given is None:
                    if not self.rest:
                        self.errors.append(f"error: option '{flag.usage}' argument missing")
                        return
                    given = self.rest.pop(0)
                if flag.choices and given not in flag.choices:
                    allowed = ", ".join(choice for choice in flag.choices)
                    self.errors.append(
                        f"error: option '{flag.usage}' argument '{given}' is invalid. Allowed choices are {allowed}."
                    )
                if flag.kind == "repeat":
                    self.add(flag, [given])
                else:
                    self.values[flag.key] = given

    def following(self, given: str | None) -> list[str]:
        if given is not None:
            return [given]
        taken: list[str] = []
        while self.rest and (self.rest[0] == "" or not self.rest[0].startswith("-")):
            taken.append(self.rest.pop(0))
        return taken

    def add(self, flag: Flag, more: list[str]) -> None:
        if not more:
            self.errors.append(f"error: option '{flag.usage}' argument missing")
            return
        before = self.values.get(flag.key, ())
        self.values[flag.key] = (*(before if isinstance(before, tuple) else ()), *more)


def _nearest(name: str) -> str:
    from yume_shim.text.nearest import nearest

    near = nearest(name, BY_NAME)
    return f" (did you mean {near}?)" if near else ""
