"""A log message that carries its facts as fields too, for logs that machines read."""

from __future__ import annotations

from yume_shim.text import codec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class LogEntry(str):
    """The text is `event key=value …`; `fields` has the same facts with their types."""

    __slots__ = ("event", "fields")
    event: str
    fields: Mapping[str, Any]


def log_entry(event: str, **facts: Any) -> LogEntry:
    """An entry with these facts; those that are None or "" are left out."""
    fields = {name: fact for name, fact in facts.items() if fact is not None and fact != ""}
    entry = LogEntry(" ".join((event, *(f"{name}={_shown(fact)}" for name, fact in fields.items()))))
    entry.event, entry.fields = event, fields
    return entry


def _shown(fact: Any) -> str:
    if isinstance(fact, str) and fact.isprintable() and not any(char in fact for char in ' "='):
        return fact
    return codec.dumps(fact).decode("utf-8")
