"""A document as JSON, for scripts: the fields of its values, with the name of each kind."""

from __future__ import annotations

from yume_shim.pages.document import Document, Turn
from yume_shim.types.value import fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def as_json(found: Any) -> Any:
    """Nested objects and lists. Images keep their data, empty fields are left out."""
    if isinstance(found, (tuple, list)):
        return [as_json(each) for each in found]
    if isinstance(found, dict):
        return {name: as_json(each) for name, each in found.items()}
    if found is None or isinstance(found, (str, int, float, bool)):
        return found
    made: dict[str, Any] = {"kind": type(found).__name__.lower()}
    for name in fields(found):
        value = getattr(found, name)
        if value not in (None, "", (), {}):
            made["what" if name == "kind" else name] = as_json(value)
    if isinstance(found, (Turn, Document)):
        made["tokens"] = as_json(found.tokens)
        if found.cost_usd is not None:
            made["cost_usd"] = found.cost_usd
    return made
