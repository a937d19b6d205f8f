"""`Value`: the base of frozen, slotted classes that cost little to define.

    class Delta(Value):
        \"""A piece of an answer.\"""

        index: int
        text: str = ""

`dataclasses.dataclass(frozen=True, slots=True)` compiles source text for every class: 60 classes take 30 to 50 ms
of each start, plus 6 ms to import the module. A subclass of `Value` has the same (positional and keyword arguments,
defaults, equality by value, repr, `__match_args__`, no assignment) without generated code, and is made once: a class
decorator would have to make every class a second time to give it slots. What only instances need is prepared when the
first one is made, since most classes of a plain turn have none. Type checkers read subclasses as frozen dataclasses
through PEP 681. At run time they have the methods of `Value` and not the class itself as a base: nothing is an instance
of it, and a value has no subclasses.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar, dataclass_transform

    V = TypeVar("V", bound="Value")

    @dataclass_transform(frozen_default=True)
    class Value:
        """The base of all values."""

    def replace(obj: V, **changes: Any) -> V: ...

    def replace_in(obj: V, field: str, **changes: Any) -> V: ...

    def fields(obj: object) -> tuple[str, ...]: ...
else:

    class _Kind(type):
        def __new__(kind, name, bases, body):
            """The class, with slots for its annotated names; class attributes become defaults."""
            names = tuple(body.get("__annotations__", ()))
            defaults = body["_defaults"] = {}
            for field in names:
                if field in body:
                    defaults[field] = body.pop(field)
            body["__slots__"] = body["__match_args__"] = names
            if bases:
                if bases != (Value,):
                    raise TypeError(f"{name}: a value has no base but Value")
                body = {**_METHODS, **body}
            return type.__new__(kind, name, (), body)

    class Value(metaclass=_Kind):
        """The base of all values."""

        def __init__(self, *args, **kwargs):
            made = type(self)
            made.__init__ = _init_for(made)
            made.__init__(self, *args, **kwargs)

        def __setattr__(self, name, *_):
            raise AttributeError(f"{type(self).__name__} is frozen: '{name}' cannot change")

        __delattr__ = __setattr__

        def __eq__(self, other):
            if type(other) is not type(self):
                return NotImplemented
            return _items(self) == _items(other)

        def __hash__(self):
            return hash((type(self), _items(self)))

        def __repr__(self):
            inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
            return f"{type(self).__name__}({inside})"

        def __reduce__(self):
            return type(self), _items(self)

    _METHODS = {name: method for name, method in Value.__dict__.items() if callable(method)}
    """Of every class. As a base, `Value` would be asked for 90 names by `type.__new__` when a class is made."""

    def _init_for(made):
        names, defaults = made.__match_args__, made._defaults
        slots = made.__dict__
        setters = [slots[name].__set__ for name in names]
        count = least = len(names)
        missing = object()
        while least and names[least - 1] in defaults:
            least -= 1
        tail = tuple([defaults[name] for name in names[least:]])

        def __init__(self, *args, **kwargs):
            given = len(args)
            if least <= given <= count and not kwargs:  # most calls take this path
                items = args if given == count else args + tail[given - least :]
                for place, put in enumerate(setters):  # `zip(…, strict=True)` costs more than all of this
                    put(self, items[place])
                return
            if given > count:
                raise TypeError(f"{made.__name__} takes {count} values, got {given}")
            for place in range(given):
                setters[place](self, args[place])
            for place in range(given, count):
                name = names[place]
                item = kwargs.pop(name, missing) if kwargs else missing
                if item is missing:
                    if name not in defaults:
                        raise TypeError(f"{made.__name__} needs a value for '{name}'")
                    item = defaults[name]
                setters[place](self, item)
            if kwargs:
                raise TypeError(f"{made.__name__} has no field {', '.join(sorted(kwargs))} (or it was given twice)")

        return __init__

    def _items(self):
        return tuple(getattr(self, name) for name in self.__match_args__)

    def replace(obj, **changes):
        """A copy of a value with some fields changed."""
        kept = {name: changes.pop(name) if name in changes else getattr(obj, name) for name in obj.__match_args__}
        return type(obj)(**kept, **changes)

    def replace_in(obj, field, **changes):
        """A copy of a value whose `field` is a value itself, with some fields of that one changed."""
        return replace(obj, **{field: replace(getattr(obj, field), **changes)})

    def fields(obj):
        """The field names of a value, in order."""
        return obj.__match_args__
