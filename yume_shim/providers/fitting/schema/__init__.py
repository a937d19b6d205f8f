"""Tool schemas in the form that an endpoint takes: without the keywords it refuses, as an object, in OpenAI's strict
form, or in the OpenAPI subset of Gemini's `parameters`.

A keyword and a property may have the same name (`format`, `default`, `title`): keywords are keys of a schema,
properties are keys of a map of schemas, and only keywords are dropped. The modules that do the work are loaded when a
schema needs it; the schemas of our own tools are sent as they are.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.types.blocks import Json

NOT_AT_THE_TOP = ("oneOf", "anyOf", "allOf", "enum", "const", "not", "if", "$ref")
"""OpenAI: "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level".
Anthropic: "input_schema does not support oneOf, allOf, or anyOf at the top level". One such tool makes every request
fail."""


def reduce_schema(schema: Json, drop: tuple[str, ...]) -> Json:
    """The schema without the keywords in `drop`. The schema itself when there is nothing to drop."""
    if not drop:
        return schema
    from yume_shim.providers.fitting.schema.reduce import Reducer

    dropped = frozenset(drop)
    reduced = Reducer(schema, lambda key: key not in dropped).whole()
    return reduced if isinstance(reduced, dict) else {}


def object_schema(schema: Json, *, named: bool = True) -> Json:
    """The schema as parameters of a function: an object without a union at the top. With `named` it has `properties`,
    even if empty. The schema itself if it is one already."""
    fits = schema.get("type") == "object" and ("properties" in schema or not named)
    if fits and not any(key in schema for key in NOT_AT_THE_TOP):
        return schema
    from yume_shim.providers.fitting.schema.object_root import as_object

    return as_object(schema)


def strict_schema(schema: Json) -> Json | None:
    """The schema in OpenAI's strict form, or None if it has none."""
    from yume_shim.providers.fitting.schema.strict import strict_form

    return strict_form(schema)


def without_nulls(given: Any, schema: Any) -> Any:
    """A call's input without the nulls that mean "left out" in the strict form of `schema`."""
    from yume_shim.providers.fitting.schema.strict import relaxed

    return relaxed(given, schema)


def openapi_schema(schema: Json) -> Json:
    """The schema in the OpenAPI subset of Gemini's older `parameters` field, types in capitals."""
    from yume_shim.providers.fitting.schema.openapi import openapi_form

    return openapi_form(schema)
