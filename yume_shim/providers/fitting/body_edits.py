"""Parameters of an encoded request body, found and removed by their path."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.types.blocks import Json


def has_path(body: Json, path: tuple[str, ...]) -> bool:
    """Does the body have a value at this path?"""
    inner: Any = body
    for key in path:
        if not isinstance(inner, dict) or key not in inner:
            return False
        inner = inner[key]
    return True


def without_path(body: Json, path: tuple[str, ...]) -> Json:
    """A copy of the body without the value at this path, and without the objects that become empty by that."""
    first, *rest = path
    if not rest:
        return {key: item for key, item in body.items() if key != first}
    inner = without_path(body[first], tuple(rest))
    return {**body, first: inner} if inner else {key: item for key, item in body.items() if key != first}
