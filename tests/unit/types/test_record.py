"""`@record`: plain dicts from typed definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from yume_shim.types.record import ABSENT, Record, describe, record

if TYPE_CHECKING:
    from typing import Literal


class Tail(Record):
    """What lines end with."""

    uuid: str


class Named(Record):
    """Another end."""

    name: str | None = ABSENT


@record
class Line(Tail):
    """A line."""

    type: Literal["line"] = "line"
    size: int | None = ABSENT
    items: list[int]  # type: ignore[assignment]  # the name of a dict's method is a legal field
    nothing: None = None


@record
class Both(Named, Tail):
    """A line with two ends."""

    type: Literal["both"] = "both"


def test_the_result_is_a_plain_dict_in_the_order_of_the_definition() -> None:
    line = Line(uuid="u", items=[1])
    assert type(line) is dict
    assert repr(line) == "{'type': 'line', 'items': [1], 'nothing': None, 'uuid': 'u'}"
    assert list(Line(uuid="u", items=[1], size=2)) == ["type", "size", "items", "nothing", "uuid"]


def test_fields_of_bases_come_last_in_their_order() -> None:
    assert list(Both(uuid="u", name="n")) == ["type", "name", "uuid"]
    assert list(Both(uuid="u")) == ["type", "uuid"]


def test_optional_fields_are_left_out_when_they_are_none() -> None:
    assert Line(items=[], uuid="u", size=None) == Line(items=[], uuid="u")
    assert Line(items=[], uuid="u", size=0)["size"] == 0


def test_every_call_makes_a_new_dict() -> None:
    first = Both(uuid="u")
    first["more"] = 1
    assert Both(uuid="u") == {"type": "both", "uuid": "u"}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"uuid": "u"}, "Line needs a value for items"),
        ({}, "Line needs a value for items, uuid"),
        ({"uuid": "u", "items": [], "colour": "red"}, "Line has no field colour"),
        ({"uuid": "u", "colour": "red"}, "Line has no field colour"),
    ],
    ids=["one missing", "all missing", "unknown", "unknown and missing"],
)
def test_refusals(fields: dict[str, object], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        Line(**fields)  # type: ignore[arg-type]


def test_describe() -> None:
    definition = describe(Line)
    assert (definition.name, definition.module, definition.doc) == ("Line", __name__, "A line.")
    assert list(definition.annotations().items()) == [
        ("type", "Literal['line']"),
        ("size", "int | None"),
        ("items", "list[int]"),
        ("nothing", "None"),
        ("uuid", "str"),
    ]
    assert definition.constants() == {"type": "line", "nothing": None}
    assert definition.optional() == {"size"}
    assert describe(Both).optional() == {"name"}
