"""How a turn ends, and the texts for failures: one table for both dialects.

Only this module writes the texts for a Failure. The store receives `nested_error_category` and `error_text` from `app`.
"""

from __future__ import annotations

from yume_shim.dialects.records.result_records import AgentFigures, DeferredCall, ModelFigures, PermissionDenial
from yume_shim.types.models import Usage
from yume_shim.types.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Literal

    from yume_shim.dialects.records.shared_records import ErrorCategory, FailureSubtype, FlatSubtype, Origin
    from yume_shim.types.errors import ErrorKind, Failure
    from yume_shim.types.events import AgentUsage, Denial, ModelUsage, Outcome, Phase, TurnEnded
    from yume_shim.types.tasks import TaskOrigin


class Ending(Value):
    """How one outcome is reported: both dialects' `subtype`, `terminal_reason` ("" = left out), `is_error`."""

    flat: FlatSubtype
    nested: Literal["success"] | FailureSubtype
    terminal: str
    is_error: bool


# In the nested dialect an API failure is subtype "success" with is_error true, as in the Claude CLI.
ENDINGS: Mapping[Outcome, Ending] = {
    "success": Ending("success", "success", "completed", False),
    "cancelled": Ending("cancelled", "error_during_execution", "aborted_streaming", True),
    "max_turns": Ending("error_max_turns", "error_max_turns", "max_turns", True),
    "max_budget": Ending("error_max_budget_usd", "error_max_budget_usd", "budget_exhausted", True),
    "provider_error": Ending("error_provider", "success", "api_error", True),
    "auth_error": Ending("error_auth", "success", "api_error", True),
    "execution_error": Ending("error_during_execution", "error_during_execution", "", True),
    "structured_output_retries": Ending(
        "error_max_structured_output_retries",
        "error_max_structured_output_retries",
        "structured_output_retry_exhausted",
        True,
    ),
    "hook_stopped": Ending("success", "success", "hook_stopped", False),
    "tool_deferred": Ending("success", "success", "tool_deferred", False),
    "prompt_blocked": Ending("success", "success", "", False),
    "stop_prevented": Ending("success", "success", "stop_hook_prevented", False),
}

_CATEGORIES: Mapping[ErrorKind, ErrorCategory] = {
    "auth": "authentication_failed",
    "billing": "billing_error",
    "rate_limit": "rate_limit",
    "overloaded": "server_error",
    "server": "server_error",
    "network": "server_error",
    "tls": "server_error",
    "dns": "server_error",
    "timeout": "server_error",
    "stream_interrupted": "server_error",
    "protocol": "server_error",
    "context_length": "invalid_request",
    "bad_request": "invalid_request",
    "bad_input": "invalid_request",
    "config": "invalid_request",
    "refusal": "invalid_request",
    "not_found": "model_not_found",
    "internal": "unknown",
    "cancelled": "unknown",
}

TOO_LARGE = 413
"""HTTP status of a request body over the endpoint's limit."""

_STOPPED: Mapping[Phase, str] = {
    "tools": "while a tool ran",
    "streaming": "while the model answered",
    "idle": "before the model answered",
}


def exit_code(outcome: Outcome) -> int:
    """The exit code of a process whose last result this was; signals have other codes."""
    return 1 if ENDINGS[outcome].is_error else 0


# ---------------------------------------------------------------- failures


def nested_error_category(failure: Failure) -> ErrorCategory:
    """`error` of a synthetic assistant line."""
    if failure.provider_code == "cancelled":
        return "unknown"  # nothing is wrong with the server
    return "invalid_request" if failure.status == TOO_LARGE else _CATEGORIES[failure.kind]


def retry_category(failure: Failure) -> ErrorCategory | Literal["overloaded"]:
    """`error` of an `api_retry` line, where overload has its own name and a failure without a status is "unknown"."""
    if failure.kind == "overloaded":
        return "overloaded"
    return "unknown" if failure.status is None else nested_error_category(failure)


def error_text(failure: Failure) -> str:
    """The message for people. Each begins with the text that hosts of the Claude CLI look for."""
    if failure.status == TOO_LARGE:
        return f"Request too large · {failure.message}"
    match failure.kind:
        case "auth":
            if failure.status is None and not failure.provider_code:
                return f"Not logged in · {failure.message}"
            if failure.status == 403:
                return f"Failed to authenticate. API Error: 403 {failure.message}"
            return f"Invalid API key · {failure.message}"
        case "billing":
            return f"Credit balance is too low · {failure.message}"
        case "context_length":
            return f"Prompt is too long · {failure.message}"
        case "not_found":
            return f"There's an issue with the selected model: {failure.message}"
        case "rate_limit":
            return f"API Error: Request rejected ({failure.status or 429}) · {failure.message}"
        case _:
            status = "" if failure.status is None else f"{failure.status} "
            detail = f" ({failure.detail})" if failure.detail else ""
            return f"API Error: {status}{failure.message}{detail}"


def compaction_error(failure: Failure) -> str:
    """Why the history could not be compacted, as the Claude CLI says it."""
    return f"Error during compaction: {error_text(failure)}"


def origin_of(origin: TaskOrigin) -> Origin:
    """Why a turn began without a prompt."""
    from yume_shim.dialects.records.shared_records import Origin

    return Origin(runId=origin.run_id, task_id=origin.task_id)


def error_list(event: TurnEnded) -> list[str]:
    """`errors`: why the turn did not succeed, one sentence each; empty on success."""
    match event.outcome:
        case "success" | "hook_stopped" | "stop_prevented" | "tool_deferred" | "prompt_blocked":
            return []
        case "cancelled":
            return [f"[interrupted] The turn was stopped {_STOPPED[event.phase]}."]
        case "max_turns":
            return [f"Reached maximum number of turns ({event.limit})"]
        case "max_budget":
            return [f"Reached maximum budget ({budget(event)})"]
        case "provider_error" | "auth_error" | "execution_error":
            return [event.failure.message if event.failure else event.limit or event.text or "The turn failed."]
        case "structured_output_retries":
            return [f"No output matched the schema after {event.limit or 'several'} tries"]


def advised_errors(event: TurnEnded) -> list[str]:
    """`errors` of the flat dialect: with what the user can do. The Claude forms keep the Claude CLI's own words."""
    errors = error_list(event)
    if not errors or event.failure is not None or event.outcome == "cancelled":
        return errors
    from yume_shim.types.error_entries.outcomes import OUTCOMES

    advice = next((entry.advice for entry in OUTCOMES if entry.code == event.outcome), "")
    return [f"{errors[0].rstrip('.')}. {advice}.", *errors[1:]] if advice else errors


def budget(event: TurnEnded) -> str:
    """The budget that was used up, in dollars."""
    return event.limit if event.limit.startswith("$") else f"${event.limit}"


def terminal_reason(event: TurnEnded) -> str:
    """`terminal_reason` of the nested dialect, "" where it is left out."""
    if event.local_command:
        return ""
    if event.outcome == "cancelled" or (event.outcome == "success" and event.phase != "idle"):
        return "aborted_tools" if event.phase == "tools" else "aborted_streaming"
    if event.failure is not None and event.outcome == "provider_error":
        if event.failure.kind == "context_length":
            return "prompt_too_long"
        if event.failure.status == TOO_LARGE:
            return "image_error"
    return ENDINGS[event.outcome].terminal


# ---------------------------------------------------------------- figures


def cost_unknown(event: TurnEnded) -> Literal[True] | None:
    """`cost_unknown`: the price of some model of the session is not known; None = left out."""
    return None if all(each.cost_known for each in event.model_usage) else True


def cost_estimated(event: TurnEnded) -> Literal[True] | None:
    """`cost_estimated`: the total is not exact; None = left out."""
    return True if any(each.usage.estimated or not each.cost_known for each in event.model_usage) else None


def model_usage(models: Iterable[ModelUsage]) -> dict[str, ModelFigures]:
    """`modelUsage`: per requested model id."""
    return {entry.model: _figures(entry) for entry in models}


def agent_usage(agents: Iterable[AgentUsage]) -> list[AgentFigures] | None:
    """`agentUsage`: a row per agent and model; None = there were no agents."""
    return [
        AgentFigures(
            agent_id=entry.agent_id or None,
            agent_type=entry.agent_type or None,
            model=entry.model,
            provider=entry.provider,
            inputTokens=entry.usage.input,
            outputTokens=entry.usage.output,
            cacheReadInputTokens=entry.usage.cache_read,
            cacheCreationInputTokens=entry.usage.cache_write,
            costUSD=entry.cost_usd,
        )
        for entry in agents
    ] or None


def model_usage_since(models: Iterable[ModelUsage], before: Mapping[str, ModelUsage]) -> dict[str, ModelFigures]:
    """The same for what was used after `before`; models that were not used since are left out."""
    found: dict[str, ModelFigures] = {}
    for entry in models:
        old = before.get(entry.model)
        if old is None:
            found[entry.model] = _figures(entry)
        elif old.usage != entry.usage or old.cost_usd != entry.cost_usd:
            used = _difference(entry.usage, old.usage)
            found[entry.model] = _figures(replace(entry, usage=used, cost_usd=round(entry.cost_usd - old.cost_usd, 12)))
    return found


def _difference(new: Usage, old: Usage) -> Usage:
    return Usage(
        new.input - old.input,
        new.output - old.output,
        new.cache_read - old.cache_read,
        new.cache_write - old.cache_write,
        new.reasoning - old.reasoning,
        new.estimated,
        new.cache_write_1h - old.cache_write_1h,
        new.web_searches - old.web_searches,
    )


def _figures(entry: ModelUsage) -> ModelFigures:
    usage = entry.usage
    return ModelFigures(
        inputTokens=usage.input,
        outputTokens=usage.output,
        cacheReadInputTokens=usage.cache_read,
        cacheCreationInputTokens=usage.cache_write,
        webSearchRequests=usage.web_searches,
        costUSD=entry.cost_usd,
        contextWindow=entry.window,
        maxOutputTokens=entry.max_output,
        thinkingTokens=usage.reasoning,
        cacheCreationEphemeral5mInputTokens=usage.cache_write - usage.cache_write_1h,
        cacheCreationEphemeral1hInputTokens=usage.cache_write_1h,
        canonicalModel=entry.model,
        provider=entry.provider or None,
        costBasis="unknown" if not entry.cost_known else "list_price" if entry.list_price else None,
    )


def denial_list(denials: Iterable[Denial]) -> list[PermissionDenial]:
    """`permission_denials`."""
    return [
        PermissionDenial(tool_name=each.tool_name, tool_use_id=each.tool_use_id, tool_input=each.tool_input)
        for each in denials
    ]


def deferred_call(event: TurnEnded) -> DeferredCall | None:
    """`deferred_tool_use`: the call that a hook has left to the host; None = left out."""
    call = event.deferred
    return None if call is None else DeferredCall(id=call.id, name=call.name, input=call.input)
