"""The last resort for lines that their dialect could not shrink."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yume_shim.host.line_fallback import shrink_object
from yume_shim.text import codec

if TYPE_CHECKING:
    from yume_shim.types.blocks import Json


def test_short_fields_stay_and_long_ones_are_cut_in_the_middle() -> None:
    obj: Json = {
        "type": "result",
        "result": "a" * 5_000 + "z" * 5_000,
        "num_turns": 3,
        "is_error": False,
        "list": list(range(900)),
    }
    shrunk = shrink_object(obj, 8_000)
    text = shrunk["result"]
    assert (len(text), text[:3], text[-3:]) == (4_095, "aaa", "zzz")
    assert shrunk == {
        "type": "result",
        "result": text,
        "num_turns": 3,
        "is_error": False,
        "list": list(range(256)),
        "line_truncated": True,
    }


def test_values_are_cut_until_the_line_fits() -> None:
    obj: Json = {"type": "system", **{f"field{n}": ["text" * 500] * 300 for n in range(20)}}
    for limit in (50_000, 5_000, 2_000):
        shrunk = shrink_object(obj, limit)
        assert len(codec.dumps(shrunk)) <= limit
        assert list(shrunk) == [*obj, "line_truncated"]


def test_an_object_that_cannot_fit_keeps_its_type_alone() -> None:
    obj: Json = {"type": "x" * 100, **{f"{n:03d}" * 10: n for n in range(500)}}
    assert shrink_object(obj, 200) == {"type": "x" * 40, "line_truncated": True}


def test_depth_is_bounded() -> None:
    circle: Json = {"type": "a"}
    circle["self"] = circle
    shrunk: Any = shrink_object(circle, 10_000)
    depth = 0
    while shrunk:
        shrunk, depth = shrunk.get("self"), depth + 1
    assert depth == 25
