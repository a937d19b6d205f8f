"""Reads error bodies and headers: the message, the vendor's codes, how long to wait. `failures` judges them.

Shapes that are read (all were seen on the wire): `{"error": {"type", "message"}}` (Anthropic), `{"error": {"code",
"type", "message"}}` (OpenAI and most others), `{"error": {"code": 400, "status", "details": [...]}}` (Google, also
inside an array), `{"code", "error": "text"}` (xAI), `{"detail": "text"}` (Mistral), `{"message"}`, HTML, plain text.
"""

from __future__ import annotations

from yume_shim.text import codec
from yume_shim.text.characters import WORD
from yume_shim.text.late_pattern import late_pattern
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from yume_shim.types.errors import TokenLimits

MAX_MESSAGE = 2_000
"""Characters of a provider's message that are kept."""
MAX_DIGITS = 18
"""A longer number is ignored; Python refuses to parse thousands of digits."""
MAX_PAGE = 8_192
"""Characters of a web page in which its title is looked for."""
MAX_WAIT_MS = 30 * 24 * 3_600_000
"""A longer wait is cut to a month; the engine decides how long to wait."""

_WAIT_HEADERS = (("retry-after-ms", 1.0), ("x-ms-retry-after-ms", 1.0), ("retry-after", 1_000.0))
_DURATION_UNITS = {"ms": 1.0, "s": 1_000.0, "m": 60_000.0, "h": 3_600_000.0}
# Gemini: "Please retry in 48.939935699s."; OpenAI: "Please try again in 20ms", "… in 6m0s".
_WAIT_TEXT = late_pattern(r"(?i)(?:retry|try again) in ((?:\d{1,18}(?:\.\d{1,18})?(?:ms|s|m|h))+)")
_DURATION_PART = late_pattern(r"(\d{1,18}(?:\.\d{1,18})?)(ms|s|m|h)")

_REQUEST_IDS = (
    "request-id",  # Anthropic
    "x-request-id",  # OpenAI and most others
    "x-amzn-requestid",  # Bedrock
    "apim-request-id",  # Azure
    "x-goog-request-id",
    "x-ms-request-id",
    "mistral-correlation-id",
    "cf-ray",  # a proxy in front of the provider
)
_ID_CHARACTERS = WORD | frozenset(".:/+=")
MAX_ID = 128


def read_request_id(headers: Mapping[str, str]) -> str:
    """The provider's id of the request; "" if there is none, or one that is not an id."""
    for name in _REQUEST_IDS:
        found = headers.get(name, "")
        if _own_id(found):
            return found
    return ""


def _own_id(found: Any) -> str:
    return found if isinstance(found, str) and len(found) <= MAX_ID and _ID_CHARACTERS.issuperset(found) else ""


class ErrorBody(Value):
    """The content of an error body. `words` are all its codes and types, lower case; `code` is the most specific
    one."""

    message: str = ""
    code: str = ""
    words: frozenset[str] = frozenset()
    number: int | None = None
    """A status number inside the body (Google, OpenRouter): the only status an in-stream error has."""
    wait_ms: int | None = None
    html: bool = False
    param: str = ""
    """The refused parameter, as a path with dots."""
    token_quota: int = 0
    """Input tokens per minute, if that quota was exceeded."""
    request_id: str = ""
    """The provider's id of the request, where the body has it."""
    limits: TokenLimits | None = None
    """The token limits that it names."""


def read_body(body: bytes | Any) -> ErrorBody:
    """Read a body: bytes from the wire, or parsed JSON."""
    if isinstance(body, bytes):
        text = body.decode("utf-8", "replace").strip()
        if text[:1] not in ("{", "["):
            return _from_text(text)
        try:
            body = codec.loads(text)
        except ValueError:
            return _from_text(text)
    if isinstance(body, str):
        return _from_text(body.strip())
    return _from_json(body)


def read_wait_ms(headers: Mapping[str, str], now: float) -> int | None:
    """The wait that the headers ask for: `retry-after-ms`, or `retry-after` in seconds or as an HTTP date. Milliseconds
    come first, unless they are zero and the other is not (Azure sends `retry-after-ms: 0` with `retry-after: 1`)."""
    waits = [_header_wait(headers.get(name, "").strip(), factor, now) for name, factor in _WAIT_HEADERS]
    given = [wait for wait in waits if wait is not None]
    return next((wait for wait in given if wait), given[0] if given else None)


def _header_wait(text: str, factor: float, now: float) -> int | None:
    if not text:
        return None
    try:
        return _bounded(float(text) * factor)
    except ValueError:
        moment = _http_date(text)
        return None if moment is None else _bounded((moment - now) * 1_000.0)


def _from_text(text: str) -> ErrorBody:
    if text[:1] == "<":
        return ErrorBody(message=_html_summary(text), html=True)
    return ErrorBody(message=_clip(text), wait_ms=_wait_in_text(text), limits=_limits(text))


def _html_summary(text: str) -> str:
    """The title of a proxy's error page, or its first words."""
    text = text[:MAX_PAGE]
    import re

    title = re.search(r"<title[^<>]*>([^<]*)</title>", text, re.IGNORECASE)
    shown = (
        title.group(1) if title else re.sub(r"<(script|style)\b.*?(?:</\1>|\Z)|<[^<>]*>", " ", text, flags=re.DOTALL)
    )
    return " ".join(shown.split())[:200]


def _from_json(body: Any) -> ErrorBody:
    if isinstance(body, list):
        body = next((item for item in body if isinstance(item, dict)), {})
    if not isinstance(body, dict):
        return ErrorBody(message=_clip(str(body)) if body is not None else "")
    inner = body.get("error")
    if isinstance(inner, str):
        if inner[:1] == "{" and (wrapped := _wrapped(inner)) is not None:
            return wrapped
        outer_word = [body["code"]] if isinstance(body.get("code"), str) else []
        return ErrorBody(
            message=_clip(inner),
            code=outer_word[0] if outer_word else "",
            words=_lower(outer_word),
            wait_ms=_wait_in_text(inner),
            limits=_limits(inner),
        )
    fields = inner if isinstance(inner, dict) else body
    codes = [*_reasons(fields), *(fields.get(name) for name in ("code", "type", "status"))]
    words = [word for word in codes if isinstance(word, str) and word and not word.isdigit() and word != "error"]
    message = _message(fields)
    return ErrorBody(
        message=_clip(message),
        code=words[0] if words else "",
        words=_lower(words),
        number=_number(fields.get("code"), fields.get("status")),
        wait_ms=_retry_info(fields) or _wait_in_text(message),
        param=_param(fields),
        token_quota=_token_quota(fields),
        request_id=_own_id(body.get("request_id")) or _own_id(fields.get("request_id")),
        limits=_limits(message, fields),
    )


def _wrapped(text: str) -> ErrorBody | None:
    """Ollama passes on its runner's error as JSON inside the text: `{"error":"{\\"error\\":{\\"code\\":400,…}}"}`."""
    inside = codec.loads_object(text)
    return None if inside is None else _from_json(inside)


def _message(fields: dict[str, Any]) -> str:
    """The message for people. OpenRouter has the real one in `metadata.raw`; FastAPI servers send a list."""
    found = next((fields[name] for name in ("message", "detail", "error_description", "msg") if fields.get(name)), "")
    if isinstance(found, list):
        found = "; ".join(str(item.get("msg", item)) if isinstance(item, dict) else str(item) for item in found)
    text = found if isinstance(found, str) else codec.dumps(found).decode()
    metadata = fields.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    return f"{text}: {raw}" if isinstance(raw, str) and raw.strip() else text


def _details(fields: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Google's `details` list, its objects only."""
    details = fields.get("details")
    for item in details if isinstance(details, list) else ():
        if isinstance(item, dict):
            yield item


def _reasons(fields: dict[str, Any]) -> list[Any]:
    """Google's `ErrorInfo.reason`, e.g. API_KEY_INVALID: finer than `status`."""
    return [item["reason"] for item in _details(fields) if item.get("reason")]


def _retry_info(fields: dict[str, Any]) -> int | None:
    """Google's `RetryInfo.retryDelay`, e.g. "34.4s"."""
    for item in _details(fields):
        delay = item.get("retryDelay")
        if isinstance(delay, str):
            return _duration_ms(delay)
    return None


def _param(fields: dict[str, Any]) -> str:
    """The refused field: OpenAI's `param`, the `loc` of servers built on pydantic, Google's `fieldViolations`."""
    named = fields.get("param")
    if isinstance(named, str) and named:
        return named
    for found in (fields.get("detail"), fields.get("message")):
        listed = found.get("detail") if isinstance(found, dict) else found
        for item in listed if isinstance(listed, list) else ():
            if isinstance(item, dict) and isinstance(item.get("loc"), list):
                return ".".join(str(step) for step in item["loc"] if step != "body")
    for item in _details(fields):
        violations = item.get("fieldViolations")
        for violation in violations if isinstance(violations, list) else ():
            if isinstance(violation, dict) and isinstance(violation.get("field"), str):
                return str(violation["field"])
    return ""


def _limits(message: str, fields: dict[str, Any] | None = None) -> TokenLimits | None:
    """The limits in a message; some gateways move the sentence into `param`."""
    words = message.lower()
    if "token" not in words and "tools" not in words and not fields:
        return None
    from yume_shim.providers.wire.token_limits import read_limits

    fields = fields or {}
    param = fields.get("param")
    return read_limits(f"{_clip(message)} {_clip(param)}" if isinstance(param, str) else _clip(message), fields)


def _token_quota(fields: dict[str, Any]) -> int:
    """Google's `QuotaFailure` about input tokens: a prompt above this quota always fails."""
    for item in _details(fields):
        violations = item.get("violations")
        for violation in violations if isinstance(violations, list) else ():
            if isinstance(violation, dict) and "input_token" in str(violation.get("quotaMetric")):
                return _whole(violation.get("quotaValue")) or 0
    return 0


def _number(*candidates: Any) -> int | None:
    for item in candidates:
        number = _whole(item)
        if number is not None and 400 <= number <= 599:
            return number
    return None


def _whole(item: Any) -> int | None:
    """An integer, also if it came as text."""
    if isinstance(item, str) and item.isdecimal() and len(item) <= MAX_DIGITS:
        return int(item)
    return item if type(item) is int else None


def _wait_in_text(text: str) -> int | None:
    found = _WAIT_TEXT.search(text)
    return _duration_ms(found.group(1)) if found else None


def _duration_ms(text: str) -> int | None:
    parts = _DURATION_PART.findall(text)
    return _bounded(sum(float(amount) * _DURATION_UNITS[unit] for amount, unit in parts)) if parts else None


def _bounded(milliseconds: float) -> int | None:
    """Whole milliseconds between 0 and the limit; None for NaN."""
    if milliseconds != milliseconds:
        return None
    return int(min(max(milliseconds, 0.0), float(MAX_WAIT_MS)))


def _http_date(text: str) -> float | None:
    from email.utils import mktime_tz, parsedate_tz

    parsed = parsedate_tz(text)
    try:
        return float(mktime_tz(parsed)) if parsed else None
    except (ValueError, OverflowError):  # an impossible year
        return None


def _lower(words: list[str]) -> frozenset[str]:
    return frozenset(word.lower() for word in words)


def _clip(text: str) -> str:
    text = text.strip()
    return text if len(text) <= MAX_MESSAGE else text[:MAX_MESSAGE] + "…"
