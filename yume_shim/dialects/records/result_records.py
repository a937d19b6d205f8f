"""The records of `result` lines: what both dialects use in them, and the nested dialect's lines.

They are loaded when the first turn ends.
"""

from __future__ import annotations

from yume_shim.types.record import ABSENT, Record, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from yume_shim.dialects.records.shared_records import FailureSubtype, Origin
    from yume_shim.types.blocks import Json
    from yume_shim.types.message_records import CacheCreation


@record
class DeferredCall(Record):
    """The call that a hook has left to the host: it has not run."""

    id: str
    name: str
    input: Json


@record
class PermissionDenial(Record):
    """A call of the turn that was refused."""

    tool_name: str
    tool_use_id: str
    tool_input: Json


@record
class ModelFigures(Record):
    """Tokens and cost of one model so far, earlier runs of a resumed session included. `costBasis`: no price of
    the model is known, or it is the vendor's list price although requests went to another address."""

    inputTokens: int
    outputTokens: int
    cacheReadInputTokens: int
    cacheCreationInputTokens: int
    webSearchRequests: int
    costUSD: float
    contextWindow: int
    maxOutputTokens: int
    thinkingTokens: int
    cacheCreationEphemeral5mInputTokens: int
    cacheCreationEphemeral1hInputTokens: int
    canonicalModel: str
    provider: str | None = ABSENT
    costBasis: Literal["unknown", "list_price"] | None = ABSENT


@record
class AgentFigures(Record):
    """Tokens and cost of one agent at one model, in this process. `agent_id` is absent for the sum of the agents that
    are too many to be listed."""

    agent_id: str | None = ABSENT
    agent_type: str | None = ABSENT
    model: str
    provider: str
    inputTokens: int
    outputTokens: int
    cacheReadInputTokens: int
    cacheCreationInputTokens: int
    costUSD: float


@record
class ResultUsage(Record):
    """Tokens of a turn. The constants are fields of the Claude CLI that have no meaning here."""

    input_tokens: int
    cache_creation_input_tokens: int
    cache_read_input_tokens: int
    cache_creation: CacheCreation
    output_tokens: int
    service_tier: Literal["standard"] = "standard"
    output_tokens_details: OutputTokensDetails
    server_tool_use: ServerToolUse
    inference_geo: Literal[""] = ""
    iterations: list[Json]
    speed: Literal["standard"] = "standard"


@record
class OutputTokensDetails(Record):
    """How many of the output tokens were reasoning."""

    thinking_tokens: int


@record
class ServerToolUse(Record):
    """How often the provider's own tools ran."""

    web_search_requests: int
    web_fetch_requests: Literal[0] = 0


class TurnFigures(Record):
    """What a turn took. `cost_unknown`: a model was used whose price is not known, and its cost counts as zero.
    `cost_estimated`: the cost rests on estimated tokens, or a price is not known."""

    is_error: bool
    duration_ms: int
    duration_api_ms: int
    num_turns: int
    stop_reason: str | None
    total_cost_usd: float
    usage: ResultUsage
    modelUsage: dict[str, ModelFigures]
    agentUsage: list[AgentFigures] | None = ABSENT
    permission_denials: list[PermissionDenial]
    result_index: int
    cost_unknown: Literal[True] | None = ABSENT
    cost_estimated: Literal[True] | None = ABSENT
    model_usage_since_last_result: dict[str, ModelFigures] | None = ABSENT


class Answer(Record):
    """The text that the turn ended with, and how the provider failed if the text reports that. `result_parts`: all
    parts of an answer that was continued, of which `result` is the last."""

    result: str
    result_parts: list[str] | None = ABSENT
    api_error_status: int | None
    api_error_type: str | None = ABSENT


class Errors(Record):
    """Why a turn ended without an answer."""

    errors: list[str]


class ResultEnd(Record):
    """The last fields of a `result` line. `origin`: the turn began without a prompt of the host. `request_id` is the
    provider's id of the request that failed."""

    terminal_reason: str | None = ABSENT
    origin: Origin | None = ABSENT
    local_command: str | None = ABSENT
    deferred_tool_use: DeferredCall | None = ABSENT
    structured_output: Any = ABSENT
    request_id: str | None = ABSENT
    user_message_uuid: str | None = ABSENT
    user_message_uuids: list[str] | None = ABSENT
    session_id: str
    uuid: str


@record
class ResultFields(TurnFigures, ResultEnd):
    """The fields that both lines at the end of a turn have."""


@record
class SuccessLine(TurnFigures, Answer, ResultEnd):
    """The turn has ended with a text. A failure of the provider is reported here too, with `is_error` true and its
    message as `result`. `model_usage_since_last_result` is left out in JSON print mode."""

    type: Literal["result"] = "result"
    subtype: Literal["success"] = "success"


@record
class FailureLine(TurnFigures, Errors, ResultEnd):
    """The turn has ended without an answer: it was stopped, a limit was reached, or the program failed."""

    type: Literal["result"] = "result"
    subtype: FailureSubtype


@record
class ResumeFailedLine(Record):
    """There is no conversation to resume: the only line of the process. `session_id` is the requested one."""

    type: Literal["result"] = "result"
    subtype: Literal["error_during_execution"] = "error_during_execution"
    is_error: Literal[True] = True
    duration_ms: Literal[0] = 0
    duration_api_ms: Literal[0] = 0
    num_turns: Literal[0] = 0
    stop_reason: None = None
    session_id: str
    total_cost_usd: Literal[0] = 0
    usage: ResultUsage
    modelUsage: dict[str, ModelFigures]
    permission_denials: list[PermissionDenial]
    errors: list[str]
    uuid: str
