"""The stdlib half and the orjson half of the codec, loaded as two modules so that both states exist at once."""

from __future__ import annotations

import importlib.util
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers import child
from yume_shim.text import codec

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType


def fresh() -> ModuleType:
    spec = importlib.util.spec_from_file_location("codec_copy", codec.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


cold = fresh()
warm = fresh()
warm.warm()
BOTH = pytest.mark.parametrize("module", [cold, warm], ids=["stdlib", "orjson"])

texts = st.text(st.characters(codec=None, categories=None))  # surrogates included
numbers = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


@settings(deadline=None)
@given(values)
def test_both_write_and_read_the_same(value: Any) -> None:
    first, second = cold.dumps(value), warm.dumps(value)
    assert first == second
    assert cold.loads(first) == warm.loads(first) == cold.loads(second) == warm.loads(second)


@settings(deadline=None)
@given(st.recursive(numbers | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_written_values_are_read_back(value: Any) -> None:
    for module in (cold, warm):
        assert module.loads(module.dumps(value)) == value
        assert b"\n" not in module.dumps(value)


@settings(deadline=None)
@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace")))
def test_reading_raises_only_value_error(data: bytes) -> None:
    outcomes = []
    for module in (cold, warm):
        try:
            outcomes.append(repr(module.loads(data)))
        except ValueError:
            outcomes.append("refused")
    assert outcomes[0] == outcomes[1]


@BOTH
def test_surrogate_pairs_are_joined_and_lone_ones_replaced(module: ModuleType) -> None:
    assert (
        module.dumps(["\ud83d\ude00", "a\ud800b", "\udc00", "\ud83d"]) == '["😀","a\ufffdb","\ufffd","\ufffd"]'.encode()
    )
    assert module.loads(b'["\\ud800","\\ud83d\\ude00"]') == ["\ud800", "😀"]


@BOTH
def test_unusual_numbers(module: ModuleType) -> None:
    assert (
        module.dumps([float("nan"), float("inf"), {"a": (-float("inf"), 3.4e-05)}])
        == b'[null,null,{"a":[null,0.000034]}]'
    )
    assert module.dumps(2**70) == str(2**70).encode()
    assert module.loads(b"[18446744073709551615,-9223372036854775808]") == [2**64 - 1, -(2**63)]
    assert module.loads(b"[18446744073709551616,-9223372036854775809]") == [2.0**64, -(2.0**63)]
    assert module.loads(b"1" * 5000) == float("inf")
    assert module.loads(b"1e999") == float("inf")


@BOTH
@pytest.mark.parametrize(
    "text", ["", "NaN", "Infinity", "-Infinity", "{'a':1}", "1 2", '{"a":1}{"b":2}', "[" * 100_000]
)
def test_invalid_json_raises_value_error(module: ModuleType, text: str) -> None:
    for data in (text, text.encode()):
        with pytest.raises(ValueError, match=r".+"):
            module.loads(data)


@BOTH
def test_bad_utf8_is_replaced(module: ModuleType) -> None:
    assert module.loads(b'["a\xff\xc3"]') == ["a\ufffd\ufffd"]


@BOTH
def test_values_that_cannot_be_written(module: ModuleType) -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    circle: list[Any] = []
    circle.append(circle)
    for value in (deep, circle):
        with pytest.raises(ValueError, match=r".+"):
            module.dumps(value)
    with pytest.raises(TypeError):
        module.dumps({"a": object()})
    while deep:  # unwrapped in a loop: the interpreter would recurse
        deep = deep.pop()


@BOTH
@pytest.mark.parametrize("deep", [1, 3.4e-05, "1e-05"])
def test_moderately_deep_values_pass(module: ModuleType, deep: Any) -> None:
    for _ in range(350):
        deep = {"a": [deep]}
    assert module.loads(module.dumps(deep)) == deep
    assert json.loads(module.dumps(deep)) == deep


@BOTH
@pytest.mark.parametrize("depth", [1_025, 5_000])
def test_values_that_are_too_deep_are_not_read(module: ModuleType, depth: int) -> None:
    """With every version of Python: some write what hosts cannot read."""
    with pytest.raises(ValueError, match="nested too deeply for JSON"):
        module.loads(b'{"a":' * (depth - 1) + b"[]" + b"}" * (depth - 1))
    assert module.loads_object(b'{"a":' + b"[" * depth + b"]" * depth + b"}") is None
    wide = b'{"a":"[{","b":[' + b"[{}]," * depth + b"1]}"
    assert len(module.loads_object(wide)["b"]) == depth + 1


@pytest.mark.parametrize(
    ("data", "expected"),
    [(b'{"a": 1}', {"a": 1}), ("{}", {}), (b"[1]", None), ("null", None), (b"{", None), (b"", None)],
)
def test_only_an_object_is_an_object(data: bytes | str, expected: object) -> None:
    assert codec.loads_object(data) == expected


NO_JSON = ["", " ", "{", '{"a":}', "[1,]", "nul", '"\n"', "1 2", "NaN", "{'a':1}", "[" * 100_000]


@pytest.mark.parametrize("text", NO_JSON)
def test_what_is_no_json_is_refused_where_json_is_not_loaded(text: str, tmp_path: Path) -> None:
    """The C scanner asks the `json` package for its error; in a fresh process nobody has loaded it."""
    (tmp_path / "text").write_bytes(text.encode())
    code = "import sys; from yume_shim.text.codec import loads; assert 'json' not in sys.modules"
    code += "\ntry: loads(open('text', 'rb').read())\nexcept ValueError as error: sys.stdout.write(str(error))"
    program = child.start(["-c", code], cwd=tmp_path, env=child.clean_environment(tmp_path), program=(sys.executable,))
    ended = program.end()
    assert ended.code == 0, ended.stderr
    expected = ""
    try:
        json.loads(text, parse_constant=codec._refuse_constant)
    except RecursionError:
        expected = "nested too deeply for JSON"
    except ValueError as error:
        expected = str(error)
    assert expected
    assert ended.stdout.decode() == expected


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("3e-05", True),
        ('{"usd":1.5e-05,"n":1}', True),
        ("[3e-324]", True),
        ("1.5e+30", False),
        ('"9b1c2d3e-4f5a-417e-8123-b3c9e5e7e-12"', False),
        ("re-use 3e-x e-5", False),
        ("e-", False),
        ("", False),
    ],
)
def test_exponents_are_seen(text: str, found: bool) -> None:
    assert codec._has_exponent(text) is found


@pytest.mark.parametrize("number", [3.4e-05, 1e-05, -1.234e-05, 9.99e-06, 1e-10, 5e-324, 1e16, 1.5e300, 0.0001, -0.0])
def test_floats_have_one_form(number: float) -> None:
    for value in (number, [number, "3e-05"], {"cost 1e-05": {"usd": number}, "n": [1, True, None]}):
        assert cold.dumps(value) == warm.dumps(value)
