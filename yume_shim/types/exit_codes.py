"""The exit codes of `--exit-codes detailed`, by cause."""

from __future__ import annotations

from yume_shim.types.errors import BadInvocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Literal

    from yume_shim.types.events import TurnEnded

    Failing = Literal["auth", "limit", "rate", "provider", "budget", "turns", "denied", "truncated", "refused"]
    Cause = Failing | Literal["", "interrupted", "other"]

CODES: Mapping[Cause, int] = {
    "": 0,
    "other": 1,
    "auth": 10,
    "limit": 11,
    "rate": 12,
    "provider": 13,
    "budget": 14,
    "turns": 15,
    "denied": 16,
    "truncated": 17,
    "refused": 18,
    "interrupted": 130,
}
"""Cause → exit code. 2 stays the code of a start that is refused for another reason than its key."""
MEANINGS: Mapping[Cause, str] = {
    "": "the last turn succeeded, or nothing was asked",
    "other": "any other failure",
    "auth": "no key, a refused key, or an account without credit",
    "limit": "--deadline or --max-tool-calls is reached, the prompt does not fit into the window, or no answer matched "
    "--json-schema",
    "rate": "a rate limit of the provider",
    "provider": "any other failure of the provider or of the way to it",
    "budget": "--max-budget-usd is used up",
    "turns": "--max-turns is reached",
    "denied": "with --fail-on denied: a tool call was denied",
    "truncated": "with --fail-on truncated: the answer ended at the output limit",
    "refused": "the model or the provider's filter refused to answer (a refusal by the model: with --fail-on refused)",
    "interrupted": "the turn was interrupted; after a signal 128 + its number (SIGINT 130, SIGTERM 143, SIGHUP 129)",
}
FAIL_ON: tuple[Failing, ...] = ("truncated", "denied", "refused")
"""What `--fail-on` takes."""

_KINDS: Mapping[str, Cause] = {
    "auth": "auth",
    "billing": "auth",
    "rate_limit": "rate",
    "context_length": "limit",
    "refusal": "refused",
    "cancelled": "interrupted",
    "internal": "other",
}
"""Of the kinds of failures."""
_OUTCOMES: Mapping[str, Cause] = {
    "max_turns": "turns",
    "max_budget": "budget",
    "structured_output_retries": "limit",
    "cancelled": "interrupted",
    "execution_error": "other",
}
_RUN_KINDS: Mapping[str, Cause] = {
    "turns": "turns",
    "budget": "budget",
    "schema": "limit",
    "timeout": "limit",
    "interrupted": "interrupted",
    **dict.fromkeys(("start", "worker", "bad_input", "config"), "other"),
}
"""Of the kinds of errors in the rows of `yume-shim batch`."""
STOP_PROBLEMS: Mapping[str, Failing] = {
    **dict.fromkeys(("max_tokens", "model_context_window_exceeded", "length", "incomplete"), "truncated"),
    **dict.fromkeys(("refusal", "content_filter"), "refused"),
}
"""Stop reasons of answers that are no error but perhaps not what was wanted."""


def read_fail_on(text: str) -> tuple[str, ...]:
    """The value of `--fail-on`. Raises BadInvocation."""
    names = tuple(dict.fromkeys(text.replace(",", " ").split()))
    for name in names:
        if name not in FAIL_ON:
            raise BadInvocation(f"Error: --fail-on takes {', '.join(FAIL_ON)}, not '{name}'")
    return names


def cause_of_kinds(kinds: Iterable[str]) -> Cause:
    """Why tasks failed, by their kinds of error: their common cause, or "other"."""
    causes: set[Cause] = {_RUN_KINDS.get(kind) or _KINDS.get(kind, "provider") for kind in kinds}
    return causes.pop() if len(causes) == 1 else "other"


def cause_of(end: TurnEnded, fail_on: tuple[str, ...] = ()) -> Cause:
    """Why a turn counts as failed; "" if it does not. `fail_on` names successes that count as failures."""
    if end.stopped_by:
        return "limit"
    if end.outcome in ("provider_error", "auth_error"):
        return _KINDS.get(end.failure.kind, "provider") if end.failure is not None else "provider"
    if end.outcome in _OUTCOMES:
        return _OUTCOMES[end.outcome]
    if "denied" in fail_on and end.denials:
        return "denied"
    problem = STOP_PROBLEMS.get(end.stop_reason or "")
    return problem if problem is not None and problem in fail_on else ""
