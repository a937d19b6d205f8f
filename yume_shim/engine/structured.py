"""Structured output (`--json-schema`): a tool whose input is the final answer, checked against the host's schema."""

from __future__ import annotations

from yume_shim.types.calls import PreparedCall
from yume_shim.types.errors import ToolFailed
from yume_shim.types.models import ToolSpec
from yume_shim.types.outputs import ToolOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from yume_shim.types.blocks import Json, ToolCall
    from yume_shim.types.outputs import ToolContext
    from yume_shim.types.ports import Cancel

TOOL_NAME = "StructuredOutput"
MAX_TRIES = 5
"""The turn ends after this many outputs that do not fit."""
ACCEPTED = "Structured output provided successfully"
NUDGE = f"You have not delivered your answer yet: call the {TOOL_NAME} tool with it now."

_DESCRIPTION = (
    "Delivers the final answer in the shape that was asked for. Call it exactly once, when the work is done; "
    "its input is the answer."
)


class StructuredOutput:
    """Implements `types.ports.ToolSource` with one tool, for one loop. `value` is set once an output fits the
    schema."""

    own_schemas = True
    max_tries = MAX_TRIES
    nudge = NUDGE

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = dict(schema)
        self.spec = ToolSpec(TOOL_NAME, _DESCRIPTION, _as_object(self._schema), source="engine", gated=False)
        self._wrapped = self.spec.schema is not self._schema
        self.value: Any = None
        self.delivered = False
        self.failures = 0
        self.nudged = False

    def specs(self) -> tuple[ToolSpec, ...]:
        return (self.spec,)

    def find(self, name: str) -> ToolSpec | None:
        return self.spec if name == TOOL_NAME else None

    def why_missing(self, name: str) -> str:
        return ""

    def complete(self, call: ToolCall, spec: ToolSpec, *, fix_arguments: bool = False) -> ToolCall:
        return call

    def prepare(self, call: ToolCall, spec: ToolSpec) -> PreparedCall:
        """Accepts any input: `run` checks it, so that one that does not fit counts as a try."""
        return PreparedCall(call, spec, self)

    def run(self, prepared: PreparedCall, context: ToolContext) -> ToolOutput:
        """Accept an output, or raise ToolFailed that says what does not fit."""
        call = prepared.call
        if call.broken is not None:
            self.failures += 1
            raise ToolFailed("Output does not match required schema: root: the arguments are not valid JSON")
        from yume_shim.text.json_schema import with_defaults

        output = call.input.get("output") if self._wrapped else call.input
        problem = self._problem(output, context.cancel)
        if problem:
            full = with_defaults(output, self._schema)
            if full is not output and not self._problem(full, context.cancel):
                output, problem = full, ""  # endpoints that refuse `default` never showed it to the model
        if problem:
            self.failures += 1
            raise ToolFailed(f"Output does not match required schema: {problem}")
        self.value, self.delivered = output, True
        return ToolOutput(ACCEPTED, ACCEPTED)

    def _problem(self, output: Any, cancel: Cancel) -> str:
        from yume_shim.engine.schema_process import has_patterns, problems_by_process
        from yume_shim.text.json_schema import schema_problems

        try:
            if has_patterns(self._schema):
                return "; ".join(problems_by_process(self._schema, output, cancel))
            return "; ".join(schema_problems(self._schema, output, trusted=True))
        except ImportError as error:  # a lean install, and the schema came with `initialize`
            from yume_shim.types.packages import missing_package

            return missing_package(error) or str(error)


def _as_object(schema: Json) -> Json:
    """The schema of the tool's input, which must be an object: any other shape becomes its `output` field."""
    if schema.get("type") == "object" or "properties" in schema:
        return schema
    return {"type": "object", "properties": {"output": schema}, "required": ["output"], "additionalProperties": False}
