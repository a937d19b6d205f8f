"""docs/protocol/flat.md names every line and field of the flat dialect, in both directions."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from yume_shim.app import control_requests
from yume_shim.dialects.records.index import FLAT
from yume_shim.host import input_lines
from yume_shim.types import errors
from yume_shim.types.commands import Nothing
from yume_shim.types.record import describe

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import flat_tables  # noqa: E402

TEXT = (ROOT / "docs" / "protocol" / "flat.md").read_text("utf-8")
MAKERS = input_lines._MAKERS


def section(title: str) -> str:
    return TEXT.partition(f"## {title}\n")[2].split("\n## ")[0]


@pytest.mark.parametrize("record", FLAT, ids=lambda record: describe(record).name)
def test_every_line_that_is_printed_has_a_row_with_all_its_fields(record: Any) -> None:
    definition = describe(record)
    constants = definition.constants()
    name = " ".join(f"`{constants[field]}`" for field in ("type", "subtype") if field in constants)
    rows = [row for row in section("Lines out").splitlines() if row.startswith(f"| {name} |")]
    fields = [field for field in definition.annotations() if field not in ("type", "subtype") or field not in constants]
    assert any(all(re.search(rf"`{field}\??`", row) for field in fields) for row in rows)


def test_every_object_inside_a_line_has_a_row_with_all_its_fields() -> None:
    inner = flat_tables.inner_records()
    assert {"FlatUsage", "ModelFigures", "PermissionDenial", "ControlSuccess"} <= {each.name for each in inner}
    for definition in inner:
        [row] = [row for row in TEXT.splitlines() if row.startswith(f"| {definition.name} |")]
        assert [field for field in definition.annotations() if not re.search(rf"`{field}\??`", row)] == []


class Read(dict[str, Any]):
    """A line that remembers which fields were looked at."""

    def __init__(self, given: dict[str, Any], seen: set[str]) -> None:
        super().__init__({key: Read(item, seen) if isinstance(item, dict) else item for key, item in given.items()})
        self.seen = seen

    def get(self, key: str, default: Any = None) -> Any:
        self.seen.add(key)
        return super().get(key, default)


def test_every_line_that_is_read_has_a_row_with_its_fields_and_a_valid_example() -> None:
    rows = {row.split("`")[1]: row for row in section("Lines in").splitlines() if row.startswith("| `")}
    assert set(rows) - {"type"} == set(MAKERS)
    for kind, make in MAKERS.items():
        fields, example = rows[kind].split(" | ")[1], json.loads(rows[kind].split(" | ")[2].strip("`"))
        assert example["type"] == kind
        seen: set[str] = set()
        command = make(Read(example, seen))
        assert sorted(field for field in seen if f"`{field}`" not in fields) == []
        assert isinstance(command, Nothing) == (kind in ("keep_alive", "update_environment_variables"))


def test_control_requests_and_codes_are_listed() -> None:
    source = Path(control_requests.__file__).read_text("utf-8")
    handled = {*re.findall(r'^            "(\w+)": (?:self\.|lambda)', source, re.M), *control_requests.MCP_REQUESTS}
    listed = section("Lines in").partition("Control requests:")[2]
    assert handled == set(re.findall(r"`(\w+)`", listed))
    kinds = re.search(r"ErrorKind = Literal\[(.*?)\]", Path(errors.__file__).read_text("utf-8"), re.S)
    assert kinds is not None
    codes = section("Lines out").partition("one of these codes:")[2].partition("###")[0]
    assert re.findall(r'"(\w+)"', kinds.group(1)) == re.findall(r"`(\w+)`", codes)
