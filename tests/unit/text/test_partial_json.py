"""Fields of an object whose text is still arriving."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yume_shim.text.partial_json import MAX_READ, FieldReader

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.one_of(st.text(), st.integers(-(2**53), 2**53), st.booleans(), st.none(), FLOATS)


def read(text: str, size: int) -> FieldReader:
    reader = FieldReader()
    for start in range(0, len(text), size):
        reader.feed(text[start : start + size])
    return reader


@given(st.dictionaries(st.text(), SCALARS, max_size=5), st.integers(1, 9), st.booleans())
def test_a_whole_object_gives_its_fields(fields: dict[str, Any], size: int, ascii_only: bool) -> None:
    reader = read(json.dumps(fields, ensure_ascii=ascii_only), size)
    assert reader.fields == fields
    assert reader.done


@given(st.dictionaries(st.text(), SCALARS, max_size=4), st.integers(0, 200))
def test_a_part_gives_complete_fields_only(fields: dict[str, Any], cut: int) -> None:
    whole = json.dumps(fields)
    reader = read(whole[: min(cut, len(whole) - 1)], 3)
    assert reader.fields.items() <= fields.items()


@pytest.mark.parametrize(
    ("text", "fields", "done"),
    [
        ('{"a": "x\\"y", "b": "unfin', {"a": 'x"y'}, False),
        ('{"a": "x\\\\', {}, False),
        ('{"a": 1', {}, False),
        ('{"a": "1", "b": [1, 2]', {"a": "1"}, True),
        ("[1]", {}, True),
        ('{"a" "b"}', {}, True),
        ('{"a": nonsense, "b": "c"}', {}, True),
        ('{"a": "\\q", "b": "c"}', {}, True),
    ],
)
def test_odd_text(text: str, fields: dict[str, Any], done: bool) -> None:
    for size in (1, 5, 100):
        reader = read(text, size)
        assert (reader.fields, reader.done) == (fields, done)


def test_a_long_object_is_given_up() -> None:
    reader = read('{"a": "' + "x" * MAX_READ, 1_000)
    assert reader.done
    assert reader.fields == {}
