"""The quirk table (docs/quirks.toml): goldens prove every row, and every golden that shows a quirk has its row."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from yume_shim.types.models import Quirks
from yume_shim.types.value import fields

ROOT = Path(__file__).parents[1]
ROWS: list[dict[str, Any]] = tomllib.loads((ROOT / "docs" / "quirks.toml").read_text("utf-8"))["quirk"]
NAMES = [row["name"] for row in ROWS]
CASES = {
    path.parent.relative_to(ROOT / "golden").as_posix(): tomllib.loads(path.read_text("utf-8"))
    for kind in ("providers/*", "sessions")
    for path in sorted((ROOT / "golden").glob(f"{kind}/*/case.toml"))
}


def test_names_are_unique() -> None:
    assert len(NAMES) == len(set(NAMES))


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_a_row_is_complete_and_proved(row: dict[str, Any]) -> None:
    assert set(row) - {"quirks"} == {"name", "who", "vendor", "ours", "code"}
    assert [name for name, case in CASES.items() if case.get("quirk") == row["name"]]
    assert [path for path in row["code"] if not (ROOT / "yume_shim" / path).is_file()] == []
    assert set(row.get("quirks", ())) <= set(fields(Quirks))


def test_a_golden_names_a_row() -> None:
    assert {name: case["quirk"] for name, case in CASES.items() if case.get("quirk", NAMES[0]) not in NAMES} == {}


def test_every_golden_with_an_adaptation_has_a_row() -> None:
    """A second answer means that the first was a refusal which changed the request."""
    adapted = {path.parent.relative_to(ROOT / "golden").as_posix() for path in (ROOT / "golden").rglob("wire.2.jsonl")}
    assert sorted(name for name in adapted if "quirk" not in CASES[name]) == []


def test_names_of_goldens_explain_themselves() -> None:
    assert [name for name in CASES if re.match(r"[a-z]\d+-", name.rpartition("/")[2])] == []
