"""Checks a stream of lines: size, JSON, fields by the published schemas, and order."""

from __future__ import annotations

from yume_shim.dialects.line_order import FlatOrder, NestedOrder
from yume_shim.dialects.schema_check import SchemaCheck, load_schema
from yume_shim.text import codec
from yume_shim.types.settings import FLAT_LINE_BYTES, NESTED_LINE_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json

DIALECTS = ("flat", "stream-json", "input")
"""The two outputs, and what a host writes."""
INPUT_LINE_BYTES = 64 << 20
"""The longest line that is read."""
_LIMITS = {"flat": FLAT_LINE_BYTES, "stream-json": NESTED_LINE_BYTES, "input": INPUT_LINE_BYTES}
_SCHEMAS = {"flat": "flat-output", "stream-json": "stream-json-output", "input": "input"}
MAX_REASONS = 5
"""Reasons given for one line."""


class StreamCheck:
    """Checks the lines of one process, in order. `dialect` "" is found by the first line. `max_line` 0 is the dialect's
    own limit, its newline included."""

    def __init__(self, dialect: str = "", *, strict: bool = False, max_line: int = 0) -> None:
        self._strict, self._max_line = strict, max_line
        self._fields: SchemaCheck | None = None
        self._order: FlatOrder | NestedOrder | None = None
        self.dialect = dialect
        self.lines = self.results = 0
        if dialect:
            self._open(dialect)

    def feed(self, raw: bytes) -> list[str]:
        """What is wrong with the next line (at most five reasons)."""
        self.lines += 1
        try:
            line = codec.loads(raw.decode("utf-8"))
        except UnicodeDecodeError as error:
            return [f"not UTF-8 at byte {error.start + 1}"]
        except ValueError as error:
            return [f"not JSON: {error}"]
        if not isinstance(line, dict):
            return ["not a JSON object"]
        if self._fields is None:
            self._open(_dialect_of(line))
        assert self._fields is not None
        problems = []
        limit = self._max_line or _LIMITS[self.dialect]
        if len(raw) > limit:
            problems.append(f"the line has {len(raw):,} bytes; at most {limit:,} are allowed")
        problems += self._fields.problems(line)
        self.results += line.get("type") == "result"
        if self._order is not None:
            problems += self._order.feed(line)
        return problems[:MAX_REASONS]

    def end(self) -> list[str]:
        """What is missing at the end of the stream."""
        if not self.dialect:
            return ["the stream is empty"]
        return self._order.end() if self._order is not None else []

    def _open(self, dialect: str) -> None:
        self.dialect = dialect
        self._fields = SchemaCheck(load_schema(_SCHEMAS[dialect]), strict=self._strict)
        if dialect != "input":
            self._order = FlatOrder() if dialect == "flat" else NestedOrder()


def _dialect_of(first: Json) -> str:
    """A flat stream begins with its `init`, which names the protocol, or with the error in place of it."""
    flat = first.get("type") == "system" and ("protocol" in first or first.get("subtype") == "error")
    return "flat" if flat else "stream-json"
