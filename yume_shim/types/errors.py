"""All errors of the program, as exceptions and as the value `Failure`.

    ShimError
    ├── BadInvocation     flags, settings, configuration: reported before any turn; the dialect sets the exit code
    ├── BadLine           an invalid line or request of the host: answered, the session continues
    ├── ProviderFailed    a model request failed; carries a Failure
    ├── ToolFailed        text for the model: the call becomes an error result
    ├── StoreFailed       the transcript could not be written: reported once, the turn continues
    ├── Cancelled         this work was stopped; not an error
    └── HostStopped       the host denied a call and stopped the turn as well

`Failure` is the value that travels in events; `ErrorKind` is the `code` list of the flat dialect. Only
`providers/wire/failures.py` creates kinds, only `engine/retry.py` decides on them. What a kind means and what the user
can do is data (`types/error_entries/`); when the engine gives up, `types/failure_text.py` makes the whole message.
"""

from __future__ import annotations

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from yume_shim.types.blocks import ToolCall

    ErrorKind = Literal[
        "auth",
        "billing",
        "rate_limit",
        "overloaded",
        "server",
        "network",
        "tls",
        "dns",
        "timeout",
        "stream_interrupted",
        "context_length",
        "bad_request",
        "not_found",
        "refusal",
        "protocol",
        "bad_input",
        "config",
        "internal",
        "cancelled",
    ]


class TokenLimits(Value):
    """The limits that a refusal names, in tokens except for the last; 0 = it does not say."""

    max_output: int = 0
    """The longest answer."""
    window: int = 0
    """Prompt and answer together."""
    input: int = 0
    """The prompt, as the provider counted it."""
    input_at_least: int = 0
    """The same, where the provider stopped counting at its limit."""
    affordable: int = 0
    """The longest answer that the account can pay for."""
    max_tools: int = 0
    """How many tools a request may offer."""


class Tried(Value):
    """What was done before giving up."""

    attempts: int | None = None
    """None = not known."""
    address: str = ""
    """Where, without login and query."""
    keys: str = ""
    """The places of the keys, e.g. `ANTHROPIC_API_KEY`; never a key."""
    models: tuple[str, ...] = ()
    """The models that failed before the last one."""


class Failure(Value):
    """One failed request or input. `retryable` = the same request may succeed later; the engine decides whether to send
    it."""

    kind: ErrorKind
    message: str
    status: int | None = None
    retryable: bool = False
    retry_after_ms: int | None = None
    provider: str = ""
    provider_code: str = ""
    """The provider's own code or error type, e.g. `overloaded_error`, `insufficient_quota`."""
    detail: str = ""
    """Transport detail for people, e.g. `ECONNREFUSED`."""
    param: str = ""
    """The parameter that the provider refuses, where it names one apart from its message."""
    token_quota: int = 0
    """The input tokens that the provider allows per minute, where that is what was exceeded."""
    nudge: str = ""
    """A note to the model to add when the request is sent again, because the model itself caused the failure."""
    request_id: str = ""
    """The provider's own id of the request, which its support asks for."""
    limits: TokenLimits | None = None
    """The token limits that the refusal names."""
    case: str = ""
    """The cause, where the catalogue of errors knows several of this kind (`error_entries/failures.py`)."""
    tried: Tried | None = None
    """What was tried; set when giving up."""


class ShimError(Exception):
    """Base of everything raised on purpose."""


class BadInvocation(ShimError):
    """A flag, value, configuration or file that cannot be used. `kind` is the flat `code`, `provider` the provider that
    it is about, if it is about one."""

    def __init__(self, message: str, kind: ErrorKind = "config", *, provider: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.kind: ErrorKind = kind
        self.provider = provider


class BadLine(ShimError):
    """A line or request of the host that cannot be carried out. `quote` is the start of the line; `code` is the error
    code of the answer, where the line was a control request."""

    def __init__(self, message: str, quote: str = "", *, code: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.quote = quote
        self.code = code


class ProviderFailed(ShimError):
    """A model request failed."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class ToolFailed(ShimError):
    """A tool could not do its work; `message` is what the model reads.

    `before_run` marks failures found before anything ran (validation): they are wrapped in `<tool_use_error>`.
    `structured` replaces the `tool_use_result` value of the nested dialect (default: "Error: " + message).
    """

    def __init__(self, message: str, *, before_run: bool = False, structured: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.before_run = before_run
        self.structured = structured


class StoreFailed(ShimError):
    """The transcript could not be written or read."""


def failure_unexpected(error: BaseException, provider: str = "") -> Failure:
    """The failure of work that met an error which nothing handles: a defect of this program, or a transcript that was
    changed under a history that is read from it only now."""
    if isinstance(error, StoreFailed):
        return Failure("internal", str(error), provider=provider, case="transcript")
    return Failure("internal", f"internal error: {type(error).__name__}: {error}", provider=provider)


class Cancelled(ShimError):
    """This work was stopped. `output` is what a tool had put out until then."""

    def __init__(self, output: str = "") -> None:
        super().__init__()
        self.output = output


ABANDONED = "{what} did not stop when told to and was abandoned. It may still be running; its result is not used."
"""What host and user read."""


class Abandoned(Cancelled):
    """The work was told to stop and went on: nobody waits for it any more. `name` says which work."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class HostStopped(ShimError):
    """The host denied a call and asked to stop the turn as well. `call` is the denied call; None if a child's loop has
    recorded it already."""

    def __init__(self, call: ToolCall | None) -> None:
        super().__init__("the host stopped the turn")
        self.call = call
