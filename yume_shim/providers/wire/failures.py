"""Makes a `Failure` of every kind of error; only this module decides on error kinds.

A status with its body, an error object inside a stream, a network exception, a stream that just stopped: each becomes
one Failure with a kind, a message for people and the provider's own code. The engine decides whether to repeat the
request; `retryable` only says whether repeating could help.
"""

from __future__ import annotations

import errno
import time

from yume_shim.net.errors import ConnectFailed, ConnectionCut, ProtocolError, ProxyRefused, RootsUnusable, TimedOut
from yume_shim.text.late_pattern import late_pattern
from yume_shim.types.errors import Failure, ProviderFailed, StoreFailed, failure_unexpected
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from yume_shim.net.errors import NetError
    from yume_shim.providers.wire.error_body import ErrorBody
    from yume_shim.types.errors import BadInvocation, ErrorKind, TokenLimits
    from yume_shim.types.models import ModelSpec

_RETRYABLE = frozenset({"rate_limit", "overloaded", "server", "network", "dns", "timeout", "stream_interrupted"})

_CERTIFICATE_CASES = {9: "expired", 10: "expired", 62: "wrong_host", 64: "wrong_host"}
"""By OpenSSL's number of the reason: not valid yet, expired, another name, another address."""

# Codes of vendors that are more specific than the status. The first match wins.
_SPECIFIC_CODES: tuple[tuple[ErrorKind, frozenset[str]], ...] = (
    ("billing", frozenset({"insufficient_quota", "billing_error", "billing_not_active", "insufficient_balance"})),
    (
        "context_length",
        frozenset(
            {"context_length_exceeded", "request_too_large", "context_window_exceeded", "exceed_context_size_error"}
        ),
    ),
    ("auth", frozenset({"api_key_invalid", "invalid_api_key", "authentication_error", "unauthenticated"})),
    ("overloaded", frozenset({"overloaded_error", "server_is_overloaded", "unavailable", "service_unavailable_error"})),
    ("not_found", frozenset({"model_not_found", "not_found_error", "deploymentnotfound"})),
    ("refusal", frozenset({"content_filter", "content_policy_violation"})),
)
# Codes that decide only if there is no status: errors inside a stream.
_STREAM_CODES: tuple[tuple[ErrorKind, frozenset[str]], ...] = (
    ("auth", frozenset({"permission_error", "permission_denied"})),
    ("rate_limit", frozenset({"rate_limit_error", "rate_limit_exceeded", "resource_exhausted", "too_many_requests"})),
    ("rate_limit", frozenset({"throttlingexception"})),  # the codes of Bedrock's event stream
    ("overloaded", frozenset({"serviceunavailableexception"})),
    ("bad_request", frozenset({"validationexception"})),
    ("timeout", frozenset({"timeout_error", "deadline_exceeded"})),
    ("not_found", frozenset({"not_found"})),
    ("bad_request", frozenset({"invalid_request_error", "invalid_argument", "invalid_prompt", "failed_precondition"})),
)
_REFUSED_OUTPUT = frozenset({"tool_use_failed"})
"""Refusals of the model's own output, not of our request: another attempt may succeed (Groq)."""
_STATUS_KINDS: dict[int, ErrorKind] = {
    401: "auth",
    402: "billing",
    403: "auth",
    404: "not_found",
    408: "timeout",
    409: "server",
    413: "context_length",
    429: "rate_limit",
    503: "overloaded",
    529: "overloaded",
}
_WEB_PAGE_KINDS = frozenset({"protocol", "not_found", "server", "bad_request"})
"""Kinds whose advice is another one when a web page came in place of an answer."""
_NAMES_LIMITS = frozenset({"context_length", "bad_request", "billing"})
"""Kinds of refusal whose token limits are about the request."""
_TEXT_MATTERS = frozenset({400, 404, 413, 422, 500, None})
"""Statuses whose real reason vendors give only in the message."""

# The messages, by vendor: Anthropic; OpenAI; DeepSeek, vLLM, OpenRouter; Gemini; Ollama cloud; xAI; Groq; llama.cpp;
# Ollama (three; it sends the last when it has dropped all user messages); LM Studio; Mistral; Kimi; Bedrock.
_OVERFLOW = late_pattern(
    r"(?i)prompt is too long"
    r"|exceeds the context window"
    r"|maximum context length"
    r"|input token count .{0,40}exceeds the maximum"
    r"|exceeded max context length"
    r"|maximum prompt length"
    r"|reduce the length of the messages"
    r"|exceeds the available context size"
    r"|longer than the context length"
    r"|input length exceeds the context length"
    r"|no user query found in messages"
    r"|greater than the context length"
    r"|exceeded model token limit"
    r"|input is too long for requested model"
)
# xAI answers 400 "Incorrect API key provided", Gemini 400 "API key not valid".
_BAD_KEY = late_pattern(r"(?i)(incorrect|invalid) api[ _-]?key|api key not (valid|found)")
# OpenRouter answers 400 "x/y is not a valid model ID".
_NO_MODEL = late_pattern(r"(?i)is not a valid model id")
# Anthropic answers 400 invalid_request_error "Your credit balance is too low to access the Anthropic API".
_NO_MONEY = late_pattern(r"(?i)credit balance is too low|insufficient (balance|credits|funds)")
# Anthropic has answered 500 api_error "Overloaded" where it means 529.
_OVERLOADED = late_pattern(r"(?i)\boverloaded\b")


class StatusFailed(ProviderFailed):
    """A response that was not 2xx, with its raw parts for the recorder."""

    def __init__(self, failure: Failure, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(failure)
        self.status = status
        self.headers = headers
        self.body = body


def status_failed(status: int, headers: Mapping[str, str], body: bytes, provider: str) -> StatusFailed:
    """The exception that a transport raises for a status that is not 2xx. Header names must be lower case."""
    return StatusFailed(failure_from_status(status, headers, body, provider), status, headers, body)


def failure_from_status(
    status: int, headers: Mapping[str, str], body: bytes | Any, provider: str, *, now: float | None = None
) -> Failure:
    """The failure of a response that was not 2xx. Header names must be lower case."""
    from yume_shim.providers.wire.error_body import read_body, read_request_id, read_wait_ms

    error = read_body(body)
    kind = _kind_of(status, error)
    message = error.message
    case = _case_of(kind, status)
    if error.html:
        case = "web_page" if kind in _WEB_PAGE_KINDS else case
        message = f"the answer was a web page ({message or 'no title'}), not the API"
    elif not message and status == 400:
        # Cerebras refuses prompts that are too long with 400 and no body.
        kind = "context_length"
        message = "the request was refused without a reason; that usually means that the prompt is too long"
    wait_ms = read_wait_ms(headers, time.time() if now is None else now)
    return Failure(
        kind=kind,
        message=message or f"the provider answered with status {status} and no message",
        status=status,
        retryable=_asked_to_retry(headers, default=_may_help(kind, error)),
        retry_after_ms=error.wait_ms if wait_ms is None else wait_ms,
        provider=provider,
        provider_code=error.code,
        param=error.param,
        token_quota=error.token_quota,
        nudge=_nudge(error),
        request_id=read_request_id(headers) or error.request_id,
        limits=error.limits if kind in _NAMES_LIMITS else None,
        case=case,
    )


def failure_from_payload(payload: Any, provider: str) -> Failure:
    """The failure of an error object inside a 200 stream: the whole event, or the error in it."""
    from yume_shim.providers.wire.error_body import read_body

    error = read_body(payload)
    kind = _kind_of(error.number, error)
    return Failure(
        kind=kind,
        message=error.message or "the provider reported an error inside its answer, without a message",
        status=error.number,
        retryable=_may_help(kind, error),
        retry_after_ms=error.wait_ms,
        provider=provider,
        provider_code=error.code,
        param=error.param,
        token_quota=error.token_quota,
        nudge=_nudge(error),
        request_id=error.request_id,
        limits=error.limits if kind in _NAMES_LIMITS else None,
    )


def failure_from_exception(exc: BaseException, provider: str, where: str = "") -> Failure:
    """The failure of a network exception, also one that an SDK wrapped. `where` is host:port."""
    if isinstance(exc, ProviderFailed):
        return exc.failure
    if isinstance(exc, StoreFailed):  # the transcript could not be read, whatever the system's reason was
        return failure_unexpected(exc, provider)
    cause = _root(exc)
    names = {cls.__name__ for known in (exc, cause) for cls in type(known).__mro__}
    place = where or "the provider"
    detail = _detail(cause)
    if "SSLCertVerificationError" in names:
        reason = getattr(cause, "verify_message", "") or detail
        message = f"the certificate of {place} is not trusted ({reason})"
        case = _CERTIFICATE_CASES.get(getattr(cause, "verify_code", 0), "certificate")
        return _network("tls", message, provider, detail, case)
    if names & {"SSLEOFError", "SSLZeroReturnError"}:
        return _network("network", f"{place} closed the connection", provider, detail, "closed")
    if "SSLError" in names:
        return _network("tls", f"no secure connection to {place} could be made", provider, detail)
    if "gaierror" in names:
        return _network("dns", f"the name of {place} could not be resolved", provider, detail)
    if names & {"TimeoutError", "TimeoutException", "APITimeoutError"}:
        return _network("timeout", f"{place} did not answer in time", provider, detail or "ETIMEDOUT")
    if isinstance(cause, ConnectionRefusedError):
        return _network("network", f"{place} refused the connection", provider, detail, "refused")
    if isinstance(cause, ConnectionError):
        return _network("network", f"{place} closed the connection", provider, detail, "closed")
    if isinstance(cause, OSError) or names & {"TransportError", "APIConnectionError"}:
        return _network("network", f"{place} could not be reached ({_plain(cause)})", provider, detail)
    return failure_unexpected(exc, provider)


def failure_from_net(error: NetError, provider: str) -> Failure:
    """The failure of an error of `net`."""
    match error:
        case ProtocolError():
            return failure_protocol(provider, error.message, retryable=error.retryable)
        case TimedOut():
            return failure_timeout(provider, error.waiting_for, error.seconds)
        case ConnectionCut():
            detail = _detail(error.cause) if error.cause is not None else ""
            return failure_cut(provider, started=error.started, detail=detail)
        case ConnectFailed():
            if error.is_proxy:
                return failure_at_proxy(error.cause, provider, error.place)
            failure = failure_from_exception(error.cause, provider, error.place)
            return replace(failure, message=f"{failure.message}; {error.note}") if error.note else failure
        case RootsUnusable():
            return _network("tls", str(error), provider, "")
        case ProxyRefused():
            return failure_proxy(provider, error.message, retryable=error.retryable)
        case _:
            return failure_config(provider, str(error))


def failure_at_proxy(exc: BaseException, provider: str, place: str) -> Failure:
    """The failure of the way to a proxy: not the provider's server is to be started."""
    failure = failure_from_exception(exc, provider, f"the proxy {place}")
    return replace(failure, case="proxy") if failure.kind == "network" else failure


def advised(failure: Failure, spec: ModelSpec) -> Failure:
    """The failure with the endpoint's hint about a missing model or a server that does not run."""
    endpoint, hint = spec.endpoint, ""
    if failure.kind == "not_found" and "model" in failure.message.lower():
        hint = endpoint.hint_missing_model.replace("{model}", spec.id)
    elif failure.case == "refused":
        hint = endpoint.hint_unreachable
    return replace(failure, message=f"{failure.message}; {hint}") if hint else failure


def failure_cut(provider: str, *, started: bool, detail: str = "") -> Failure:
    """The connection was lost: inside the answer, or before its first byte."""
    if started:
        return _network("stream_interrupted", "the connection was lost in the middle of the answer", provider, detail)
    return _network("network", "the connection was lost before the answer began", provider, detail, "closed")


def failure_incomplete(provider: str) -> Failure:
    """The body ended without an error, but also without the frame that ends an answer: the answer is cut off."""
    return _network("stream_interrupted", "the answer stopped before its end mark", provider, "", "incomplete")


def failure_withdrawn(provider: str) -> Failure:
    """The response was cancelled at the provider, by someone else: it is not complete, and asking again is not ours to
    decide."""
    message = "the response was cancelled at the provider before it was complete"
    return Failure("stream_interrupted", message, provider=provider, provider_code="cancelled", case="withdrawn")


def failure_timeout(provider: str, waiting_for: str, seconds: float) -> Failure:
    """One of our own time limits was reached."""
    return _network("timeout", f"no {waiting_for} within {seconds:g} seconds", provider, "ETIMEDOUT")


def failure_protocol(provider: str, message: str, *, retryable: bool = True, case: str = "") -> Failure:
    """The provider broke its protocol."""
    return Failure(kind="protocol", message=message, retryable=retryable, provider=provider, case=case)


def failure_too_large(what: str, provider: str = "") -> Failure:
    """An answer that no honest model gives: it would fill the memory. Asking again does not help."""
    message = f"the answer was stopped because it is too large: {what}; ask for less, or use another model"
    return failure_protocol(provider, message, retryable=False)


def failure_wrong_api(provider: str, api: str, found: str) -> Failure:
    """The address answered in a form that is not of this API: repeating does not help."""
    return Failure("protocol", f"this address does not speak {api}: {found}", provider=provider, case="wrong_api")


def failure_proxy(provider: str, message: str, *, retryable: bool) -> Failure:
    """A proxy in front of the provider refused the request; its status is not the provider's, and not about the key."""
    return Failure(kind="network", message=message, retryable=retryable, provider=provider, case="proxy")


def failure_header(provider: str, name: str, key_source: str = "") -> Failure:
    """A header that cannot be sent. A key is named by its source, never by its value."""
    what = f"the key from {key_source}" if key_source else f"the header {name!r}"
    return Failure("config", f"{what} contains a character that cannot be sent", provider=provider, case="header")


def failure_config(provider: str, message: str) -> Failure:
    """The endpoint's configuration is wrong."""
    return Failure(kind="config", message=message, provider=provider)


def failure_auth(provider: str, message: str) -> Failure:
    """The sign-in failed; no request was sent."""
    return Failure(kind="auth", message=message, provider=provider, case="sign_in")


def failure_setup(provider: str, error: BadInvocation) -> Failure:
    """The provider cannot be used: its key is not available, or its settings are invalid."""
    case = "missing" if error.kind == "auth" else ""
    return Failure(kind=error.kind, message=error.message, provider=provider, case=case)


def failure_all_refused(provider: str, places: str, last: Failure) -> Failure:
    """All keys are refused."""
    message = f"every key was refused ({places}): {last.message}"
    return replace(last, kind="auth", message=message, provider=provider, case="all_keys")


def failure_all_limited(places: str, seconds: float, last: Failure) -> Failure:
    """All keys are limited; the first is usable again in `seconds`."""
    wait_ms = -int(-seconds * 1000 // 1)  # rounded up: a moment too early the key would still be limited
    message = f"every key is at its limit ({places}); the first is usable again in {seconds:.0f} s: {last.message}"
    return replace(last, message=message, retry_after_ms=wait_ms, case="all_keys" if last.kind == "rate_limit" else "")


def failure_paused(provider: str, place: str, seconds: float) -> Failure:
    """Another process was refused with this key; no request was sent. As if the provider had refused ours."""
    wait_ms = -int(-seconds * 1000 // 1)
    message = f"another process found the key ({place}) at its limit; it is usable again in {seconds:.0f} s"
    return Failure("rate_limit", message, status=429, retryable=True, retry_after_ms=wait_ms, provider=provider)


def failure_expired(last: Failure) -> Failure:
    """A key expired in the middle of an answer and there is another: the text so far is kept, the rest requested."""
    return replace(last, kind="stream_interrupted", retryable=True, retry_after_ms=0, case="")


def failure_cancelled(provider: str) -> Failure:
    """The request was cancelled."""
    return Failure(kind="cancelled", message="the request was stopped", provider=provider)


def _kind_of(status: int | None, error: ErrorBody) -> ErrorKind:
    for kind, words in _SPECIFIC_CODES:
        if error.words & words:
            return kind
    if status in _TEXT_MATTERS:
        if _OVERFLOW.search(error.message) or _too_large_for_window(error.message) or _is_overflow(error.limits):
            return "context_length"
        if status in (500, None) and _OVERLOADED.search(error.message):
            return "overloaded"
        if status != 500 and _NO_MONEY.search(error.message):
            return "billing"
        if status == 400 and _BAD_KEY.search(error.message):
            return "auth"
        if status == 400 and _NO_MODEL.search(error.message):
            return "not_found"
    if status is None:
        return _kind_in_stream(error)
    if status in _STATUS_KINDS:
        return _STATUS_KINDS[status]
    if status >= 500:
        return "server"
    return "bad_request" if status >= 400 else "protocol"


def _kind_in_stream(error: ErrorBody) -> ErrorKind:
    for kind, words in _STREAM_CODES:
        if error.words & words:
            return kind
    return "server"


def _may_help(kind: ErrorKind, error: ErrorBody) -> bool:
    """Could the same request succeed later?"""
    return kind in _RETRYABLE or bool(error.words & _REFUSED_OUTPUT)


def _nudge(error: ErrorBody) -> str:
    """The note to the model when it is asked again because its own output was refused."""
    return f"Your last tool call was refused. {error.message}" if error.words & _REFUSED_OUTPUT else ""


def _too_large_for_window(message: str) -> bool:
    """Mistral: "Prompt contains N tokens …, too large for model with M maximum context length"."""
    return "too large for model" in message.lower()


def _is_overflow(limits: TokenLimits | None) -> bool:
    return limits is not None and bool(limits.window)


def _asked_to_retry(headers: Mapping[str, str], *, default: bool) -> bool:
    """`x-should-retry` (Anthropic, OpenAI) overrides our own judgement."""
    match headers.get("x-should-retry", "").strip().lower():
        case "true":
            return True
        case "false":
            return False
        case _:
            return default


def _network(kind: ErrorKind, message: str, provider: str, detail: str, case: str = "") -> Failure:
    retryable = kind in _RETRYABLE
    return Failure(kind=kind, message=message, retryable=retryable, provider=provider, detail=detail, case=case)


def _case_of(kind: ErrorKind, status: int) -> str:
    """The cause that the status tells besides the kind."""
    if kind == "auth" and status == 403:
        return "not_permitted"
    return "too_large" if kind == "context_length" and status == 413 else ""


def _root(exc: BaseException) -> BaseException:
    """The operating system's error that an SDK wrapped, else the exception itself."""
    seen: set[int] = set()
    found, step = exc, exc
    while id(step) not in seen:
        seen.add(id(step))
        if isinstance(step, OSError):
            found = step
        step = step.__cause__ or step.__context__ or step
    return found


def _detail(cause: BaseException) -> str:
    """`ECONNREFUSED` and similar names; TLS and DNS errors have their own."""
    reason = getattr(cause, "reason", None)
    if isinstance(reason, str) and reason:
        return reason
    number = getattr(cause, "errno", None)
    if "gaierror" in {cls.__name__ for cls in type(cause).__mro__}:
        return "ENOTFOUND"
    # Windows calls it WSAECONNREFUSED; hosts know the name that every other system has
    return errno.errorcode.get(number, "").removeprefix("WSA") if isinstance(number, int) else ""


def _plain(cause: BaseException) -> str:
    return getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
