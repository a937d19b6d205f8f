"""The arguments of a call, whole or in pieces. Vertex sends `partialArgs`, each a JSON path with a value or with the
next piece of a string:

{"jsonPath": "$.recipe.steps[0].text", "stringValue": "Boil", "willContinue": true}
"""

from __future__ import annotations

from yume_shim.text import codec
from yume_shim.text.late_pattern import late_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.types.blocks import Json

MAX_INDEX = 10_000
"""An index beyond it is invalid, and would only use memory."""
MAX_DEPTH = 64

_STEP = late_pattern(r"""\.([^.\[\]]+)|\[(\d+)\]|\[(?:'([^']*)'|"([^"]*)")\]""")
_VALUES = ("stringValue", "numberValue", "boolValue", "nullValue")


class PartialArguments:
    """The arguments of one call under construction."""

    def __init__(self, given: Any) -> None:
        self._root: dict[str, Any] = dict(given) if isinstance(given, dict) else {}
        self._raw = given if isinstance(given, str) else ""
        """Some proxies pass the arguments on as text."""
        self._unplaced: list[Any] = []
        self.cut = False
        """The output limit cut the call: the pieces so far must not run as if they were all."""

    def add(self, pieces: Any) -> None:
        """Set the value of each piece at its path."""
        for piece in pieces if isinstance(pieces, list) else []:
            path = _steps(piece.get("jsonPath")) if isinstance(piece, dict) else None
            if path is None or not self._put(path, piece):
                self._unplaced.append(piece)

    def text(self) -> str:
        """The arguments as JSON. If a piece has no valid path, the result is a list of everything: an illegal input,
        which loses nothing."""
        if self._raw:
            return self._raw
        whole = [self._root, *self._unplaced] if self._unplaced else self._root
        text = codec.dumps(whole).decode()
        return text[:-1] if self.cut else text

    def _put(self, path: list[str | int], piece: Json) -> bool:
        kind = next((name for name in _VALUES if name in piece), None)
        if kind is None:
            return True  # a path without a value: the value follows
        spot: Any = self._root
        *way, last = path
        for place, step in enumerate(way, 1):
            if not _room(spot, step):
                return False
            if spot[step] is None:
                spot[step] = [] if isinstance(path[place], int) else {}
            spot = spot[step]
        if not _room(spot, last):
            return False
        if kind == "stringValue":
            before = spot[last] if isinstance(spot[last], str) else ""
            spot[last] = before + str(piece[kind])
        else:
            spot[last] = None if kind == "nullValue" else _number(piece[kind])
        return True


def _steps(path: Any) -> list[str | int] | None:
    """`$.a[0]['b c']` → ["a", 0, "b c"]; None if it is not such a path."""
    if not isinstance(path, str) or not path.startswith("$"):
        return None
    steps: list[str | int] = []
    place = 1
    while place < len(path):
        found = _STEP.match(path, place)
        if found is None or len(steps) == MAX_DEPTH:
            return None
        name = next((group for group in (found[1], found[3], found[4]) if group is not None), None)
        steps.append(int(found[2]) if name is None else name)
        place = found.end()
    return steps or None


def _room(spot: Any, step: str | int) -> bool:
    """Make sure that `spot[step]` exists; False if it cannot."""
    if isinstance(spot, dict) and isinstance(step, str):
        spot.setdefault(step, None)
        return True
    if isinstance(spot, list) and isinstance(step, int) and step < MAX_INDEX:
        spot.extend([None] * (step + 1 - len(spot)))
        return True
    return False


def _number(given: Any) -> Any:
    """JSON has one kind of number, which protobuf sends as a double: 3.0 means 3."""
    return int(given) if isinstance(given, float) and given.is_integer() else given
