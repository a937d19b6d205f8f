"""What the SDK is given for the events of a session: agents, interrupts, compaction, failures. The SDK is real."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from yume_shim.telemetry.feed import EventFeed
from yume_shim.telemetry.lanes import SessionFacts
from yume_shim.telemetry.options import TelemetryOptions, read_options
from yume_shim.telemetry.reporter import SessionReporter
from yume_shim.telemetry.spans import Spans
from yume_shim.telemetry.tool_facts import input_text, makes_commit, makes_pull_request, parameters_of
from yume_shim.types.blocks import Message, Text, ToolCall, ToolResult
from yume_shim.types.child import Child
from yume_shim.types.errors import Failure, Tried
from yume_shim.types.events import (
    ApprovalAsked,
    ApprovalWithdrawn,
    BlockEnded,
    CallDenied,
    CompactEnded,
    Compacting,
    FactNoted,
    Interrupted,
    ModeChanged,
    PromptTaken,
    RequestStarted,
    ResponseEnded,
    ResponseStarted,
    SessionInfo,
    SessionReady,
    Tagged,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from yume_shim.types.models import Usage
from yume_shim.types.noted_facts import CallDecided, RequestGivenUp, UsageBooked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from yume_shim.types.events import Event

INFO = SessionInfo("s1", "/work", "google", "gemini-3", "default", ())
AGENT = ToolCall("c1", "Agent", {"subagent_type": "helper", "prompt": "go"})
READ = ToolCall("c2", "Read", {"file_path": "a.py"})
CHILD = Child("agent-1", "c1", "helper", provider="openai")
OF_HELPER = ("openai", "gpt-5", "openai-chat/gpt-5")
OF_MAIN = ("google", "gemini-3", "google-genai/gemini-3")


class Story:
    """Feeds events, one second apart, to a reporter over the real SDK."""

    def __init__(self, **options: Any) -> None:
        self.logs, self.spans_made, self.metrics = (
            InMemoryLogRecordExporter(),  # type: ignore[no-untyped-call]
            InMemorySpanExporter(),
            InMemoryMetricReader(),
        )
        tracing, logging = TracerProvider(shutdown_on_exit=False), LoggerProvider(shutdown_on_exit=False)
        tracing.add_span_processor(SimpleSpanProcessor(self.spans_made))
        logging.add_log_record_processor(SimpleLogRecordProcessor(self.logs))
        self.meter = MeterProvider([self.metrics], shutdown_on_exit=False).get_meter("m")
        self.logger, self.tracer = logging.get_logger("l"), tracing.get_tracer("t")
        self.resource_attributes: dict[str, str] = {}
        facts, given = SessionFacts(), TelemetryOptions(**options)
        spans = Spans(self.tracer, facts, None, "main", content=given.content)
        self.reporter = SessionReporter(self, given, spans, facts, {"user.id": "u"}, "fresh")  # type: ignore[arg-type]
        self.now = 1_000.0
        self.take(SessionReady(INFO))

    def shutdown(self, until: float) -> None:
        """The end of the pipelines."""

    def take(self, *events: Event, child: Child | None = None) -> None:
        for event in events:
            self.now += 1
            self.reporter.take(Tagged(event, "uuid", self.now, None if child is None else child.call_id, child))

    def prompt(self, text: str = "Hi") -> None:
        self.take(PromptTaken(Message("user", (Text(text),)), text, "p1"), TurnStarted(INFO))

    def events(self, name: str) -> list[dict[str, Any]]:
        records = [each.log_record for each in self.logs.get_finished_logs()]
        return [dict(each.attributes or {}) for each in records if each.body == f"claude_code.{name}"]

    def spans(self) -> dict[str, Any]:
        return {span.name: span for span in self.spans_made.get_finished_spans()}

    def sums(self, name: str, by: str) -> dict[Any, float]:
        data: Any = self.metrics.get_metrics_data()
        found = [metric for scope in data.resource_metrics[0].scope_metrics for metric in scope.metrics]
        points = [point for metric in found if metric.name == name for point in metric.data.data_points]
        return {point.attributes.get(by): point.value for point in points}


def answer(usage: Usage, who: tuple[str, str, str], *blocks: Any) -> Sequence[Event]:
    return (
        RequestStarted(who[1], who[2]),
        ResponseStarted("r1", who[1], request_id="req-1"),
        *(BlockEnded(index, block) for index, block in enumerate(blocks)),
        ResponseEnded("end", "end_turn", usage),
        FactNoted(UsageBooked(*who, usage, 0.5)),
    )


def ended(**changes: Any) -> TurnEnded:
    given: dict[str, Any] = {"outcome": "success", "text": "", "num_turns": 1, "duration_ms": 2500}
    return TurnEnded(**{**given, "duration_api_ms": 1, "usage": Usage(), "total_cost_usd": 0.0, **changes})


def test_an_agent_is_a_span_below_its_call_and_counts_apart() -> None:
    story = Story()
    story.prompt()
    story.take(*answer(Usage(5, 2), OF_MAIN, AGENT), ToolStarted(AGENT), FactNoted(CallDecided(AGENT, True, "config")))
    story.take(*answer(Usage(7, 3, 4, reasoning=2), OF_HELPER), child=CHILD)
    story.take(ToolStarted(READ), FactNoted(CallDecided(READ, True, "hook")), child=CHILD)
    story.take(ToolFinished(READ, ToolResult("c2", "text")), child=CHILD)
    story.take(ToolFinished(AGENT, ToolResult("c1", "done")), ended())
    spans = story.spans()
    helper, main = spans["invoke_agent helper"], spans["invoke_agent main"]
    assert helper.parent.span_id == spans["execute_tool Agent"].context.span_id
    assert {spans["chat gpt-5"].parent.span_id, spans["execute_tool Read"].parent.span_id} == {helper.context.span_id}
    assert spans["chat gpt-5"].attributes["gen_ai.provider.name"] == "openai"
    assert spans["chat gemini-3"].attributes["gen_ai.provider.name"] == "gcp.gemini"
    assert spans["execute_tool Agent"].parent.span_id == main.context.span_id
    assert helper.attributes["gen_ai.usage.input_tokens"] == 11
    assert helper.attributes["gen_ai.usage.reasoning.output_tokens"] == 2
    assert "gen_ai.usage.reasoning.output_tokens" not in main.attributes
    assert (helper.attributes["gen_ai.agent.name"], helper.attributes["gen_ai.agent.id"]) == ("helper", "agent-1")
    assert story.sums("claude_code.token.usage", "query_source") == {"main": 2, "subagent": 4}
    assert story.sums("claude_code.active_time.total", "type") == {"cli": 2.5}
    assert [each["query_source"] for each in story.events("api_request")] == ["sdk", "agent:custom"]
    (read, agent) = story.events("tool_result")
    assert (read["decision_source"], read["duration_ms"]) == ("hook", "1000")
    assert agent["duration_ms"] == "8000"
    assert all(span.status.is_unset for span in spans.values())


def test_decisions_of_the_host_and_refusals() -> None:
    story = Story(tool_details=True)
    story.prompt("<command-name>/review</command-name>\n<command-args>now</command-args>")
    story.take(RequestStarted("m", "o"))
    for source, accepted in (("user_permanent", True), ("user_reject", False)):
        story.take(ToolStarted(READ), FactNoted(CallDecided(READ, accepted, source)))  # type: ignore[arg-type]
        story.take(ToolFinished(READ, ToolResult("c2", "x"), denied=not accepted))
    story.take(ToolStarted(READ), CallDenied(READ, "no", "hookDenied"))
    story.take(ToolFinished(READ, ToolResult("c2", "no", is_error=True), denied=True))
    story.take(
        ToolStarted(READ), ApprovalAsked("q", READ, "why", 0), ApprovalWithdrawn("q"), Interrupted("user", "tools")
    )
    assert [(each["source"], each["decision"]) for each in story.events("tool_decision")] == [
        ("user_permanent", "accept"),
        ("user_reject", "reject"),
        ("hook", "reject"),
        ("user_abort", "reject"),
    ]
    unknown = ToolCall("c9", "Nonsense", {})
    story.take(ToolStarted(unknown), ToolFinished(unknown, ToolResult("c9", "no such tool", is_error=True)))
    assert len(story.events("tool_result")) == 1, "a refused call has none, nor one that nobody decided on"
    prompt = story.events("user_prompt")[0]
    assert prompt["prompt_text"] == prompt["prompt"] == "<REDACTED>"
    assert (prompt["command_name"], prompt["command_source"], prompt["prompt_length"]) == ("review", "custom", "11")
    assert story.spans()["chat m"].attributes["error.type"] == "cancelled"
    story.take(ended(outcome="cancelled"))
    assert story.spans()["invoke_agent main"].attributes["error.type"] == "cancelled"


def test_failures_compaction_and_modes() -> None:
    story = Story()
    story.prompt()
    failure = Failure("overloaded", "busy", status=529, tried=Tried(3), request_id="req-9")
    story.take(RequestStarted("gemini-3", OF_MAIN[2]), FactNoted(RequestGivenUp(*OF_MAIN, failure)))
    story.take(Compacting("auto"), FactNoted(UsageBooked(*OF_MAIN, Usage(9, 1), 0.1, "compact")), CompactEnded())
    story.take(Compacting("manual"), CompactEnded("no summary"), ModeChanged("plan"))
    story.take(FactNoted(UsageBooked(*OF_MAIN, Usage(3, 0), 0.1, lost=True)))
    story.take(ended(outcome="provider_error", failure=failure))
    (error,) = story.events("api_error")
    assert (error["status_code"], error["attempt"], error["request_id"], error["duration_ms"]) == (
        529,
        3,
        "req-9",
        1000,
    )
    (given_up,) = story.events("api_retries_exhausted")
    assert (given_up["total_attempts"], given_up["total_retry_duration_ms"]) == (3, 1000)
    (asked,) = story.events("api_request")
    assert (asked["query_source"], asked["input_tokens"]) == ("compact", 9)
    (failed,) = story.events("compaction")
    assert (failed["success"], failed["trigger"]) == ("false", "manual")
    assert story.events("permission_mode_changed")[0]["to_mode"] == "plan"
    assert story.sums("claude_code.cost.usage", "query_source") == {"auxiliary": 0.1, "main": 0.1}
    assert story.spans()["invoke_agent main"].attributes["error.type"] == "overloaded"


def test_a_lone_surrogate_costs_no_export() -> None:
    story = Story(prompts=True, content=True)
    story.prompt("half \ud83d emoji")
    story.take(*answer(Usage(1, 1), OF_MAIN, Text("\udc00")), ended(text="\udc00"))
    assert story.events("user_prompt")[0]["prompt"] == "half ? emoji"
    assert "half" in story.spans()["chat gemini-3"].attributes["gen_ai.input.messages"]


@pytest.mark.parametrize(
    ("command", "commits", "requests"),
    [
        ("git commit -m x", True, False),
        ("git -C /a -c user.name=n commit -qm x && gh pr create", True, True),
        ("git log --grep commit", False, False),
        ("glab mr create -f", False, True),
    ],
)
def test_commits_and_pull_requests(command: str, commits: bool, requests: bool) -> None:
    call = ToolCall("c", "Bash", {"command": command})
    assert (makes_commit(call), makes_pull_request(call)) == (commits, requests)


def test_parameters_and_input_of_calls() -> None:
    assert parameters_of(ToolCall("c", "mcp__git__create_pull_request", {})) == {
        "mcp_server_name": "git",
        "mcp_tool_name": "create_pull_request",
    }
    assert makes_pull_request(ToolCall("c", "mcp__git__create_pull_request", {}))
    assert parameters_of(ToolCall("c", "Bash", {"command": "ls -l", "timeout": 5})) == {
        "bash_command": "ls",
        "full_command": "ls -l",
        "timeout": 5,
    }
    assert parameters_of(AGENT) == {"subagent_type": "helper"}
    text = input_text({"a": "x" * 600, "b": "y" * 9_000, "c": list(range(9_000))})
    assert len(text) <= 4_096
    assert "x" * 512 + "…" in text


def test_wrong_variables_are_reported_and_defaults_used() -> None:
    said: list[str] = []
    env = {
        "OTEL_METRICS_EXPORTER": "otlp, prometheus",
        "OTEL_LOGS_EXPORTER": "otlp",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/xml",
        "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL": "grpc",
        "OTEL_LOGS_EXPORT_INTERVAL": "-1",
        "CLAUDE_CODE_OTEL_SHUTDOWN_TIMEOUT_MS": "9999999",
        "OTEL_LOG_USER_PROMPTS": "1",
        "OTEL_LOG_ASSISTANT_RESPONSES": "0",
    }
    found = read_options(env, lambda level, text: said.append(text))
    assert (found.metrics, found.grpc, found.logs_interval_ms, found.flush_ms) == (("otlp",), ("logs",), 5_000, 60_000)
    assert (found.prompts, found.responses) == (True, False)
    assert len(said) == 3


def test_a_full_queue_drops_events_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yume_shim.telemetry.feed.MAX_WAITING", 3)
    said: list[str] = []
    taken: list[Tagged] = []

    class Reporter:
        def take(self, tagged: Tagged) -> None:
            taken.append(tagged)

        def finish(self, until: float) -> None:
            said.append("finished")

    feed = EventFeed(Reporter, lambda level, text: said.append(text), first_s=30.0, flush_s=30.0)
    for _ in range(5):
        feed(Tagged(ModeChanged("plan"), "u", 1.0))
    feed.close()
    assert len(taken) == 3
    assert said == ["telemetry: 2 events came too fast and were dropped", "finished"]
