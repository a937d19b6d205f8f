"""An answer in a given shape: the model gets a tool that takes it, and its input is checked against the schema."""

from __future__ import annotations

from yume_shim.types.errors import ToolFailed
from yume_shim.types.models import ToolSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from yume_shim.types.blocks import Json, ToolCall

TOOL_NAME = "StructuredOutput"
MAX_TRIES = 5
"""How many outputs that do not fit are sent back before the turn gives up."""
MAX_DEPTH = 32
"""How deep defaults are looked for."""
ACCEPTED = "Structured output provided successfully"
NUDGE = f"You have not delivered your answer yet: call the {TOOL_NAME} tool with it now."

_DESCRIPTION = (
    "Delivers the final answer in the shape that was asked for. Call it exactly once, when the work is done; "
    "its input is the answer."
)


class StructuredOutput:
    """One turn's demand for a shaped answer. `value` is set once an output fitted."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = dict(schema)
        self.spec = ToolSpec(TOOL_NAME, _DESCRIPTION, _as_object(self._schema), harmless=True)
        self._wrapped = self.spec.schema is not self._schema
        self.value: Any = None
        self.delivered = False
        self.failures = 0
        self.nudged = False

    def take(self, call: ToolCall) -> str:
        """Accept an output, or raise ToolFailed that says what does not fit."""
        if call.broken is not None:
            self.failures += 1
            raise ToolFailed("Output does not match required schema: root: the arguments are not valid JSON")
        output = call.input.get("output") if self._wrapped else call.input
        problem = self._problem(output)
        if problem and not self._problem(full := _with_defaults(output, self._schema, 0)):
            output, problem = full, ""  # endpoints that refuse `default` never told the model about it
        if problem:
            self.failures += 1
            raise ToolFailed(f"Output does not match required schema: {problem}")
        self.value, self.delivered = output, True
        return ACCEPTED

    def _problem(self, output: Any) -> str:
        from jsonschema.validators import validator_for

        validator = validator_for(self._schema)(self._schema)
        errors = list(validator.iter_errors(output))[:5]
        return "; ".join(f"{error.json_path.replace('$', 'root', 1)}: {error.message}" for error in errors)


def _with_defaults(output: Any, schema: Any, depth: int) -> Any:
    """The output with the schema's defaults for properties that are missing."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(output, dict) or not isinstance(properties, dict) or depth > MAX_DEPTH:
        return output
    missing = {
        name: part["default"]
        for name, part in properties.items()
        if name not in output and isinstance(part, dict) and "default" in part
    }
    full = {**output, **missing}
    return {name: _with_defaults(item, properties.get(name), depth + 1) for name, item in full.items()}


def _as_object(schema: Json) -> Json:
    """Tools take objects: any other shape is put under one key."""
    if schema.get("type") == "object" or "properties" in schema:
        return schema
    return {"type": "object", "properties": {"output": schema}, "required": ["output"], "additionalProperties": False}
