"""Endpoint rows and compat flags of users: accepted, translated, or refused with a message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.settings import settings_with
from yume_shim.catalog import rows
from yume_shim.catalog.resolve import Catalog
from yume_shim.text.split_list import split_list
from yume_shim.types.errors import BadInvocation
from yume_shim.types.models import Backoff, Quirks
from yume_shim.types.settings import Settings
from yume_shim.types.value import fields, replace

DATA = Path(rows.__file__).parent
BUILT_IN: dict[str, Any] = json.loads((DATA / "endpoints.json").read_text("utf-8"))


def quirks(**given: Any) -> Quirks:
    row = {"api": "openai-chat", "base_url": "http://h/v1", "quirks": given}
    made = Catalog(settings_with(env={}, endpoints={"acme": row}), lambda endpoint: True)
    return made.endpoint("acme").quirks


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("noSystemRole", {"system_role": "user"}),
        ("noStreaming", {"streaming": False}),
        ("noToolUse", {"tools": False}),
        ("noTemperature", {"temperature": False}),
        ("stringifyToolArgs", {"stringify_arguments": True}),
        ("noStopSequences", {"stop_sequences": False}),
    ],
)
def test_the_six_compat_names(name: str, changes: dict[str, Any]) -> None:
    assert quirks(**{name: True}) == replace(Quirks(), **changes)
    asked = Catalog(settings_with(env={}, provider="groq", compat=(name,)), lambda endpoint: True).resolve("m")
    plain = Catalog(settings_with(env={}, provider="groq"), lambda endpoint: True).resolve("m")
    assert asked.endpoint == replace(plain.endpoint, quirks=replace(plain.endpoint.quirks, **changes))


def test_a_compat_name_can_be_false() -> None:
    assert quirks(stringifyToolArgs=False) == Quirks(stringify_arguments=False)
    assert quirks(noStreaming=False, noSystemRole=False) == Quirks()


def test_quirks_can_be_given_by_their_own_names() -> None:
    given = {"schema_drop": ["format"], "extra_body": {"a": 1}, "temperature_max": 1, "image_bytes": 5}
    assert quirks(**given) == Quirks(schema_drop=("format",), extra_body={"a": 1}, temperature_max=1, image_bytes=5)


@pytest.mark.parametrize("name", fields(Quirks))
def test_compat_can_say_every_quirk(name: str) -> None:
    """As the command line gives it: all words in one text."""
    default = getattr(Quirks(), name)
    choices = json.loads((DATA / "compat.json").read_text("utf-8"))["choices"].get(name)
    written: str
    expected: Any
    if default is None or isinstance(default, bool):
        written, expected = ("false", False) if default else ("true", True)
    elif choices:
        expected = next(word for word in choices if word != default)
        written = expected
    elif isinstance(default, int):
        written, expected = "7", 7
    elif isinstance(default, float):
        written, expected = "1.25", 1.25
    elif isinstance(default, str):
        written, expected = '"^[a-z, ]{1,9}$"', "^[a-z, ]{1,9}$"
    elif isinstance(default, tuple):
        written, expected = "[a,b, c.d]", ("a", "b", "c.d")
    else:
        written, expected = '{"seed": 1, "x": ["a, b"]}', {"seed": 1, "x": ["a, b"]}
    words = split_list(f"noToolUse,{name}={written} noStreaming")
    made = Catalog(
        settings_with(env={}, provider="compatible", api_base="http://h", compat=words), lambda endpoint: True
    )
    found = made.resolve("m").endpoint.quirks
    assert getattr(found, name) == expected
    assert (found.tools, found.streaming) == (False, False)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("schema_drop=default", ["default"]),
        ("schema_drop=true", ["true"]),
        ("schema_drop=[]", []),
        ('schema_drop=["default", "const"]', ["default", "const"]),
        ("id_pattern=123", "123"),
        ("id_pattern=", ""),
        ("reasoning_echo=true", "true"),
    ],
)
def test_values_have_the_type_of_their_quirk(word: str, expected: Any) -> None:
    assert rows.compat_quirks((word,)) == {word.partition("=")[0]: expected}


@pytest.mark.parametrize(
    "word", ["schema_drop=[default", 'extra_body={"a"', 'id_pattern="x', "extra_body=[1]", "extra_body=x"]
)
def test_values_that_are_not_complete_or_do_not_fit_are_refused(word: str) -> None:
    with pytest.raises(BadInvocation, match=word.partition("=")[0]):
        rows.compat_quirks((word,))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ()),
        (" , ,", ()),
        ("a,b c", ("a", "b", "c")),
        ("a=[b, c],d", ("a=[b, c]", "d")),
        ('a={"b": [1, 2], "c": "]}"} d', ('a={"b": [1, 2], "c": "]}"}', "d")),
        ('a="x, \\" y",b', ('a="x, \\" y"', "b")),
        ("a=[b, c", ("a=[b, c",)),
        ("a=b],c", ("a=b]", "c")),
    ],
)
def test_a_list_on_one_line(text: str, parts: tuple[str, ...]) -> None:
    assert split_list(text) == parts


def test_compat_flags_may_have_values() -> None:
    words = ("tools=false", "system_role=developer", "image_side=800", "temperature_max=1.5", "noStreaming=no")
    expected = {
        "tools": False,
        "system_role": "developer",
        "image_side": 800,
        "temperature_max": 1.5,
        "streaming": True,
    }
    assert rows.compat_quirks(words) == expected


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"noStreaming": "yes"}, "noStreaming must be true or false, not 'yes'"),
        ({"streaming": 0}, "streaming must be true or false, not 0"),
        ({"stringify_arguments": "yes"}, "stringify_arguments must be true or false"),
        ({"system_role": "boss"}, "system_role must be one of system, developer, user, not 'boss'"),
        ({"image_bytes": 1.5}, "image_bytes must be a whole number, not 1.5"),
        ({"image_bytes": -1}, "image_bytes must be a whole number, not -1"),
        ({"temperature_max": "2"}, "temperature_max must be a number, not '2'"),
        ({"schema_drop": "format"}, "schema_drop must be a list of strings, not 'format'"),
        ({"extra_body": [1]}, "extra_body must be a table, not [1]"),
        ({"id_pattern": 9}, "id_pattern must be a string, not 9"),
        ({"tool": False}, "unknown quirk tool. Did you mean 'tools'?"),
        ({"zzzzzz": 1}, "unknown quirk zzzzzz"),
    ],
)
def test_invalid_quirks(given: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInvocation) as refused:
        quirks(**given)
    assert refused.value.message.startswith("[endpoints.acme]: quirks: ")
    assert words in refused.value.message


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("x", "[endpoints.acme] must be a table"),
        ({}, "[endpoints.acme]: `api` is missing. Known: anthropic-messages"),
        ({"api": "openai-char"}, "[endpoints.acme]: 'openai-char' is not an API"),
        ({"api": "openai-chat", "url": "http://h"}, "[endpoints.acme]: unknown key url"),
        ({"api": "openai-chat", "base_url": 1}, "base_url must be a string, not 1"),
        ({"api": "openai-chat", "key_vars": ["A", 1]}, 'key_vars must be a list of strings, not ["A",1]'),
        ({"api": "openai-chat", "headers": {"X": 1}}, "headers.X must be a string, not 1"),
        ({"api": "openai-chat", "key_optional": "no"}, "key_optional must be true or false, not 'no'"),
        ({"api": "openai-chat", "backoff": {"retry": 1}}, "unknown backoff key retry"),
        ({"api": "openai-chat", "backoff": {"retries": "1"}}, "backoff.retries must be a number of at least 0"),
        ({"api": "openai-chat", "quirks": []}, "quirks must be a table, not []"),
        ({"api": "openai-chat", "paths": 3}, "paths must be a table of strings, not 3"),
        ({"api": "openai-chat", "paths": {"openai-chat": 3}}, "paths must be a table of strings"),
        ({"api": "openai-chat", "bare_host_port": "80"}, "bare_host_port must be a port number, not '80'"),
        ({"api": "openai-chat", "bare_host_port": True}, "bare_host_port must be a port number, not true"),
        ({"api": "openai-chat", "tells_limits": ["x"]}, 'tells_limits must be a string, not ["x"]'),
        ({"api": "openai-chat", "sign_in": 5}, "sign_in must be a string, not 5"),
        ({"api": "openai-chat", "hint_unreachable": 5}, "hint_unreachable must be a string, not 5"),
        ({"api": "openai-chat", "takes_key_helper": "x"}, "takes_key_helper must be true or false, not 'x'"),
        ({"api": "openai-chat", "env_first": 1}, "env_first must be true or false, not 1"),
    ],
)
def test_invalid_rows(row: Any, words: str) -> None:
    with pytest.raises(BadInvocation) as refused:
        rows.merge_rows(BUILT_IN, {"acme": row})
    assert words in refused.value.message


def test_a_row_without_an_address_needs_one() -> None:
    made = Catalog(settings_with(env={}, endpoints={"acme": {"api": "openai-chat"}}), lambda endpoint: True)
    with pytest.raises(BadInvocation, match="--api-base"):
        made.resolve("acme/m")


def test_built_in_rows_are_changed_field_by_field() -> None:
    change = {"Mistral": {"base_url": "http://h/v1", "quirks": {"noStreaming": True}, "backoff": {"retries": 9}}}
    before = Catalog(Settings(env={}), lambda endpoint: True).endpoint("mistral")
    after = Catalog(settings_with(env={}, endpoints=change), lambda endpoint: True).resolve("mistral/m").endpoint
    assert after.base_url == "http://h/v1"
    assert after.quirks == replace(before.quirks, streaming=False)
    assert (after.backoff, after.key_vars) == (Backoff(retries=9), before.key_vars)


def test_every_field_of_a_row_is_checked() -> None:
    """A value of a wrong type is reported at the start, not by a crash during a turn."""
    odd = object()
    for name in (*rows.ENDPOINT_KEYS, *rows.EXTRA_KEYS):
        with pytest.raises(BadInvocation, match=rf"\[endpoints.acme\]: {name} must be "):
            rows.merge_rows(BUILT_IN, {"acme": {"api": "openai-chat", name: odd}})


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_built_in_rows_pass_the_same_checks(name: str) -> None:
    assert rows.merge_rows(BUILT_IN, {name: BUILT_IN[name]}) == BUILT_IN


def test_compat_names_and_choices_name_real_quirks() -> None:
    data = json.loads((DATA / "compat.json").read_text("utf-8"))
    assert {entry["quirk"] for entry in data["names"].values()} | set(data["choices"]) <= set(fields(Quirks))
    for name, words in data["choices"].items():
        assert getattr(Quirks(), name) in words
