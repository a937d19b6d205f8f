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

Every start pays for this module, so it generates no code, does not import `typing`, and makes no classes: the base
`Record` is an instance of `Definition`, and a class statement with such a base calls `Definition(name, bases, body)`.
That costs a tenth of a class. `describe` returns the Definition of a record, for generators of schemas, types and
documentation.
"""

from __future__ import annotations

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

    def describe(built: type[Record]) -> Definition: ...

    class Definition:
        """What a record is made of. Annotations are strings, in the order of the wire; `typing.get_type_hints` can
        resolve them. Constants and optional fields are among them."""

        name: str
        module: str
        doc: str

        def annotations(self) -> Mapping[str, str]: ...

        def constants(self) -> Mapping[str, object]: ...

        def optional(self) -> frozenset[str]: ...

else:
    ABSENT = object()
    _REQUIRED = object()

    class Definition:
        """What a record is made of."""

        __slots__ = ("bases", "body", "name")

        def __init__(self, name, bases, body):
            self.name = name
            self.bases = bases
            self.body = body

        @property
        def module(self):
            return self.body["__module__"]

        @property
        def doc(self):
            return self.body.get("__doc__", "")

        def annotations(self):
            """Field → annotation."""
            found = dict(self.body.get("__annotations__", ()))
            for base in self.bases:
                found |= base.annotations()
            return found

        def template(self):
            """Field → its constant, ABSENT or _REQUIRED."""
            found = {name: self.body.get(name, _REQUIRED) for name in self.body.get("__annotations__", ())}
            for base in self.bases:
                found |= base.template()
            return found

        def constants(self):
            """Field → value, where the value is always the same."""
            return {name: item for name, item in self.template().items() if item not in (ABSENT, _REQUIRED)}

        def optional(self):
            """The fields that may be left out."""
            return frozenset(name for name, item in self.template().items() if item is ABSENT)

    Record = Definition("Record", (), {})

    def record(definition):
        """A function that builds the dict. It prepares itself at its first call: most records are not used in every
        process."""
        required = short_size = full_size = 0
        optional = ()
        short = full = None

        def build(**given):
            nonlocal required, short_size, full_size, optional, short, full
            if full is None:
                template = definition.template()
                optional = tuple(name for name, item in template.items() if item is ABSENT)
                required = sum(item is _REQUIRED for item in template.values())
                short = {name: item for name, item in template.items() if item is not ABSENT}
                full = {name: None if item is ABSENT else item for name, item in template.items()}
                short_size, full_size = len(short), len(full)
            count = len(given)
            if count == required:  # most records are built without optional fields
                line = short | given
                if len(line) == short_size:
                    return line
            line = full | given
            if count < required or len(line) != full_size:
                raise TypeError(_complaint(definition, given))
            for name in optional:
                if line[name] is None:
                    del line[name]
            return line

        build.definition = definition
        return build

    def _complaint(definition, given):
        template = definition.template()
        unknown = sorted(given.keys() - template.keys())
        if unknown:
            return f"{definition.name} has no field {', '.join(unknown)}"
        missing = [name for name, item in template.items() if item is _REQUIRED and name not in given]
        return f"{definition.name} needs a value for {', '.join(missing)}"

    def describe(built):
        """The definition of a record."""
        return built.definition
