"""Reads and writes JSON: with the stdlib until `warm()` is called, with orjson afterwards.

`import orjson` pulls dataclasses, inspect, uuid and datetime: 14 ms, more than the interpreter's own start. The first
line of a process is small, so the C encoder under `json` writes it, without the package itself, which loads `re`. Both
write the same bytes, also small floats, for which they have different forms (`3.4e-05`, `0.000034`). Both read the same
values: integers over 64 bits become floats, as with orjson.
"""

# pyright: reportUnknownVariableType=false

from __future__ import annotations

from _json import encode_basestring, make_encoder, make_scanner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Any

_fast: ModuleType | None = None
LAST_PLAIN_EXPONENT = 5
"""orjson writes 0.000034 and 3.4e-6, Python 3.4e-05 and 3.4e-06."""
MAX_DEPTH = 1_024
"""Of values that are read, as in orjson. Python 3.11 itself refuses fewer levels, 3.13 takes ten times as many, which
neither hosts nor endpoints can read."""
_BLANKS = " \t\n\r"
_AFTER_NUMBER = ("", ",", "]", "}")


def warm() -> None:
    """Load orjson, while the program waits for the first answer. Any thread may call it: `_fast` is set once, and both
    states give the same results."""
    global _fast
    import orjson

    _fast = orjson


def dumps(obj: Any) -> bytes:
    """Compact JSON in UTF-8. Lone surrogates become U+FFFD, since UTF-8 cannot encode them; NaN and the infinities
    become null. Raises TypeError for what is not JSON, ValueError for circular or too deep nesting."""
    if _fast is not None:
        try:
            packed: bytes = _fast.dumps(obj)
            return packed
        except TypeError:  # a lone surrogate, an integer over 64 bits, depth over 254, or not JSON at all
            pass
    try:
        try:
            text = _encode(obj)
        except ValueError:  # NaN, infinity, or a circle
            obj = _without_nan(obj)
            text = _encode(obj)
        if _has_exponent(text):
            text = _with_short_exponents(obj, text)
    except RecursionError:
        raise ValueError("nested too deeply for JSON") from None
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:  # through UTF-16, two halves become their character, a lone one U+FFFD
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode("utf-8")


def dumps_each(texts: Sequence[str]) -> list[bytes]:
    """`dumps` of each of them."""
    if _fast is not None:
        write = _fast.dumps
        try:
            return [write(text) for text in texts]
        except TypeError:  # a lone surrogate
            pass
    return [dumps(text) for text in texts]


def loads(data: bytes | str) -> Any:
    """Parse JSON; raises ValueError. Lone surrogate escapes and bad UTF-8 are accepted, NaN and Infinity are not."""
    if _fast is not None:
        try:
            return _fast.loads(data)
        except ValueError:  # orjson refuses escaped lone surrogates and bad UTF-8, which the stdlib accepts
            pass
    if isinstance(data, bytes):
        data = data.decode("utf-8", "replace")
    try:
        return _decode(data)
    except RecursionError:
        raise ValueError("nested too deeply for JSON") from None


def loads_object(data: bytes | str) -> dict[str, Any] | None:
    """The same for a JSON object; None for anything else."""
    try:
        parsed = loads(data) if _fast is None else _fast.loads(data)
    except ValueError:
        return _loads_odd_object(data)
    return parsed if isinstance(parsed, dict) else None


def _loads_odd_object(data: bytes | str) -> dict[str, Any] | None:
    try:
        parsed = loads(data)
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _without_nan(obj: Any) -> Any:
    if isinstance(obj, float):
        return obj if obj - obj == 0.0 else None  # only NaN and the infinities differ from themselves
    if isinstance(obj, dict):
        return {key: _without_nan(item) for key, item in obj.items()}
    if isinstance(obj, (list, tuple)):
        return [_without_nan(item) for item in obj]
    return obj


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _integer(digits: str) -> int | float:
    """Integers over 64 bits become floats. `int` is not called with long texts: it raises above 4300 digits."""
    if len(digits) < 19:
        return int(digits)
    near = float(digits)
    if abs(near) > 2.0**65:
        return near
    whole = int(digits)
    return whole if -(2**63) <= whole < 2**64 else near


class _Rules:
    """What the scanner of `json.JSONDecoder` reads from its decoder."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = staticmethod(_integer)
    parse_constant = staticmethod(_refuse_constant)


_rules: Any = _Rules
_scan = make_scanner(_rules)


def _decode(text: str) -> Any:
    """What `json.loads` returns. `json` itself (and `re`, which it is built on) is loaded to say what is wrong."""
    begun = text.lstrip(_BLANKS)
    try:
        parsed, end = _scan(begun, 0)
        if end == len(begun) or not begun[end:].strip(_BLANKS):
            if begun.count("[") + begun.count("{") > MAX_DEPTH and _is_deep(parsed):
                raise RecursionError
            return parsed
    except (StopIteration, SystemError, ValueError):  # SystemError: Python 3.11, where `json` is not loaded
        pass
    import json

    return json.JSONDecoder(parse_int=_integer, parse_constant=_refuse_constant).decode(text)


def _is_deep(value: Any) -> bool:
    """Has it more than `MAX_DEPTH` levels?"""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [item for item in level if isinstance(item, (dict, list))]
        if not level:
            return False
        level = [inner for item in level for inner in (item.values() if isinstance(item, dict) else item)]
    return True


def _encode(obj: Any) -> str:
    """What `json.dumps` returns, in the form of all our lines."""
    if isinstance(obj, str):
        return encode_basestring(obj)
    chunks = make_encoder({}, _refuse_object, encode_basestring, None, ":", ",", False, False, False)(obj, 0)
    return "".join(chunks)


def _refuse_object(obj: object) -> None:
    raise TypeError(f"Object of type {type(obj).__name__} is not JSON serializable")


def _with_short_exponents(obj: Any, text: str) -> str:
    """The text with floats in orjson's form; unchanged if the value is too deep for that (`1e-05` is JSON as well)."""
    try:
        return _encode_with_floats(obj)
    except RecursionError:
        return text


def _encode_with_floats(obj: Any) -> str:
    """`_encode` with the floats as orjson writes them."""
    if isinstance(obj, float):
        return _float(obj)
    if isinstance(obj, dict):
        pairs = (f"{_encode({name: 0})[1:-2]}{_encode_with_floats(inner)}" for name, inner in obj.items())
        return f"{{{','.join(pairs)}}}"
    if isinstance(obj, (list, tuple)):
        return f"[{','.join([_encode_with_floats(inner) for inner in obj])}]"
    return _encode(obj)


def _float(number: float) -> str:
    mantissa, mark, exponent = float.__repr__(number).partition("e-")
    if not mark:
        return mantissa
    if int(exponent) != LAST_PLAIN_EXPONENT:
        return f"{mantissa}e-{int(exponent)}"
    sign = "-" if mantissa.startswith("-") else ""
    return f"{sign}0.0000{mantissa.lstrip('-').replace('.', '')}"


def _has_exponent(text: str) -> bool:
    """A small float, or text that looks like one: 3e-05 before a comma, a bracket or the end. Most uuids hold an `e-`,
    and one of ten requests a digit before and after it."""
    place = text.find("e-")
    while place >= 0:
        end = place + 2
        while text[end : end + 1].isdigit():
            end += 1
        if end >= place + 4 and text[place - 1 : place].isdigit() and text[end : end + 1] in _AFTER_NUMBER:
            return True
        place = text.find("e-", place + 2)
    return False
