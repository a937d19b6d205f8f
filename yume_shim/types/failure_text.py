"""The message of a failure that ends the work: what happened, where and how, what was tried, what the user can do."""

from __future__ import annotations

from yume_shim.types.errors import Tried
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.error_entries.entry import Entry
    from yume_shim.types.errors import Failure


def explained(failure: Failure, *, provider: str, model: str) -> Failure:
    """The failure with its whole message; `provider` and `model` are used where it names none. A cancelled request is
    no failure to explain."""
    if failure.kind == "cancelled":
        return failure
    provider = failure.provider or provider
    tried = failure.tried or Tried()
    advice = entry_of(failure).advice.format(
        provider=provider or "the provider",
        address=tried.address or "of the provider",
        keys=tried.keys or "none is configured",
        model=model or "the model",
    )
    what = failure.message.rstrip(". ").removesuffix(advice).rstrip(". ")
    done = _tried(tried)
    message = f"{what}{_facts(failure, provider)}. {f'Tried: {done}. ' if done else ''}{advice}."
    return replace(failure, message=message, provider=provider, detail="")


def entry_of(failure: Failure) -> Entry:
    """What the catalogue says about a failure."""
    from yume_shim.types.error_entries.failures import FAILURES

    found = {entry.case: entry for entry in FAILURES if entry.code == failure.kind}
    return found.get(failure.case) or found[""]


def _facts(failure: Failure, provider: str) -> str:
    """` (openai: rate_limit, status 429, insufficient_quota, request req_1)`."""
    facts: list[str] = [failure.kind]
    if failure.status is not None:
        facts.append(f"status {failure.status}")
    facts += [fact for fact in (failure.provider_code, failure.detail) if fact]
    if failure.request_id:
        facts.append(f"request {failure.request_id}")
    return f" ({provider}: {', '.join(facts)})" if provider else f" ({', '.join(facts)})"


def _tried(tried: Tried) -> str:
    """`3 attempts at https://api.example.com with the key of OPENAI_API_KEY, after model a`."""
    if tried.attempts is None:
        return ""
    if not tried.attempts:
        words = "no request was sent"
    else:
        words = "1 attempt" if tried.attempts == 1 else f"{tried.attempts} attempts"
    if tried.address and tried.attempts:
        words += f" at {tried.address}"
    if tried.keys and tried.attempts:
        words += f" with the key of {tried.keys}"
    return f"{words}, after {', '.join(tried.models)}" if tried.models else words
