"""Makes spans of the events of a session, in the GenAI semantic conventions: `invoke_agent` for a turn or a subagent,
below it `chat` for each request and `execute_tool` for each call; a subagent's is below the call that started it."""

from __future__ import annotations

import time

from yume_shim.telemetry import names, tool_facts
from yume_shim.telemetry.content import Contents
from yume_shim.types.events import (
    SUCCESSES,
    BlockEnded,
    CompactEnded,
    Compacting,
    FactNoted,
    Interrupted,
    PromptTaken,
    RequestStarted,
    ResponseDropped,
    ResponseEnded,
    ResponseStarted,
    Retrying,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from yume_shim.types.models import Usage
from yume_shim.types.noted_facts import RequestGivenUp, UsageBooked
from yume_shim.types.side_events import TaskNotification

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer

    from yume_shim.telemetry.lanes import Lane, SessionFacts
    from yume_shim.types.events import Tagged

MAX_PARENTS = 1_000
"""Calls whose span may still become the parent of a subagent's."""


class _LaneSpans:
    """The open spans of one conversation."""

    __slots__ = ("agent", "calls", "chat", "contents", "context", "tokens")

    def __init__(self, contents: Contents) -> None:
        self.agent: Span | None = None
        self.context: Context | None = None
        """That of the agent's span; it is kept after its end, for what is reported late."""
        self.chat: Span | None = None
        self.calls: dict[str, Span] = {}
        self.contents = contents
        self.tokens = Usage()


class Spans:
    """Used by one thread. `parent` is the span of whoever started this process (TRACEPARENT)."""

    def __init__(
        self, tracer: Tracer, facts: SessionFacts, parent: Context | None, agent: str, *, content: bool
    ) -> None:
        """`agent`: the name of the session's own agent. `content`: messages and arguments are in the spans."""
        self._tracer, self._facts, self._parent, self._agent = tracer, facts, parent, agent
        self._content = content
        self._lanes: dict[str, _LaneSpans] = {}
        self._of_calls: dict[str, Context] = {}

    def context(self, lane: Lane) -> Context | None:
        """The context of what happens in this conversation now."""
        spans = self._lanes.get(_name(lane))
        return spans.context if spans is not None else None

    def end_all(self) -> None:
        """The process ends."""
        for spans in self._lanes.values():
            self._close(spans, time.time(), "cancelled")

    def take(self, tagged: Tagged, lane: Lane) -> None:
        """Begin and end spans for one event."""
        at, event = round(tagged.at * 1e9), tagged.event
        spans = self._lanes.get(_name(lane))
        if spans is None:
            spans = self._lanes[_name(lane)] = _LaneSpans(Contents(self._facts.clean, on=self._content))
        match event:
            case PromptTaken():
                spans.contents.prompt(event.message)
            case TurnStarted(info):
                self._facts.take_info(info)
                self._begin_agent(spans, at, self._agent, "", self._parent)
            case TurnEnded():
                self._end_turn(spans, event, at)
            case TaskNotification():
                self._end_agent_of(event.facts.call_id, at)
            case Interrupted():
                self._end_chat(spans, at, "cancelled")
            case RequestStarted() | Compacting():
                if lane.child is not None and spans.agent is None:
                    child = lane.child
                    self._begin_agent(spans, at, child.agent_type, child.agent_id, self._of_calls.get(child.call_id))
                model = event.model if isinstance(event, RequestStarted) else self._facts.model
                self._begin_chat(spans, at, model, self._provider(lane))
            case ToolStarted():
                self._begin_call(spans, event, at, self._provider(lane))
            case ToolFinished():
                self._end_call(spans, event, at)
            case FactNoted(fact):
                if isinstance(fact, RequestGivenUp):
                    kind = str(fact.failure.status or fact.failure.kind)
                    self._end_chat(spans, at, kind, names.provider_name(fact.provider))
                elif isinstance(fact, UsageBooked):
                    self._booked(spans, fact, at)
            case _:
                self._follow_answer(spans, tagged, at)

    # ------------------------------------------------------------ agents

    def _begin_agent(self, spans: _LaneSpans, at: int, name: str, id: str, parent: Context | None) -> None:
        from opentelemetry.trace import SpanKind, set_span_in_context

        attributes = self._attributes("invoke_agent", names.provider_name(self._facts.provider))
        attributes |= {"gen_ai.agent.name": name, "gen_ai.request.model": self._facts.model}
        attributes |= {"gen_ai.agent.id": id} if id else {}
        spans.agent = self._tracer.start_span(
            f"invoke_agent {name}".rstrip(), parent, SpanKind.INTERNAL, attributes, start_time=at
        )
        spans.context, spans.tokens = set_span_in_context(spans.agent), Usage()
        if self._content:
            spans.agent.set_attribute("gen_ai.input.messages", spans.contents.asked())

    def _end_turn(self, spans: _LaneSpans, event: TurnEnded, at: int) -> None:
        if spans.agent is None:
            return
        _set_usage(spans.agent, event.usage)
        if self._content:
            spans.agent.set_attribute(
                "gen_ai.output.messages", spans.contents.final(event.text, event.stop_reason or "")
            )
        failed = event.outcome not in SUCCESSES
        kind = event.failure.kind if event.failure is not None else event.outcome
        self._close(spans, at / 1e9, kind if failed else "")

    def _end_agent_of(self, call_id: str, at: int) -> None:
        """A subagent has ended: its call has, or its task."""
        spans = self._lanes.get(call_id)
        if spans is not None and spans.agent is not None:
            _set_usage(spans.agent, spans.tokens)
            self._close(spans, at / 1e9, "")
            del self._lanes[call_id]

    def _close(self, spans: _LaneSpans, at: float, error: str) -> None:
        """End the agent's span and what is open below it."""
        moment = round(at * 1e9)
        self._end_chat(spans, moment, error or "cancelled")
        for span in (*spans.calls.values(), *((spans.agent,) if spans.agent is not None else ())):
            if error:
                _fail(span, error)
            span.end(moment)
        spans.calls, spans.agent = {}, None
        spans.contents.clear()

    # ------------------------------------------------------------ requests

    def _begin_chat(self, spans: _LaneSpans, at: int, model: str, provider: str) -> None:
        from opentelemetry.trace import SpanKind

        self._end_chat(spans, at, "stream_interrupted")  # an answer that was cut, and is continued by a new request
        attributes = self._attributes("chat", provider) | {"gen_ai.request.model": model}
        spans.chat = self._tracer.start_span(
            f"chat {model}", spans.context or self._parent, SpanKind.CLIENT, attributes, start_time=at
        )
        if self._content:
            spans.chat.set_attribute("gen_ai.input.messages", spans.contents.take_input())

    def _follow_answer(self, spans: _LaneSpans, tagged: Tagged, at: int) -> None:
        chat, event = spans.chat, tagged.event
        if chat is None:
            return
        match event:
            case Retrying(failure, attempt):
                reason = str(failure.status or failure.kind)
                chat.add_event("retry", {"attempt": attempt, "error.type": reason, "wait_ms": event.wait_ms}, at)
            case ResponseStarted():
                chat.set_attributes({"gen_ai.response.model": event.model, "gen_ai.response.id": event.id})
            case BlockEnded(block=block):
                spans.contents.answer(block)
            case ResponseDropped() if not event.interrupted:
                spans.contents.forget_answer()
            case ResponseEnded():
                chat.set_attribute("gen_ai.response.finish_reasons", (event.stop_reason or event.stop,))
                _set_usage(chat, event.usage)
                self._end_chat(spans, at, "", reason=event.stop)
            case CompactEnded():
                self._end_chat(spans, at, "error" if event.error else "")
            case _:
                pass

    def _booked(self, spans: _LaneSpans, fact: UsageBooked, at: int) -> None:
        spans.tokens = spans.tokens + fact.usage
        if fact.purpose == "compact" and not fact.lost and spans.chat is not None:
            _set_usage(spans.chat, fact.usage)
            self._end_chat(spans, at, "")

    def _end_chat(self, spans: _LaneSpans, at: int, error: str, provider: str = "", reason: str = "") -> None:
        if spans.chat is None:
            return
        if provider:
            spans.chat.set_attribute(names.PROVIDER, provider)
        if error:
            _fail(spans.chat, error)
        if self._content:
            spans.chat.set_attribute("gen_ai.output.messages", spans.contents.take_output(reason))
        spans.chat.end(at)
        spans.chat = None

    # ------------------------------------------------------------ calls

    def _begin_call(self, spans: _LaneSpans, event: ToolStarted, at: int, provider: str) -> None:
        from opentelemetry.trace import SpanKind, set_span_in_context

        call = event.call
        attributes = self._attributes("execute_tool", provider)
        attributes |= {"gen_ai.tool.name": call.name, "gen_ai.tool.call.id": call.id, "gen_ai.tool.type": "function"}
        if self._content:
            attributes["gen_ai.tool.call.arguments"] = spans.contents.cut(
                tool_facts.json_text(self._facts.clean.inside(call.input))
            )
        span = self._tracer.start_span(
            f"execute_tool {call.name}", spans.context or self._parent, SpanKind.INTERNAL, attributes, start_time=at
        )
        spans.calls[call.id] = span
        if len(self._of_calls) >= MAX_PARENTS:
            del self._of_calls[next(iter(self._of_calls))]
        self._of_calls[call.id] = set_span_in_context(span)

    def _end_call(self, spans: _LaneSpans, event: ToolFinished, at: int) -> None:
        call, result = event.call, event.result
        child = self._lanes.get(call.id)
        if child is not None and not self._in_background(call.id):
            self._end_agent_of(call.id, at)
        span = spans.calls.pop(call.id, None)
        spans.contents.result(event)
        if span is None:
            return
        if self._content:
            span.set_attribute("gen_ai.tool.call.result", spans.contents.cut(tool_facts.result_text(result)))
        if event.denied or result.is_error:
            _fail(span, "denied" if event.denied else "tool_error")
        span.end(at)

    def _in_background(self, call_id: str) -> bool:
        lane = self._facts.children.get(call_id)
        return lane is not None and lane.child is not None and lane.child.background

    # ------------------------------------------------------------ small things

    def _provider(self, lane: Lane) -> str:
        own = lane.child.provider if lane.child is not None else ""
        return names.provider_name(own or self._facts.provider)

    def _attributes(self, operation: str, provider: str) -> dict[str, Any]:
        return {
            "gen_ai.operation.name": operation,
            names.PROVIDER: provider,
            "gen_ai.conversation.id": self._facts.session_id,
        }


def parent_of(env: Mapping[str, str]) -> Context | None:
    """The span of whoever started this process, as TRACEPARENT names it."""
    carrier = {name.lower(): env[name] for name in ("TRACEPARENT", "TRACESTATE") if name in env}
    if "traceparent" not in carrier:
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract(carrier)


def _name(lane: Lane) -> str:
    return "" if lane.child is None else lane.child.call_id


def _set_usage(span: Span, usage: Usage) -> None:
    """In the conventions the input includes what was read from a cache and written to it."""
    span.set_attributes(
        {
            "gen_ai.usage.input_tokens": usage.input + usage.cache_read + usage.cache_write,
            "gen_ai.usage.output_tokens": usage.output,
            "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
            "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
            **({"gen_ai.usage.reasoning.output_tokens": usage.reasoning} if usage.reasoning else {}),
        }
    )


def _fail(span: Span, kind: str) -> None:
    from opentelemetry.trace import Status, StatusCode

    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR))
