"""Names, units and attributes of everything that telemetry exports. The table of docs/telemetry.md comes from here.

Metrics, events and most of their attributes are those of the Claude CLI, so that dashboards made for it work; spans
follow the GenAI semantic conventions of OpenTelemetry.
"""

from __future__ import annotations

from yume_shim.types.value import Value

METER = "com.anthropic.claude_code"
LOGGER = "com.anthropic.claude_code.events"
TRACER = "yume_shim"
SERVICE = "claude-code"
"""The default of `service.name`; OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES override it."""

PROVIDER = "gen_ai.provider.name"
OURS = (PROVIDER,)
"""Attributes of metrics and events that the Claude CLI does not have."""


class Metric(Value):
    """A counter."""

    name: str
    unit: str
    text: str
    attributes: tuple[str, ...] = ()


class LogEvent(Value):
    """An event, exported as a log record. Attributes in `optional` are there only in some cases."""

    name: str
    text: str
    attributes: tuple[str, ...]
    optional: tuple[str, ...] = ()


class SpanKind(Value):
    """A kind of span; its name is `operation` and what it is about."""

    operation: str
    text: str
    attributes: tuple[str, ...]
    content: tuple[str, ...] = ()
    """Only where content is captured."""


STANDARD = ("session.id", "user.id", "terminal.type")
"""Of all metrics and events; further ones are those of OTEL_RESOURCE_ATTRIBUTES."""
ON_REQUEST = ("app.version", "app.entrypoint")
"""The same, where OTEL_METRICS_INCLUDE_VERSION and OTEL_METRICS_INCLUDE_ENTRYPOINT say so."""
EVENT_STANDARD = ("event.name", "event.timestamp", "event.sequence", "prompt.id")

_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens")
_AGENT = ("agent.name", "agent_id")
_SIZES = ("tool_input_size_bytes", "tool_result_size_bytes")
_BY_REQUEST = ("model", "query_source", "effort", "agent.name", PROVIDER)

METRICS = {
    metric.name: metric
    for metric in (
        Metric("claude_code.session.count", "", "Count of CLI sessions started", ("start_type",)),
        Metric("claude_code.lines_of_code.count", "", "Count of lines of code modified", ("type", "model")),
        Metric("claude_code.pull_request.count", "", "Number of pull requests created"),
        Metric("claude_code.commit.count", "", "Number of git commits created"),
        Metric("claude_code.cost.usage", "USD", "Cost of the session", _BY_REQUEST),
        Metric("claude_code.token.usage", "tokens", "Number of tokens used", ("type", *_BY_REQUEST)),
        Metric(
            "claude_code.code_edit_tool.decision",
            "",
            "Count of permission decisions about Edit, MultiEdit, Write and NotebookEdit",
            ("decision", "source", "tool_name", "language"),
        ),
        Metric("claude_code.active_time.total", "s", "Total active time in seconds", ("type",)),
    )
}

EVENTS = {
    event.name: event
    for event in (
        LogEvent(
            "user_prompt",
            "a prompt was submitted",
            ("prompt_length", "prompt", "prompt_text"),
            ("command_name", "command_source"),
        ),
        LogEvent(
            "api_request",
            "a model has answered",
            ("model", "cost_usd", "cost_usd_micros", *_TOKENS, "query_source", "speed", PROVIDER),
            ("duration_ms", "ttft_ms", "request_id", "effort", *_AGENT),
        ),
        LogEvent(
            "api_error",
            "a request failed and was given up",
            ("model", "error", "attempt", "query_source", "speed", PROVIDER),
            ("duration_ms", "status_code", "request_id", *_AGENT),
        ),
        LogEvent(
            "api_retries_exhausted",
            "a request was given up after several attempts",
            ("model", "error", "total_attempts", "total_retry_duration_ms", "query_source", "speed", PROVIDER),
            ("status_code", "request_id", *_AGENT),
        ),
        LogEvent(
            "tool_decision",
            "a call was allowed or refused",
            ("tool_name", "tool_use_id", "decision", "source", "tool_source", "permission_mode"),
            ("tool_parameters", "request_id"),
        ),
        LogEvent(
            "tool_result",
            "a call that was allowed has ended",
            ("tool_name", "tool_use_id", "success", "duration_ms", "decision_type", "decision_source", *_SIZES),
            ("error_type", "error", "tool_parameters", "tool_input", "request_id"),
        ),
        LogEvent(
            "assistant_response",
            "an answer had text",
            ("response_length", "response", "model", "query_source"),
            ("request_id", *_AGENT),
        ),
        LogEvent(
            "compaction",
            "the history was compacted, or that failed",
            ("trigger", "success", "duration_ms"),
            ("pre_tokens", "post_tokens", "error"),
        ),
        LogEvent("permission_mode_changed", "the permission mode changed", ("from_mode", "to_mode")),
    )
}

_SPAN = ("gen_ai.operation.name", PROVIDER, "gen_ai.conversation.id", "error.type")
_RESPONSE = ("gen_ai.response.model", "gen_ai.response.id", "gen_ai.response.finish_reasons")
_USAGE = (
    *("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"),
    *("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_creation.input_tokens"),
    "gen_ai.usage.reasoning.output_tokens",
)

SPANS = {
    span.operation: span
    for span in (
        SpanKind(
            "invoke_agent",
            "a turn, or a subagent",
            (*_SPAN, "gen_ai.agent.name", "gen_ai.agent.id", "gen_ai.request.model", *_USAGE),
            ("gen_ai.input.messages", "gen_ai.output.messages"),
        ),
        SpanKind(
            "chat",
            "a request to a model, with its retries as span events `retry`",
            (*_SPAN, "gen_ai.request.model", *_RESPONSE, *_USAGE),
            ("gen_ai.input.messages", "gen_ai.output.messages"),
        ),
        SpanKind(
            "execute_tool",
            "a tool call, the wait for a permission included",
            (*_SPAN, "gen_ai.tool.name", "gen_ai.tool.call.id", "gen_ai.tool.type"),
            ("gen_ai.tool.call.arguments", "gen_ai.tool.call.result"),
        ),
    )
}

PROVIDERS = {
    "google": "gcp.gemini",
    "gemini": "gcp.gemini",
    "vertex": "gcp.vertex_ai",
    "vertex-gemini": "gcp.vertex_ai",
    "bedrock": "aws.bedrock",
    "azure": "azure.ai.openai",
    "azure-ad": "azure.ai.openai",
    "mistral": "mistral_ai",
    "xai": "x_ai",
    "moonshot": "moonshot_ai",
}
"""Names of the conventions that differ from ours; others are passed on."""


def provider_name(name: str) -> str:
    """The provider under the name that the conventions give it."""
    return PROVIDERS.get(name, name)
