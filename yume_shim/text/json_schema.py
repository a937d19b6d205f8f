"""Checks values against JSON Schemas that other programs wrote: the host's output schemas, the tools of MCP servers.

`jsonschema` does the work and is imported at the first check. Two facts about it shape this module: by default it
fetches remote references over the network, and it runs the regular expressions of a schema, some of which never end.
"""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

MAX_PROBLEMS = 5
"""Problems that are reported; a model corrects the first ones first."""
MAX_MESSAGE = 1_000
"""Characters of one problem: messages quote the value."""
MAX_DEPTH = 32
"""How deep defaults are filled in."""
MAX_REFERENCES = 2_000
"""References followed in one check: a few nested ones can expand to billions of schemas."""


class _TooManyReferences(Exception):
    """The schema is not checked further."""


def schema_problems(schema: Mapping[str, Any], value: Any, *, trusted: bool) -> list[str]:
    """What is wrong with the value, as `root.field: message`; [] if it fits.

    An untrusted schema cannot make the check hang or fail: its regular expressions are not run, references are counted,
    and what cannot be resolved or is not a schema counts as valid (the owner of the schema checks again).
    """
    from itertools import islice

    try:
        from jsonschema.validators import validator_for
        from referencing import Registry
    except ImportError:  # a lean install
        if trusted:
            raise
        return []
    checker: Any = validator_for(schema)
    if not trusted:
        checker = _bounded(checker)
    registry: Any = Registry()  # an explicit registry: the default one opens the addresses of remote references
    try:
        errors = list(islice(checker(schema, registry=registry).iter_errors(value), MAX_PROBLEMS))
    except Exception:
        if trusted:
            raise
        return []
    return [f"{error.json_path.replace('$', 'root', 1)}: {error.message}"[:MAX_MESSAGE] for error in errors]


def with_defaults(value: Any, schema: Any, depth: int = 0) -> Any:
    """The value with the schema's defaults for properties that are missing; the same object if none is."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(value, dict) or not isinstance(properties, dict) or depth > MAX_DEPTH:
        return value
    missing = {
        name: part["default"]
        for name, part in properties.items()
        if name not in value and isinstance(part, dict) and "default" in part
    }
    full = {**value, **missing}
    filled = {name: with_defaults(item, properties.get(name), depth + 1) for name, item in full.items()}
    unchanged = not missing and all(filled[name] is item for name, item in value.items())
    return value if unchanged else filled


def _bounded(checker: Any) -> Any:
    """The validator class without regular expressions and with a limit on references."""
    from jsonschema import validators

    extend: Callable[..., Any] = validators.extend
    known: dict[str, Callable[..., Any]] = checker.VALIDATORS
    followed = [0]

    def skip(*_: Any) -> Iterator[Any]:
        return iter(())

    def reference(keyword: str) -> Callable[..., Iterator[Any]]:
        def follow(validator: Any, target: Any, instance: Any, schema: Any) -> Iterator[Any]:
            followed[0] += 1
            if followed[0] > MAX_REFERENCES:
                raise _TooManyReferences
            yield from known[keyword](validator, target, instance, schema) or ()

        return follow

    def additional(validator: Any, rule: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if "patternProperties" not in schema:  # which keys are additional depends on its regular expressions
            yield from known["additionalProperties"](validator, rule, instance, schema) or ()

    skipped = ("pattern", "patternProperties", "unevaluatedProperties", "unevaluatedItems")
    changed: dict[str, Callable[..., Any]] = dict.fromkeys(skipped, skip)
    changed |= {name: reference(name) for name in ("$ref", "$dynamicRef", "$recursiveRef") if name in known}
    if "additionalProperties" in known:
        changed["additionalProperties"] = additional
    return extend(checker, changed)
