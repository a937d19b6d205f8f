"""Arguments by JSON path."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yume_shim.providers.apis.google_genai.partial_arguments import MAX_INDEX, PartialArguments


def built(*pieces: Any, given: Any = None) -> Any:
    arguments = PartialArguments(given)
    arguments.add(list(pieces))
    return json.loads(arguments.text())


def text(path: str, value: str) -> dict[str, Any]:
    return {"jsonPath": path, "stringValue": value}


def test_strings_grow() -> None:
    assert built(text("$.a", "one "), text("$.b", "x"), text("$.a", "two")) == {"a": "one two", "b": "x"}


def test_values_replace() -> None:
    number, null = {"jsonPath": "$.n", "numberValue": 3.0}, {"jsonPath": "$.z", "nullValue": "NULL_VALUE"}
    assert built(number, {"jsonPath": "$.t", "boolValue": False}, null, given={"n": 1}) == {
        "n": 3,
        "t": False,
        "z": None,
    }


def test_paths() -> None:
    assert built(text("$['a b'][1].c", "x"), text('$["q"]', "y")) == {"a b": [None, {"c": "x"}], "q": "y"}


def test_a_path_alone_changes_nothing() -> None:
    assert built({"jsonPath": "$.a", "willContinue": True}) == {}


@pytest.mark.parametrize(
    "path", ["", "a", "$", "$.", "$[x]", "$.a[", f"$.a[{MAX_INDEX}]", "$.s.x", "$.s[0]", "$" + ".a" * 99, None, 5]
)
def test_a_piece_without_a_path_makes_the_call_broken_and_is_shown(path: Any) -> None:
    piece = {"jsonPath": path, "stringValue": "v"}
    found = built(text("$.s", "is a string"), piece)
    assert isinstance(found, list)
    assert found[-1] == piece


def test_text_is_passed_on() -> None:
    assert PartialArguments('{"a": 1').text() == '{"a": 1'


LEAF = st.text(min_size=1) | st.booleans() | st.none() | st.integers(-(2**53), 2**53)
NAME = st.text("abcxyz_", min_size=1, max_size=4)
TREE = st.recursive(
    LEAF,
    lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(NAME, inner, min_size=1),
    max_leaves=12,
)


@given(st.dictionaries(NAME, TREE, max_size=3))
def test_any_object_split_into_pieces_is_assembled_again(whole: dict[str, Any]) -> None:
    assert built(*pieces("$", whole)) == whole


def pieces(path: str, node: Any) -> list[dict[str, Any]]:
    match node:
        case dict():
            return [piece for name, inner in node.items() for piece in pieces(f"{path}.{name}", inner)]
        case list():
            return [piece for index, inner in enumerate(node) for piece in pieces(f"{path}[{index}]", inner)]
        case bool():
            return [{"jsonPath": path, "boolValue": node}]
        case int():
            return [{"jsonPath": path, "numberValue": node}]
        case None:
            return [{"jsonPath": path, "nullValue": "NULL_VALUE"}]
        case _:
            half = len(node) // 2
            return [text(path, node[:half]), text(path, node[half:])]
