"""`Value`: what a frozen dataclass promises, without generating code."""

from __future__ import annotations

import copy
import pickle

import pytest

from yume_shim.types.value import Value, fields, replace, replace_in


class Point(Value):
    """Two places and a name."""

    x: int
    y: int = 2
    name: str = ""

    @property
    def total(self) -> int:
        return self.x + self.y


class Other(Value):
    """The same fields, another thing."""

    x: int
    y: int = 2
    name: str = ""


def test_construction() -> None:
    assert (Point(1).x, Point(1).y, Point(1).name) == (1, 2, "")
    assert Point(1, 5, "p") == Point(y=5, x=1, name="p") == Point(1, name="p", y=5)
    assert Point(3).total == 5


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (Point, "needs a value for 'x'"),
        (lambda: Point(1, 2, "", 4), "takes 3 values"),  # type: ignore[call-arg]
        (lambda: Point(1, z=4), "has no field z"),  # type: ignore[call-arg]
        (lambda: Point(1, x=4), "has no field x"),  # type: ignore[misc]
    ],
    ids=["missing", "too many", "unknown", "twice"],
)
def test_refusals(make: object, words: str) -> None:
    assert callable(make)
    with pytest.raises(TypeError, match=words):
        make()


def test_frozen_and_slotted() -> None:
    point = Point(1)
    with pytest.raises(AttributeError, match="frozen"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(AttributeError, match="frozen"):
        del point.x  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(AttributeError):
        point.other = 2  # type: ignore[attr-defined]
    assert not hasattr(point, "__dict__")


def test_equality_is_by_kind_and_content() -> None:
    assert Point(1) == Point(1)
    assert Point(1) != Point(2)
    others: list[object] = [Other(1), (1, 2, "")]
    assert all(Point(1) != other for other in others)
    assert len({Point(1), Point(1), Point(2), Other(1)}) == 3


def test_repr_match_copy_and_pickle() -> None:
    point = Point(1, name="p")
    assert repr(point) == "Point(x=1, y=2, name='p')"
    match point:
        case Point(x, 2, name=name):
            assert (x, name) == (1, "p")
        case _:
            pytest.fail("did not match")
    assert copy.deepcopy(point) == point
    assert pickle.loads(pickle.dumps(point)) == point
    assert replace(point, y=9) == Point(1, 9, "p")
    assert fields(point) == ("x", "y", "name")
    with pytest.raises(TypeError):
        replace(point, z=1)


def test_doc_and_name_are_kept() -> None:
    assert Point.__doc__ == "Two places and a name."
    assert Point.__name__ == "Point"


def test_a_value_is_no_base() -> None:
    with pytest.raises(TypeError, match="no base but Value"):

        class Longer(Point):
            z: int = 0


def test_a_field_of_a_field_is_replaced() -> None:
    class Line(Value):
        start: Point
        end: Point = Point(5)

    line = Line(Point(1))
    assert replace_in(line, "end", y=7, name="e") == Line(Point(1), Point(5, 7, "e"))
    assert line.end == Point(5)
    with pytest.raises(TypeError):
        replace_in(line, "end", z=1)
