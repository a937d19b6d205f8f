"""Several tool sources as one toolbox, and input for schemas of other programs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.engine_fakes import FunctionTools
from yume_shim.engine.cancel import CancelSignal
from yume_shim.engine.toolbox import Toolbox
from yume_shim.types.blocks import ToolCall
from yume_shim.types.calls import PreparedCall
from yume_shim.types.errors import ToolFailed
from yume_shim.types.models import ToolSpec
from yume_shim.types.outputs import ToolContext, ToolOutput


class OwnTools:
    """A source that validates its input itself and knows a tool that is switched off."""

    own_schemas = True

    def specs(self) -> tuple[ToolSpec, ...]:
        return (ToolSpec("Up", "ours", {"type": "object"}, aliases=("Upper",), host_fields=("answer",)),)

    def find(self, name: str) -> ToolSpec | None:
        return self.specs()[0] if name in ("Up", "Upper") else None

    def why_missing(self, name: str) -> str:
        return "It is switched off." if name == "Down" else ""

    def complete(self, call: ToolCall, spec: ToolSpec, *, fix_arguments: bool = False) -> ToolCall:
        return ToolCall(call.id, call.name, {"fixed": fix_arguments, **call.input})

    def prepare(self, call: ToolCall, spec: ToolSpec) -> PreparedCall:
        if "text" not in call.input:
            raise ToolFailed("text is missing", before_run=True)
        return PreparedCall(call, spec, self)

    def run(self, prepared: PreparedCall, context: ToolContext) -> ToolOutput:
        return ToolOutput(prepared.call.input["text"].upper())


def foreign(schema: Any) -> Toolbox:
    tools = FunctionTools(Get=lambda given, _: sorted(given))
    tools.schemas["Get"] = schema
    return Toolbox((tools,))


def run(box: Toolbox, name: str, **given: Any) -> object:
    prepared = box.prepare(box.complete(ToolCall("c1", name, given)))
    return box.run(prepared, ToolContext("c1", CancelSignal())).content


def test_each_call_goes_to_the_source_that_offers_it() -> None:
    box = Toolbox((OwnTools(), FunctionTools(Get=lambda given, _: "got", Up=lambda given, _: "never reached")))
    assert box.names() == ("Up", "Get")
    assert run(box, "Up", text="a") == "A"
    assert run(box, "Upper", text="a") == "A"
    assert run(box, "Get") == "got"


def test_each_source_completes_its_own_calls() -> None:
    box = Toolbox((FunctionTools(Get=lambda given, _: ""), OwnTools()))
    assert box.complete(ToolCall("1", "Up", {}), fix_arguments=True).input == {"fixed": True}
    unknown = ToolCall("2", "Nope", {"x": 1})
    assert box.complete(unknown) is unknown


def test_fields_of_the_host_are_removed_from_the_models_input_only() -> None:
    box = Toolbox((OwnTools(),))
    call = ToolCall("1", "Up", {"text": "a", "answer": "invented"})
    assert box.complete(call).input == {"fixed": False, "text": "a"}
    assert box.complete_for_host(call).input == {"fixed": False, "text": "a", "answer": "invented"}


def test_a_missing_tool_is_explained() -> None:
    box = Toolbox((OwnTools(), FunctionTools(Get=lambda given, _: "")))
    with pytest.raises(ToolFailed, match=r"No such tool available: Down\. It is switched off\."):
        box.prepare(ToolCall("1", "Down", {}))
    with pytest.raises(ToolFailed, match=r"No such tool available: Nope\. Available: Up, Get"):
        box.prepare(ToolCall("1", "Nope", {}))


def test_a_toolbox_limited_to_some_names() -> None:
    box = Toolbox((OwnTools(), FunctionTools(Get=lambda given, _: ""))).limited_to(("Upper", "Other"))
    assert box.names() == ("Up",)
    assert box.find("Get") is None
    with pytest.raises(ToolFailed, match="Available: Up"):
        box.prepare(ToolCall("1", "Get", {}))


def test_one_more_source_keeps_the_limit_and_the_order() -> None:
    box = Toolbox((OwnTools(),)).with_source(FunctionTools(Get=lambda given, _: "", Up=lambda given, _: ""))
    assert box.names() == ("Up", "Get")
    assert box.find("Up") == OwnTools().specs()[0]


@pytest.mark.parametrize(
    "schema",
    [
        {},
        True,
        {"type": "object"},
        {"type": "object", "additionalProperties": True},
        {"anyOf": [{"required": ["path"]}, {"required": ["url"]}]},
        {"$ref": "#/$defs/input", "$defs": {"input": {"properties": {"path": {"type": "string"}}}}},
        {"type": "object", "properties": {"path": True}},
        {"type": "object", "properties": {"path": {"type": ["string", "null"]}}},
    ],
)
def test_foreign_schemas_of_every_form(schema: Any) -> None:
    assert run(foreign(schema), "Get", path="~/x", **{"free form": [1]}) == "['free form', 'path']"


def test_what_a_foreign_schema_forbids_is_refused_before_it_runs() -> None:
    box = foreign({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
    with pytest.raises(ToolFailed) as failed:
        run(box, "Get", n="x")
    assert failed.value.before_run
    assert failed.value.message == (
        "InputValidationError: Get failed due to the following issue(s):\nroot.n: 'x' is not of type 'integer'"
    )
    with pytest.raises(ToolFailed, match="not one complete JSON object"):
        box.prepare(ToolCall("1", "Get", {}, broken="{"))
