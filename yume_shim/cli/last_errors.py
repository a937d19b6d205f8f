"""`yume-shim doctor --last-errors`: the records of failed requests, as text or as JSON."""

from __future__ import annotations

from yume_shim.store.error_records import errors_path, read_errors
from yume_shim.text.codec import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from yume_shim.types.blocks import Json

_HEAD = ("time", "endpoint", "model", "status", "kind")


def shown_errors(env: Mapping[str, str], *, as_json: bool) -> str:
    """All records, oldest first."""
    records = read_errors(errors_path(env))
    if as_json:
        return "".join(dumps(record).decode("utf-8") + "\n" for record in records)
    if not records:
        return "No failed requests are recorded.\n"
    return "\n".join(map(_shown, records))


def _shown(record: Json) -> str:
    head = "  ".join(_text(record[name]) for name in _HEAD if name in record)
    rows = [(name, fact) for name, fact in record.items() if name not in (*_HEAD, "shape")]
    shape = record.get("shape")
    if isinstance(shape, dict):
        rows += [(f"sent {name}", fact) for name, fact in shape.items()]
    return head + "\n" + "".join(f"  {name:<18} {_text(fact)}\n" for name, fact in rows)


def _text(fact: object) -> str:
    if isinstance(fact, list):
        return ", ".join(_text(part) for part in fact)
    if isinstance(fact, dict):
        return ", ".join(f"{name} {_text(part)}" for name, part in fact.items())
    text = str(fact)
    return text if text.isprintable() else ascii(text)
