"""Records of failed requests: bounded in number and size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yume_shim.store.error_records import MAX_RECORD_BYTES, MAX_RECORDS, add_error, read_errors

if TYPE_CHECKING:
    from pathlib import Path


def test_the_newest_records_are_kept(tmp_path: Path) -> None:
    path = str(tmp_path / "deep" / "errors.jsonl")
    for number in range(MAX_RECORDS + 7):
        add_error(path, {"number": number})
    assert [record["number"] for record in read_errors(path)] == list(range(7, MAX_RECORDS + 7))


def test_a_long_record_loses_its_shape_and_a_longer_one_is_left_out(tmp_path: Path) -> None:
    path = str(tmp_path / "errors.jsonl")
    add_error(path, {"kind": "auth", "shape": {"sequence": ["user"] * MAX_RECORD_BYTES}})
    add_error(path, {"kind": "x" * MAX_RECORD_BYTES})
    assert read_errors(path) == [{"kind": "auth"}]


def test_damaged_lines_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "errors.jsonl"
    path.write_bytes(b'{"number": 1}\nnot json\n[]\n{"number"')
    assert read_errors(str(path)) == [{"number": 1}]
    assert read_errors(str(tmp_path / "none")) == []
