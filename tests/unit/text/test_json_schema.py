"""JSON Schemas that other programs wrote: checked without network, without endless patterns, without blow-up."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

from yume_shim.text.json_schema import MAX_MESSAGE, MAX_PROBLEMS, schema_problems, with_defaults

ANY: Any = True
NOTHING: Any = False


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({}, {"anything": 1}, None),
        (ANY, {"anything": 1}, None),
        (NOTHING, None, {}),
        ({"type": "object"}, {"free": {"form": [1]}}, None),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"a": 1}, {"a": "x"}),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, {"b": 1}, {"c": 1}),
        ({"properties": {"a": True, "b": False}}, {"a": 1}, {"b": 1}),
        ({"$ref": "#/$defs/x", "$defs": {"x": {"required": ["a"]}}}, {"a": 1}, {}),
        (
            {"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": False},
            {"next": {"next": {}}},
            {"next": {"other": 1}},
        ),
        ({"patternProperties": {"^x-": {}}, "additionalProperties": False}, {"x-1": 1}, None),
    ],
)
def test_untrusted_schemas(schema: Any, good: Any, bad: Any) -> None:
    if good is not None:
        assert schema_problems(schema, good, trusted=False) == []
    if bad is not None:
        assert schema_problems(schema, bad, trusted=False)


def test_a_remote_reference_is_not_opened() -> None:
    opened: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.5)

        def accept() -> None:
            try:
                opened.append(server.accept())
            except TimeoutError:
                pass

        thread = threading.Thread(target=accept)
        thread.start()
        schema = {"$ref": f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"}
        assert schema_problems(schema, {"a": 1}, trusted=False) == []
        thread.join()
    assert opened == []


def test_an_endless_pattern_is_not_run() -> None:
    schema = {"properties": {"s": {"type": "string", "pattern": "^(a+)+$"}}}
    assert schema_problems(schema, {"s": "a" * 64 + "!"}, trusted=False) == []


def test_references_that_expand_to_billions_of_schemas_end() -> None:
    chain = {f"a{i}": {"allOf": [{"$ref": f"#/$defs/a{i + 1}"}] * 2} for i in range(64)}
    schema = {"$ref": "#/$defs/a0", "$defs": {**chain, "a64": {}}}
    assert schema_problems(schema, {}, trusted=False) == []
    assert schema_problems({"$ref": "#"}, {}, trusted=False) == []


def test_an_invalid_schema_accepts_every_value() -> None:
    assert schema_problems({"type": "nonsense"}, {"a": 1}, trusted=False) == []
    with pytest.raises(Exception, match="nonsense"):
        schema_problems({"type": "nonsense"}, {"a": 1}, trusted=True)


def test_problems_are_few_and_short() -> None:
    schema = {"additionalProperties": {"type": "integer"}}
    problems = schema_problems(schema, {str(n): "x" * 100_000 for n in range(50)}, trusted=False)
    assert len(problems) == MAX_PROBLEMS
    assert all(len(problem) <= MAX_MESSAGE for problem in problems)


def test_a_trusted_pattern_is_run() -> None:
    schema = {"properties": {"s": {"pattern": "^a$"}}}
    assert schema_problems(schema, {"s": "b"}, trusted=True) == ["root.s: 'b' does not match '^a$'"]


def test_defaults() -> None:
    schema = {"properties": {"a": {"default": 1}, "o": {"properties": {"b": {"default": 2}}}, "free": True}}
    assert with_defaults({"o": {}}, schema) == {"a": 1, "o": {"b": 2}}
    complete = {"a": 5, "o": {"b": 6}, "free": 7}
    assert with_defaults(complete, schema) is complete
    assert with_defaults([1], schema) == [1]
    assert with_defaults({"a": 1}, True) == {"a": 1}
