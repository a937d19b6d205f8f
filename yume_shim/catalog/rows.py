"""Endpoint rows of the config file: checks them, translates compat names, merges them with `endpoints.json`.

Imported only if the config file has `[endpoints.…]` tables or compat flags were given; built-in rows need no check.
"""

from __future__ import annotations

import os

from yume_shim.text import codec
from yume_shim.types.errors import BadInvocation
from yume_shim.types.models import Backoff, Endpoint, Quirks
from yume_shim.types.value import fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    Row = dict[str, Any]

ENDPOINT_KEYS = tuple(name for name in fields(Endpoint) if name not in ("name", "moved"))
"""Fields of an Endpoint that a row may have: `moved` is computed."""
EXTRA_KEYS = ("shapes", "tells_limits_when_own", "bare_host_port", "paths", "wanted_by")
"""Keys that a row may have besides the fields of an Endpoint."""
_LISTS = ("key_vars", "base_url_vars", "token_vars", "names", "shapes", "wanted_by")
_TABLES = ("headers", "quirks", "backoff")
_SWITCHES = (
    *("key_optional", "counts_tokens", "takes_custom_headers", "takes_key_helper", "env_first", "address_by_sign_in"),
    "tells_limits_when_own",
)
_TEXTS = ("api", "base_url", "sign_in", "tells_limits", "prices", "hint_missing_model", "hint_unreachable")
_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def merge_rows(rows: Mapping[str, Row], given: Mapping[str, Any]) -> dict[str, Row]:
    """All rows; those of the config file override the built-in ones, quirk by quirk. Raises BadInvocation."""
    merged = dict(rows)
    apis = sorted({row["api"] for row in rows.values()})
    for written, row in given.items():
        name = written.lower()
        what = f"[endpoints.{written}]"
        checked = _checked_row(row, what)
        below = merged.get(name, {})
        whole = {**below, **checked}
        if "base_url" in checked and "key_files" not in checked:
            whole.pop("key_files", None)  # they hold the vendor's keys, which must not go to another address
        for table in _TABLES:
            if table in checked:
                whole[table] = {**below.get(table, {}), **checked[table]}
        if whole.get("api") not in apis:
            problem = f"'{whole['api']}' is not an API" if "api" in whole else "`api` is missing"
            raise BadInvocation(f"{what}: {problem}. Known: {', '.join(apis)}.")
        merged[name] = whole
    return merged


def compat_quirks(words: Iterable[str]) -> Row:
    """`--compat` as quirks: `noStreaming`, `tools=false`, `system_role=user`, `schema_drop=[default,const]`,
    `extra_body={"seed":1}`; a single word is enough for a list of one. Raises BadInvocation."""
    given: Row = {}
    defaults = Quirks()
    for word in words:
        name, equals, text = (part.strip() for part in word.partition("="))
        default, item = getattr(defaults, name, None), _value(text, name) if equals else True
        if isinstance(default, str) and equals and text[:1] != '"':
            item = text
        elif isinstance(default, tuple) and not isinstance(item, list):
            item = [text]
        given[name] = item
    return check_quirks(given, "--compat")


def check_quirks(given: Mapping[str, Any], what: str) -> Row:
    """Quirks with compat names translated and types checked. Raises BadInvocation that says what is wrong."""
    compat = _compat()
    defaults = Quirks()
    checked: Row = {}
    for name, item in given.items():
        if name in compat["names"]:
            if not isinstance(item, bool):
                raise BadInvocation(f"{what}: {name} must be true or false, not {_shown(item)}")
            entry = compat["names"][name]
            checked[entry["quirk"]] = entry["true" if item else "false"]
        elif name in fields(Quirks):
            checked[name] = _typed(name, item, getattr(defaults, name), compat["choices"].get(name), what)
        else:
            raise BadInvocation(f"{what}: unknown quirk {name}{_nearest(name, compat['names'])}")
    return checked


def _checked_row(row: Any, what: str) -> Row:
    if not isinstance(row, dict):
        raise BadInvocation(f"{what} must be a table")
    known = (*ENDPOINT_KEYS, *EXTRA_KEYS)
    checked: Row = dict(row)
    for key, item in row.items():
        if key not in known:
            raise BadInvocation(f"{what}: unknown key {key}. Known: {', '.join(known)}.")
        if key in _LISTS:
            _need(_is_texts(item), what, key, "a list of strings", item)
        elif key in _TABLES:
            _need(isinstance(item, dict), what, key, "a table", item)
        elif key == "key_files":
            good = isinstance(item, list) and all(map(_is_key_file, item))
            _need(good, what, key, "a list of tables with root, file and format (json, env or text)", item)
        elif key == "paths":
            good = isinstance(item, dict) and all(isinstance(path, str) for path in item.values())
            _need(good, what, key, "a table of strings", item)
        elif key == "bare_host_port":
            _need(type(item) is int and 0 < item < 65536, what, key, "a port number", item)
        elif key in _TEXTS:
            _need(isinstance(item, str), what, key, "a string", item)
        elif key in _SWITCHES:
            _need(isinstance(item, bool), what, key, "true or false", item)
    for name, text in checked.get("headers", {}).items():
        _need(isinstance(text, str), what, f"headers.{name}", "a string", text)
    for name, number in checked.get("backoff", {}).items():
        if name not in fields(Backoff):
            raise BadInvocation(f"{what}: unknown backoff key {name}. Known: {', '.join(fields(Backoff))}.")
        good = isinstance(number, int | float) and not isinstance(number, bool) and number >= 0
        _need(good, what, f"backoff.{name}", "a number of at least 0", number)
    if "quirks" in checked:
        checked["quirks"] = check_quirks(checked["quirks"], f"{what}: quirks")
    return checked


def _typed(name: str, item: Any, default: Any, choices: list[str] | None, what: str) -> Any:
    """The value, if it has the type of the field's default."""
    match default:
        case bool() | None:
            _need(isinstance(item, bool), what, name, "true or false", item)
        case int() | float():
            good = isinstance(item, int | float) and not isinstance(item, bool) and item >= 0
            good = good and (isinstance(default, float) or item == int(item))
            _need(good, what, name, "a number" if isinstance(default, float) else "a whole number", item)
        case str() if choices is not None:
            _need(item in choices, what, name, f"one of {', '.join(word or repr(word) for word in choices)}", item)
        case str():
            _need(isinstance(item, str), what, name, "a string", item)
        case tuple():
            _need(_is_texts(item), what, name, "a list of strings", item)
        case _:
            _need(hasattr(item, "items"), what, name, "a table", item)
    return item


def _need(good: bool, what: str, name: str, expected: str, item: Any) -> None:
    if not good:
        raise BadInvocation(f"{what}: {name} must be {expected}, not {_shown(item)}")


def _is_key_file(item: Any) -> bool:
    if not isinstance(item, dict) or not all(isinstance(text, str) for text in item.values()):
        return False
    return {"root", "file", "format"} <= item.keys() and item["format"] in ("json", "env", "text")


def _is_texts(item: Any) -> bool:
    return isinstance(item, list | tuple) and all(isinstance(text, str) for text in item)


def _value(text: str, name: str) -> Any:
    """The value after `=`: true or false, a number, a word, a list (`[a,b]`), or JSON in quotes, brackets or braces."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if text[:1] in ('"', "[", "{"):
        try:
            return codec.loads(text)
        except ValueError:
            if text[:1] != "[" or text[-1:] != "]":
                raise BadInvocation(f"--compat: the value of {name} is not complete: {text}") from None
            return [part.strip() for part in text[1:-1].split(",") if part.strip()]
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        return text


def _shown(item: Any) -> str:
    if isinstance(item, str):
        return f"'{item}'"
    return codec.dumps(item).decode() if isinstance(item, bool | int | float | list | dict) else type(item).__name__


def _nearest(name: str, compat: Iterable[str]) -> str:
    from yume_shim.text.nearest import did_you_mean

    hint = did_you_mean(name, (*fields(Quirks), *compat))
    return f".{hint}" if hint else ""


def _compat() -> Row:
    with open(os.path.join(os.path.dirname(__file__), "compat.json"), "rb") as file:
        loaded: Row = codec.loads(file.read())
    return loaded
