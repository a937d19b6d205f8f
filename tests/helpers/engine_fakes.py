"""Ports for engine tests: a provider that plays scripted streams, tools that are functions, a gate that is a table."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from tests.helpers.fakes import FakeClock, FakeIds
from tests.helpers.settings import settings_with
from yume_shim.engine.services import EngineServices
from yume_shim.engine.toolbox import Toolbox
from yume_shim.types.blocks import Text, Thinking, ToolCall
from yume_shim.types.calls import (
    AfterCall,
    BatchVerdict,
    BeforeCall,
    ModelSwitch,
    PreparedCall,
    PromptVerdict,
    StopVerdict,
)
from yume_shim.types.errors import Failure
from yume_shim.types.events import (
    BlockDelta,
    BlockEnded,
    BlockStarted,
    ResponseEnded,
    ResponseFailed,
    ResponseStarted,
    SessionInfo,
)
from yume_shim.types.models import Cost, Endpoint, ModelSpec, ToolSpec, Usage
from yume_shim.types.outputs import Answer, Decision, ToolOutput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from yume_shim.types.events import Event, ModelEvent, ToolFinished
    from yume_shim.types.file_patch import FilePatch
    from yume_shim.types.memory import MemoryFile
    from yume_shim.types.models import Cost, Request
    from yume_shim.types.outputs import ToolContext
    from yume_shim.types.ports import Cancel, Emit

SPEC = ModelSpec("test-model", Endpoint("test", "test-api", "http://localhost"), prices=(1.0, 10.0, 0.1, 2.0))
USAGE = Usage(10, 5)
HOLD = object()
"""In a script: wait here until cancelled."""


def says(text: str, *, index: int = 0) -> list[Any]:
    """A text block in two pieces."""
    half = len(text) // 2
    return [
        BlockStarted(index, Text("")),
        BlockDelta(index, "text", text[:half]),
        BlockDelta(index, "text", text[half:]),
        BlockEnded(index, Text(text)),
    ]


def calls(id: str, name: str, *, index: int = 0, **given: Any) -> list[Any]:
    """A tool call."""
    return [
        BlockStarted(index, ToolCall(id, name, {})),
        BlockDelta(index, "json", "{…}"),
        BlockEnded(index, ToolCall(id, name, given)),
    ]


def thinks(text: str, *, index: int = 0) -> list[Any]:
    """A thinking block."""
    return [BlockStarted(index, Thinking("")), BlockDelta(index, "thinking", text), BlockEnded(index, Thinking(text))]


def answer(*blocks: list[Any], stop: str = "end", usage: Usage = USAGE, given: bool = True) -> list[Any]:
    """A whole response."""
    words = {"end": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "pause": "pause_turn"}
    body = [event for part in blocks for event in part]
    return [
        ResponseStarted("msg_1", "test-model", Usage(usage.input)),
        *body,
        ResponseEnded(stop, words.get(stop, stop), usage, given),  # type: ignore[arg-type]
    ]


def fails(*before: Any, kind: str = "overloaded", retryable: bool = True, **more: Any) -> list[Any]:
    """A response that breaks after `before`."""
    return [*before, ResponseFailed(Failure(kind, f"{kind}!", retryable=retryable, **more))]  # type: ignore[arg-type]


class ScriptedProvider:
    """Plays one script per request; keeps the requests. A callable in a script is called on the way."""

    def __init__(self, *scripts: list[Any]) -> None:
        self.scripts = list(scripts)
        self.requests: list[Request] = []

    def stream(self, request: Request, cancel: Cancel) -> Iterator[ModelEvent]:
        self.requests.append(request)
        script = self.scripts.pop(0) if self.scripts else fails(kind="internal", retryable=False)
        for step in script:
            if step is HOLD:
                if not cancel.wait(20):
                    raise AssertionError("held for ever")
            elif callable(step):
                step()
                continue
            if cancel.is_set():
                yield ResponseFailed(Failure("cancelled", "stopped"))
                return
            yield step

    def close(self) -> None:
        pass


class FunctionTools:
    """A tool source of Python functions `(input, context) -> str`. `schemas` are checked by the toolbox."""

    own_schemas = False

    def __init__(self, **tools: Callable[[dict[str, Any], ToolContext], Any]) -> None:
        self.tools = tools
        self.parallel: set[str] = set()
        self.schemas: dict[str, dict[str, Any]] = {}

    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(
            ToolSpec(name, "", self.schemas.get(name, {"type": "object"}), parallel=name in self.parallel)
            for name in sorted(self.tools)
        )

    def find(self, name: str) -> ToolSpec | None:
        return next((spec for spec in self.specs() if spec.name == name), None)

    def why_missing(self, name: str) -> str:
        return ""

    def complete(self, call: ToolCall, spec: ToolSpec, *, fix_arguments: bool = False) -> ToolCall:
        return call

    def prepare(self, call: ToolCall, spec: ToolSpec) -> PreparedCall:
        return PreparedCall(call, spec, self)

    def run(self, prepared: PreparedCall, context: ToolContext) -> ToolOutput:
        return ToolOutput(str(self.tools[prepared.spec.name](prepared.call.input, context)), is_error=False)


class TableGate:
    """Verdicts by tool name; everything else is allowed."""

    def __init__(self, **verdicts: str) -> None:
        self.verdicts = verdicts
        self.updates: list[Any] = []
        self.granted: list[str] = []

    def decide(self, call: ToolCall, spec: ToolSpec) -> Decision:
        return Decision(self.verdicts.get(spec.name, "allow"), f"{spec.name} needs permission")  # type: ignore[arg-type]

    def covers(self, rule: str, call: ToolCall, spec: ToolSpec) -> bool | None:
        return None

    def mode(self) -> str:
        return "default"

    def set_mode(self, mode: str) -> None:
        raise NotImplementedError

    def apply(self, updates: tuple[Any, ...]) -> None:
        self.updates.extend(updates)

    def grant(self, rules: tuple[str, ...]) -> None:
        self.granted.extend(rules)

    def end_grants(self) -> None:
        self.granted.clear()

    def exact_rule_for(self, call: ToolCall, spec: ToolSpec) -> dict[str, Any]:
        return {"exactly": call.id}

    def remember(self, call: ToolCall, spec: ToolSpec, rules: tuple[str, ...]) -> tuple[str, ...]:
        self.updates.append({"remember": rules or (f"exactly {call.id}",)})
        return rules or (f"exactly {call.id}",)

    def for_agent(self, mode: str) -> TableGate:
        return self

    def directories(self) -> tuple[str, ...]:
        return ()

    def hides(self, path: str) -> bool:
        return False


class ScriptedAsker:
    """Answers in order; without answers the host cannot be asked."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)

    def can_ask(self) -> bool:
        return bool(self.answers)

    def ask(
        self,
        call: ToolCall,
        spec: ToolSpec,
        decision: Decision,
        cancel: Cancel,
        *,
        emit: Emit | None = None,
        patch: FilePatch | None = None,
    ) -> Answer:
        return self.answers.pop(0)


class Bench:
    """The engine with fakes in every port; `events` is what came out."""

    def __init__(
        self,
        provider: ScriptedProvider,
        tools: FunctionTools | None = None,
        gate: TableGate | None = None,
        asker: ScriptedAsker | None = None,
        **settings: Any,
    ) -> None:
        self.events: list[Event] = []
        self.logged: list[tuple[str, str]] = []
        self.clock = FakeClock()
        self.ids = FakeIds()
        self.provider = provider
        self.gate = gate or TableGate()
        self._lock = threading.Lock()
        self.services = EngineServices(
            settings=settings_with(
                **{"cwd": "/nowhere", "env": {"HOME": "/nowhere"}, "system_prompt": "be brief", **settings}
            ),
            emit=self.emit,
            clock=self.clock,
            ids=self.ids,
            toolbox=Toolbox((tools or FunctionTools(),)),
            gate=self.gate,
            asker=asker or ScriptedAsker(),
            provider_for=lambda spec: provider,
            cost=lambda spec, usage: Cost((usage.input + 10 * usage.output) / 1_000_000),
            log=lambda level, message: self.logged.append((level, message)),
        )

    def emit(self, event: Event) -> str:
        with self._lock:
            self.events.append(event)
        return self.ids.uuid()

    def kinds(self) -> list[str]:
        """Names of the events that somebody sees, runs of deltas collapsed."""
        names: list[str] = []
        for event in self.events:
            name = type(event).__name__
            if name != "FactNoted" and not (name == "BlockDelta" and names and names[-1] == name):
                names.append(name)
        return names

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


def info(spec: ModelSpec = SPEC, session_id: str = "s-1") -> SessionInfo:
    """A session's description."""
    return SessionInfo(session_id, "/nowhere", spec.endpoint.name, spec.id, "default", ())


class NoHooks:
    """Implements `types.ports.Hooks`: every answer changes nothing."""

    def has(self, *events: str) -> bool:
        return False

    def before(self, prepared: PreparedCall, cancel: Cancel) -> BeforeCall:
        return BeforeCall()

    def after(self, prepared: PreparedCall, output: ToolOutput, cancel: Cancel) -> AfterCall:
        return AfterCall(output)

    def permission(self, prepared: PreparedCall, decision: Decision, cancel: Cancel) -> Decision | None:
        return None

    def host_asked(self, prepared: PreparedCall) -> None:
        pass

    def batch_ended(self, results: Sequence[ToolFinished], cancel: Cancel) -> BatchVerdict:
        return BatchVerdict()

    def failed(self, failure: Failure, text: str, cancel: Cancel) -> None:
        pass

    def session_started(self, source: str, cancel: Cancel) -> tuple[str, ...]:
        return ()

    def prompt(self, text: str, cancel: Cancel) -> PromptVerdict:
        return PromptVerdict()

    def instructions_loaded(self, file: MemoryFile, cancel: Cancel) -> None:
        pass

    def expanding(self, kind: str, name: str, arguments: str, cancel: Cancel) -> PromptVerdict:
        return PromptVerdict()

    def model_switching(self, switch: ModelSwitch, cancel: Cancel) -> str | None:
        return None

    def model_switched(self, switch: ModelSwitch, cancel: Cancel) -> tuple[str, ...]:
        return ()

    def stopping(self, text: str, cancel: Cancel, *, active: bool) -> StopVerdict:
        return StopVerdict()

    def compacting(self, trigger: str, instructions: str, cancel: Cancel) -> str | None:
        return None

    def compacted(self, trigger: str, summary: str, cancel: Cancel) -> tuple[str, ...]:
        return ()

    def for_agent(self, agent_id: str, agent_type: str) -> NoHooks:
        return self

    def for_judge(self) -> NoHooks:
        return self

    def agent_started(self, cancel: Cancel) -> tuple[str, ...]:
        return ()

    def turn_ended(self) -> None:
        pass

    def session_ended(self, reason: str, cancel: Cancel) -> None:
        pass
