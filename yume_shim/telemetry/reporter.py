"""Makes metrics and events of the events of a session, and passes them on to the spans. Runs on the thread of the feed.

Types of values are those of the Claude CLI on the wire: numbers of requests are numbers, those of tools are texts.
"""

from __future__ import annotations

from yume_shim.telemetry import names, tool_facts
from yume_shim.telemetry.lanes import CUSTOM, Ask, RunningCall, SessionFacts
from yume_shim.types.blocks import Text
from yume_shim.types.events import (
    ApprovalAsked,
    ApprovalWithdrawn,
    BlockEnded,
    BlockStarted,
    CallDenied,
    Compacted,
    CompactEnded,
    Compacting,
    FactNoted,
    LocalCommandDone,
    ModeChanged,
    ModelChanged,
    PromptTaken,
    RequestStarted,
    ResponseEnded,
    ResponseStarted,
    Retrying,
    SessionChanged,
    SessionReady,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from yume_shim.types.noted_facts import CallDecided, RequestGivenUp, UsageBooked
from yume_shim.types.shapes import timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from yume_shim.telemetry.lanes import Lane
    from yume_shim.telemetry.options import TelemetryOptions
    from yume_shim.telemetry.pipelines import Pipelines
    from yume_shim.telemetry.spans import Spans
    from yume_shim.types.blocks import ToolCall
    from yume_shim.types.events import Tagged

REDACTED = "<REDACTED>"
MAX_CONTENT = 60_000
"""Characters of a prompt or an answer; the Claude CLI's limit of 60 KB."""
MAX_ERROR = 4_000


class SessionReporter:
    """Implements `feed.Reporter`."""

    def __init__(
        self,
        pipelines: Pipelines,
        options: TelemetryOptions,
        spans: Spans | None,
        facts: SessionFacts,
        standard: Mapping[str, str],
        start_type: str,
    ) -> None:
        """`standard`: the attributes of all metrics and events that do not change."""
        self._pipelines, self._options, self._spans, self._facts = pipelines, options, spans, facts
        self._start_type = start_type
        given = pipelines.resource_attributes
        leave_out = set() if options.version else {"app.version"}
        leave_out |= set() if options.entrypoint else {"app.entrypoint"}
        chosen = {name: text for name, text in standard.items() if name not in leave_out}
        self._event_attributes = {**given, **chosen}
        self._metric_attributes = {**(given if options.resource_attributes else {}), **chosen}
        meter = pipelines.meter
        self._counters: dict[str, Any] = {}
        if meter is not None:
            for metric in names.METRICS.values():
                self._counters[metric.name] = meter.create_counter(metric.name, metric.unit, metric.text)

    def finish(self, until: float) -> None:
        """Export everything, by this moment of the monotonic clock."""
        if self._spans is not None:
            self._spans.end_all()
        self._pipelines.shutdown(until)

    def take(self, tagged: Tagged) -> None:
        """Report one event."""
        lane = self._facts.lane(tagged)
        if self._spans is not None:
            self._spans.take(tagged, lane)
        event = tagged.event
        match event:
            case FactNoted(fact):
                match fact:
                    case CallDecided(call, accepted, source):
                        self._decided(call, lane, tagged.at, source, accepted=accepted)
                    case UsageBooked():
                        self._booked(fact, lane, tagged.at)
                    case RequestGivenUp():
                        self._given_up(fact, lane, tagged.at)
            case ToolStarted(call):
                lane.calls[call.id] = RunningCall(tagged.at)
            case CallDenied():
                source = "hook" if event.reason_type.startswith("hook") else "config"
                self._decided(event.call, lane, tagged.at, source, accepted=False)
            case ApprovalAsked():
                self._facts.asked[event.ask_id] = (lane, event.call)
            case ApprovalWithdrawn(ask_id):
                asked = self._facts.asked.pop(ask_id, None)
                if asked is not None:
                    self._decided(asked[1], asked[0], tagged.at, "user_abort", accepted=False)
            case ToolFinished():
                self._tool_finished(event, lane, tagged.at)
            case RequestStarted() | ResponseStarted() | BlockStarted() | BlockEnded() | ResponseEnded() | Retrying():
                self._follow_request(tagged, lane)
            case _:
                self._of_session(tagged)

    # ------------------------------------------------------------ the session

    def _of_session(self, tagged: Tagged) -> None:
        event, facts = tagged.event, self._facts
        match event:
            case SessionReady(info):
                facts.take_info(info)
                self._count("claude_code.session.count", 1, start_type=self._start_type)
            case SessionChanged(session_id):
                facts.session_id = session_id
                self._count("claude_code.session.count", 1, start_type="fresh")
            case TurnStarted(info):
                facts.take_info(info)
            case ModelChanged() if tagged.child is None:
                facts.provider, facts.model = event.provider, event.model
            case ModeChanged(mode):
                self._event("permission_mode_changed", tagged.at, from_mode=facts.mode, to_mode=mode)
                facts.mode = mode
            case PromptTaken() if tagged.child is None and event.origin is None and not event.repeated:
                text = "\n".join(block.text for block in event.message.blocks if isinstance(block, Text))
                self._prompt(text, event.uuid or tagged.uuid, tagged.at)
            case LocalCommandDone(name):
                self._local_command(name, event.arguments, tagged)
            case TurnEnded():
                if event.duration_ms:
                    self._count("claude_code.active_time.total", event.duration_ms / 1000, type="cli")
            case Compacting(trigger):
                self._facts.lane(tagged).ask = Ask(tagged.at, facts.model, trigger)
            case CompactEnded(error) if error:
                self._compaction_failed(tagged, error)
            case Compacted():
                self._event(
                    "compaction",
                    tagged.at,
                    trigger=event.trigger,
                    success="true",
                    duration_ms=event.duration_ms,
                    pre_tokens=event.before,
                    post_tokens=event.after,
                )
            case _:
                pass

    def _compaction_failed(self, tagged: Tagged, error: str) -> None:
        ask = self._facts.lane(tagged).ask
        took = _ms(tagged.at - ask.began) if ask is not None else 0
        trigger = ask.origin if ask is not None and "/" not in ask.origin else "auto"
        self._event(
            "compaction",
            tagged.at,
            trigger=trigger,
            success="false",
            duration_ms=took,
            error=self._facts.clean(error, MAX_ERROR),
        )

    def _prompt(self, text: str, id: str, at: float) -> None:
        command, arguments = tool_facts.command_of(text)
        source: dict[str, Any] = {}
        if command:
            text = f"/{command} {arguments}".rstrip()
            source = {"command_name": command if self._options.tool_details else CUSTOM, "command_source": CUSTOM}
        self._user_prompt(text, id, at, source)

    def _local_command(self, name: str, arguments: str, tagged: Tagged) -> None:
        text = f"/{name} {arguments}".rstrip()
        self._user_prompt(text, tagged.uuid, tagged.at, {"command_name": name, "command_source": "builtin"})

    def _user_prompt(self, text: str, id: str, at: float, source: dict[str, Any]) -> None:
        self._facts.prompt_id = id
        shown = self._facts.clean(text, MAX_CONTENT) if self._options.prompts else REDACTED
        self._event("user_prompt", at, prompt_length=str(len(text)), prompt=shown, prompt_text=shown, **source)

    # ------------------------------------------------------------ requests

    def _follow_request(self, tagged: Tagged, lane: Lane) -> None:
        event, ask = tagged.event, lane.ask
        if isinstance(event, RequestStarted):
            lane.ask = Ask(tagged.at, event.model, event.origin)
            return
        if ask is None:
            return
        match event:
            case Retrying():
                ask.attempts += 1
                ask.sent = tagged.at + event.wait_ms / 1000
                ask.first_block, ask.text = None, []
            case ResponseStarted():
                ask.request_id = event.request_id
            case BlockStarted():
                ask.first_block = ask.first_block or tagged.at
            case BlockEnded(block=Text(text)):
                ask.text.append(text)
            case ResponseEnded():
                ask.ended = tagged.at
            case _:
                pass

    def _booked(self, fact: UsageBooked, lane: Lane, at: float) -> None:
        usage = fact.usage
        who = self._by_request(fact, lane)
        for kind, count in (
            ("input", usage.input),
            ("output", usage.output),
            ("cacheRead", usage.cache_read),
            ("cacheCreation", usage.cache_write),
        ):
            if count:
                self._count("claude_code.token.usage", count, type=kind, **who)
        if fact.cost_usd:
            self._count("claude_code.cost.usage", fact.cost_usd, **who)
        if fact.lost:
            return
        ask = lane.ask if fact.purpose in ("main", "compact") else None
        values: dict[str, Any] = {
            "model": fact.model,
            "input_tokens": usage.input,
            "output_tokens": usage.output,
            "cache_read_tokens": usage.cache_read,
            "cache_creation_tokens": usage.cache_write,
            "cost_usd": fact.cost_usd,
            "cost_usd_micros": round(fact.cost_usd * 1e6),
            "speed": "normal",
            **who,
            "query_source": lane.query_source(fact.purpose),
            **self._agent(lane),
        }
        if ask is not None:
            lane.request_id = ask.request_id
            values |= {"duration_ms": _ms((ask.ended or at) - ask.began)}
            values |= {"ttft_ms": _ms(ask.first_block - ask.began)} if ask.first_block is not None else {}
            values |= {"request_id": ask.request_id} if ask.request_id else {}
        self._event("api_request", at, lane, **values)
        if ask is not None:
            self._response(ask, fact, lane, at)
            lane.ask = None

    def _response(self, ask: Ask, fact: UsageBooked, lane: Lane, at: float) -> None:
        text = "\n".join(ask.text)
        if not text:
            return
        values: dict[str, Any] = {
            "response_length": len(text),
            "response": self._facts.clean(text, MAX_CONTENT) if self._options.responses else REDACTED,
            "model": fact.model,
            "query_source": lane.query_source(fact.purpose),
            **self._agent(lane),
        }
        if ask.request_id:
            values["request_id"] = ask.request_id
        self._event("assistant_response", at, lane, **values)

    def _given_up(self, fact: RequestGivenUp, lane: Lane, at: float) -> None:
        failure, ask = fact.failure, lane.ask
        tried = failure.tried.attempts if failure.tried is not None else None
        attempts = tried if tried is not None else ask.attempts if ask is not None else 1
        values: dict[str, Any] = {
            "model": fact.model,
            "error": self._facts.clean(failure.message, MAX_ERROR),
            "speed": "normal",
            names.PROVIDER: names.provider_name(fact.provider),
            "query_source": lane.query_source(fact.purpose),
            **self._agent(lane),
        }
        if failure.status is not None:
            values["status_code"] = failure.status
        if failure.request_id:
            values["request_id"] = failure.request_id
        took = {"duration_ms": _ms(at - ask.sent)} if ask is not None else {}
        self._event("api_error", at, lane, **values, attempt=attempts, **took)
        if attempts > 1 and ask is not None:
            total = {"total_attempts": attempts, "total_retry_duration_ms": _ms(at - ask.began)}
            self._event("api_retries_exhausted", at, lane, **values, **total)
        lane.ask = None

    def _by_request(self, fact: UsageBooked, lane: Lane) -> dict[str, str]:
        source = "subagent" if lane.child is not None else "main" if fact.purpose == "main" else "auxiliary"
        found = {"model": fact.model, "query_source": source, names.PROVIDER: names.provider_name(fact.provider)}
        found |= {"effort": fact.effort} if fact.effort else {}
        return found | lane.agent_name(details=self._options.tool_details)

    def _agent(self, lane: Lane) -> dict[str, str]:
        """Which agent it is about, in events."""
        if lane.child is None:
            return {}
        return {**lane.agent_name(details=self._options.tool_details), "agent_id": lane.child.agent_id}

    # ------------------------------------------------------------ calls

    def _decided(self, call: ToolCall, lane: Lane, at: float, source: Any, *, accepted: bool) -> None:
        running = lane.calls.get(call.id)
        if running is not None:
            running.decided, running.source = at, source
        decision = "accept" if accepted else "reject"
        if call.name in tool_facts.EDIT_TOOLS:
            self._count(
                "claude_code.code_edit_tool.decision",
                1,
                decision=decision,
                source=source,
                tool_name=call.name,
                language=tool_facts.language_of(call),
            )
        values = {
            "decision": decision,
            "source": source,
            "tool_name": call.name,
            "tool_use_id": call.id,
            "tool_source": "mcp" if call.name.startswith("mcp__") else "builtin",
            "permission_mode": self._facts.mode,
        }
        self._event("tool_decision", at, lane, **values, **self._details(call, lane))

    def _tool_finished(self, event: ToolFinished, lane: Lane, at: float) -> None:
        call, result, facts = event.call, event.result, self._facts
        running = lane.calls.pop(call.id, None)
        if event.denied or running is None or running.source is None:
            return
        failed = result.is_error is True
        text = tool_facts.result_text(result)
        values: dict[str, Any] = {
            "tool_name": call.name,
            "tool_use_id": call.id,
            "success": "false" if failed else "true",
            "duration_ms": str(_ms(at - running.decided)),
            "decision_type": "accept",
            "decision_source": running.source,
            "tool_input_size_bytes": str(tool_facts.input_size(call)),
            "tool_result_size_bytes": str(len(text.encode("utf-8", "replace"))),
            **self._details(call, lane),
        }
        if failed:
            values["error_type"] = "ShellError" if call.name in tool_facts.SHELL_TOOLS else "ToolError"
        if self._options.tool_details:
            values["tool_input"] = tool_facts.input_text(facts.clean.inside(call.input))
            if failed:
                values["error"] = facts.clean(text, MAX_ERROR)
        self._event("tool_result", at, lane, **values)
        if not failed:
            self._count_work(event)

    def _count_work(self, event: ToolFinished) -> None:
        added, removed = tool_facts.changed_lines(event.patch)
        for kind, count in (("added", added), ("removed", removed)):
            if count:
                self._count("claude_code.lines_of_code.count", count, type=kind, model=self._facts.model)
        if tool_facts.makes_commit(event.call):
            self._count("claude_code.commit.count", 1)
        if tool_facts.makes_pull_request(event.call):
            self._count("claude_code.pull_request.count", 1)

    def _details(self, call: ToolCall, lane: Lane) -> dict[str, str]:
        found = {"request_id": lane.request_id} if lane.request_id else {}
        if self._options.tool_details and (parameters := tool_facts.parameters_of(call)):
            found["tool_parameters"] = tool_facts.json_text(parameters)
        return found

    # ------------------------------------------------------------ out

    def _count(self, name: str, amount: float, **attributes: str) -> None:
        counter = self._counters.get(name)
        if counter is not None:
            # built-in names win over those of OTEL_RESOURCE_ATTRIBUTES; a float, as the Claude CLI sends
            counter.add(float(amount), {**self._metric_attributes, **self._session(), **attributes})

    def _session(self) -> dict[str, str]:
        return {"session.id": self._facts.session_id} if self._options.session_id else {}

    def _event(self, name: str, at: float, lane: Lane | None = None, **attributes: Any) -> None:
        logger = self._pipelines.logger
        if logger is None:
            return
        from opentelemetry._logs import LogRecord

        facts = self._facts
        nanoseconds = round(at * 1e9)
        values = {
            **self._event_attributes,
            **self._session(),
            "event.name": name,
            "event.timestamp": timestamp(at),
            "event.sequence": facts.next_number(),
            **({"prompt.id": facts.prompt_id} if facts.prompt_id else {}),
            **attributes,
        }
        context = self._spans.context(lane) if self._spans is not None and lane is not None else None
        logger.emit(
            LogRecord(
                timestamp=nanoseconds,
                observed_timestamp=nanoseconds,
                context=context,
                body=f"claude_code.{name}",
                attributes={key: facts.clean(it) if isinstance(it, str) else it for key, it in values.items()},
            )
        )


def _ms(seconds: float) -> int:
    return max(0, round(seconds * 1000))
