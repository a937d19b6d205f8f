"""Finds the JSON Schema keywords that a refusal names: an endpoint that does not know them refuses every tool."""

from __future__ import annotations

import re

from yume_shim.providers.fitting.refusal_rules import about_conversation
from yume_shim.providers.fitting.schema import reduce_schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from yume_shim.types.errors import Failure
    from yume_shim.types.models import ToolSpec

PLAIN_WORDS = (
    *("const", "contains", "contentSchema", "default", "definitions", "dependencies", "deprecated", "else", "enum"),
    *("examples", "format", "if", "maximum", "minimum", "not", "nullable", "pattern", "then", "title"),
)
"""Keywords that are also words: they count only in quotation marks."""
NAMES = (
    *("$anchor", "$comment", "$defs", "$id", "$ref", "$schema", "additionalItems", "additionalProperties", "allOf"),
    *("anyOf", "contentEncoding", "contentMediaType", "dependentRequired", "dependentSchemas", "exclusiveMaximum"),
    *("exclusiveMinimum", "maxContains", "maxItems", "maxLength", "maxProperties", "minContains", "minItems"),
    *("minLength", "minProperties", "multipleOf", "oneOf", "patternProperties", "prefixItems", "propertyNames"),
    *("readOnly", "unevaluatedItems", "unevaluatedProperties", "uniqueItems", "writeOnly"),
)
"""Other keywords. What describes the parameters (`type`, `properties`, `required`, `items`, `description`) is never
left out."""

# "'default' is not allowed"; "additionalProperties is not supported"; OpenAI: "In context=(), 'default' is not
# permitted."; Gemini: "Unknown name \"const\" at 'tools[0]…': Cannot find field."; Cerebras: "Unsupported JSON schema
# fields: {'minLength'}"; Moonshot: "keyword 'default' is not allowed"
_REFUSES = re.compile(
    r"not (?:allowed|supported|permitted|recogni[sz]ed|accepted|valid|enabled)|unsupported|unknown (?:name|key)"
    r"|unrecogni[sz]ed|unexpected|forbidden|cannot find field|does(?: not|n't) (?:support|allow|accept)"
    r"|extra (?:inputs|fields)",
    re.IGNORECASE,
)
_REQUIRES = re.compile(r"required to be supplied|must be supplied|is required|missing", re.IGNORECASE)
"""OpenAI's strict form: "'additionalProperties' is required to be supplied and to be false"."""
_SENTENCES = re.compile(r"(?<=[.;!])\s+|\n")
_QUOTED = re.compile(r"[`'\"]([$A-Za-z]+)[`'\"]")
_BARE = re.compile(r"(?<![\w$.])(\$?[A-Za-z]+)(?!\w)")


def refused_keywords(failure: Failure, tools: Iterable[ToolSpec]) -> tuple[str, ...]:
    """The keywords that the refusal names, as far as the schemas of these tools use them."""
    if about_conversation(failure):
        return ()
    named: dict[str, None] = {}
    for sentence in _SENTENCES.split(failure.message):
        if _REFUSES.search(sentence) and not _REQUIRES.search(sentence):
            named |= dict.fromkeys(name for name in _QUOTED.findall(sentence) if name in PLAIN_WORDS or name in NAMES)
            named |= dict.fromkeys(name for name in _BARE.findall(sentence) if name in NAMES)
    schemas = [tool.schema for tool in tools]
    return tuple(name for name in named if any(reduce_schema(schema, (name,)) != schema for schema in schemas))
