"""`@record`: the definition of one JSON object that this program writes.

    @record
    class Retry(Record):
        \"""A request failed and is sent again.\"""

        type: Literal["retry"] = "retry"    # a field with a value: constant
        attempt: int                        # a field without one: required
        status: int | None = ABSENT         # optional: left out when it is not given, or None

`Retry(attempt=1)` returns the plain dict `{"type": "retry", "attempt": 1}`, ready for the JSON encoder: there are no
instances at run time. Type checkers read the class as a dataclass with keyword-only fields (PEP 681) that is also a
`dict[str, Any]`, so they check names and types wherever a record is built.

The order of the definition is the order on the wire, whatever the order of the arguments. Fields of a base class come
after those of the class: a base holds what several lines end with.

No code is generated and `typing` is not imported, because this runs at every start. `describe` shows a definition to
generators of schemas, types and documentation; annotations are strings, for `typing.get_type_hints` to resolve.
"""

from __future__ import annotations

from yume_shim.types.value import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeVar, dataclass_transform

    R = TypeVar("R", bound="Record")

    @dataclass_transform(kw_only_default=True)
    class Record(dict[str, Any]):
        """The base of all records."""

    ABSENT: Any

    def record(cls: type[R]) -> type[R]: ...

    def describe(made: type[Record]) -> Definition: ...

    def is_record(thing: object) -> bool: ...

else:

    class Record:
        """The base of all records."""

    ABSENT = object()

    _REQUIRED = object()

    def record(cls):
        """A function that builds the dict; the class stays reachable for `describe`."""
        template = _template(cls)
        optional = tuple(name for name, item in template.items() if item is ABSENT)
        required = sum(item is _REQUIRED for item in template.values())
        short = {name: item for name, item in template.items() if item is not ABSENT}
        full = {name: None if item is ABSENT else item for name, item in template.items()}
        short_size, full_size = len(short), len(full)

        def build(**given):
            count = len(given)
            if count == required:  # most records are built without optional fields
                line = short | given
                if len(line) == short_size:
                    return line
            line = full | given
            if count < required or len(line) != full_size:
                raise TypeError(_complaint(cls, given, full))
            for name in optional:
                if line[name] is None:
                    del line[name]
            return line

        build.__name__ = cls.__name__
        build.__qualname__ = cls.__qualname__
        build.__module__ = cls.__module__
        build.__doc__ = cls.__doc__
        build.definition = cls
        return build

    def _complaint(cls, given, full):
        unknown = sorted(given.keys() - full.keys())
        if unknown:
            return f"{cls.__name__} has no field {', '.join(unknown)}"
        missing = [name for name, item in full.items() if item is _REQUIRED and name not in given]
        return f"{cls.__name__} needs a value for {', '.join(missing)}"

    def _template(cls):
        """Field → its constant, ABSENT or _REQUIRED, in the order of the wire."""
        found = {}
        for part in cls.__mro__:
            own = part.__dict__
            for name in own.get("__annotations__", ()):
                found.setdefault(name, own.get(name, _REQUIRED))
        return found

    def describe(made):
        """What a record is made of."""
        cls = made.definition
        template = _template(cls)
        annotations = {}
        for part in cls.__mro__:
            for name, text in part.__dict__.get("__annotations__", {}).items():
                annotations.setdefault(name, text)
        return Definition(
            cls.__name__,
            cls.__module__,
            cls.__doc__ or "",
            annotations,
            {name: item for name, item in template.items() if item is not ABSENT and item is not _REQUIRED},
            frozenset(name for name, item in template.items() if item is ABSENT),
        )

    def is_record(thing):
        """Was this made by `@record`?"""
        return hasattr(thing, "definition") and isinstance(thing.definition, type)


@value
class Definition:
    """A record, for generators and tests. `annotations` keeps the order of the wire; constants and optional fields are
    among them."""

    name: str
    module: str
    doc: str
    annotations: Mapping[str, str]
    constants: Mapping[str, object]
    optional: frozenset[str]
