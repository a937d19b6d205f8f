"""The ports: what one room needs from another, as Protocols. Imported for type checking only (it needs `typing`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from yume_shim.types.blocks import Json, ToolCall
from yume_shim.types.calls import (
    PreparedCall,
)
from yume_shim.types.children import ChildLaunched, ChildRequest, ChildResult
from yume_shim.types.confinement import Confinement
from yume_shim.types.events import BlockDelta, Event, ModelEvent, Tagged
from yume_shim.types.file_patch import FilePatch
from yume_shim.types.hooks_port import Hooks as Hooks
from yume_shim.types.host_reply import HostReply
from yume_shim.types.models import Credential, Request, ToolSpec, WireRequest
from yume_shim.types.outputs import Answer, Decision, ToolContext, ToolOutput
from yume_shim.types.prompt_files import PromptFile
from yume_shim.types.tasks_port import BackgroundTasks as BackgroundTasks
from yume_shim.types.tasks_port import Task as Task
from yume_shim.types.watching import StreamStop

Emit = Callable[[Event], str]
"""Sends an event out (store, dialect, stdout) and returns the uuid it was given. Safe from any thread."""


class Clock(Protocol):
    """Time, so that goldens can fix it."""

    def now(self) -> float:
        """Wall-clock seconds."""
        ...

    def monotonic(self) -> float: ...

    def wait(self, cancel: Cancel, seconds: float) -> None:
        """Sleep; raises Cancelled when cancelled meanwhile."""
        ...

    def jitter(self) -> float:
        """A number in [-1, 1] for retry waits; 0 under a fixed clock."""
        ...


class Ids(Protocol):
    """Fresh ids, so that goldens can fix them."""

    def uuid(self) -> str: ...

    def uuids(self, count: int) -> list[str]:
        """What so many calls of `uuid` return."""
        ...

    def call_id(self) -> str:
        """An id for a tool call whose provider gave none, `^[A-Za-z0-9_-]{1,40}$`."""
        ...


class Cancel(Protocol):
    """A stop signal for one piece of work. Any thread may set it; the work stops within 100 ms."""

    def is_set(self) -> bool: ...

    def check(self) -> None:
        """Raise Cancelled if set."""
        ...

    def wait(self, seconds: float) -> bool:
        """Wait at most that long; True if set."""
        ...

    def guard(self, stop: Callable[[], None]) -> AbstractContextManager[None]:
        """While open, `stop` is called once when the signal is set (at once if it already is), from the thread that
        sets it. For closing sockets and killing processes that a blocking call waits on."""
        ...

    def hurries(self) -> bool:
        """Whether those who wait for stopped work lose patience soon."""
        ...

    def job(self, work: Callable[[], Any], name: str, depth: int = 0, blocked: Callable[[], bool] | None = None) -> Job:
        """Begin work on a thread of its own. It must heed the signal; if it goes on for longer than a grace time, it is
        abandoned. `depth`: how many loops are above it. `blocked`: whether the host does not read now."""
        ...


class Job(Protocol):
    """Work that has begun (`Cancel.job`)."""

    def result(self, limit: float | None = None) -> Any:
        """Wait, at most `limit` seconds; returns what the work returns, raises what it raises, or Abandoned."""
        ...


class Provider(Protocol):
    """A model. The stream never raises: failures, cancellation included, are a final ResponseFailed. Exactly one
    terminal event (ResponseEnded or ResponseFailed), and it is last."""

    def stream(self, request: Request, cancel: Cancel) -> Iterator[ModelEvent]: ...

    def close(self) -> None: ...


class FrameStream(Protocol):
    """An open response: headers, then frames. Iterating raises ProviderFailed when the connection breaks, Cancelled
    when cancelled; a clean end of body just ends. The frame `{"!done": True}` means an SSE `[DONE]`, `{"!bad": text}`
    means data that is not JSON."""

    headers: Mapping[str, str]
    over: Callable[[], bool]
    """Set by the reader of the frames: whether the answer is complete by what it says. Then a stream that
    can fails soon with a time-out if neither an end mark nor the end of the body comes."""

    def __iter__(self) -> Iterator[Json]: ...

    def reads(self) -> Iterator[list[Json]]:
        """The same frames; those that one network read has completed are in one list."""
        ...

    def close(self) -> None: ...


class Transport(Protocol):
    """How frames are fetched. `open` raises ProviderFailed for a status that is not 2xx and for network trouble."""

    def open(self, wire: WireRequest, cancel: Cancel) -> FrameStream: ...

    def close(self) -> None: ...


class ToolSource(Protocol):
    """Tools from one place: built in, an MCP server, agents, skills, structured output. It owns the state of its tools.
    `engine/toolbox.py` joins several of them. Safe from any thread: calls may run side by side."""

    own_schemas: bool
    """True: `prepare` validates the input itself. False: the toolbox validates it against the JSON Schema of the spec
    first, so that a source whose schemas come from elsewhere need not."""

    def specs(self) -> tuple[ToolSpec, ...]:
        """What the model is offered, in a stable order."""
        ...

    def find(self, name: str) -> ToolSpec | None:
        """By name or alias; None if this source does not offer it now."""
        ...

    def why_missing(self, name: str) -> str:
        """Why a tool of that name is not offered; "" if this source does not know it."""
        ...

    def complete(self, call: ToolCall, spec: ToolSpec, *, fix_arguments: bool = False) -> ToolCall:
        """The call with schema defaults applied to its input (unchanged if broken). `fix_arguments`: correct well-known
        wrong parameter names and objects sent as text first."""
        ...

    def prepare(self, call: ToolCall, spec: ToolSpec) -> PreparedCall:
        """Validate the input; raises ToolFailed(before_run=True)."""
        ...

    def run(self, prepared: PreparedCall, context: ToolContext) -> ToolOutput:
        """Run it; raises ToolFailed or Cancelled."""
        ...


class HostFiles(Protocol):
    """Files through the host, which may hold unsaved text of them. Paths are resolved and judged. Safe from any
    thread; both may raise Cancelled."""

    def read(self, path: str, cancel: Cancel) -> str | None:
        """The text as the host has it; None if it cannot say: then the file is read from disk."""
        ...

    def write(self, path: str, text: str, cancel: Cancel) -> bool:
        """Have the host write the file; False if it does not: then the file is written to disk."""
        ...


class FileCheckpoints(Protocol):
    """Restores what the file tools have changed, prompt by prompt."""

    def begin(self, prompt: str) -> None:
        """The prompt with this uuid begins: file changes from here on can be rewound to it."""
        ...

    def rewind(self, prompt: str, *, dry_run: bool) -> Json:
        """Restore files as they were before that prompt; raises ToolFailed."""
        ...


class PromptFiles(Protocol):
    """Commands and skills of files. Safe from any thread."""

    def all(self) -> tuple[PromptFile, ...]:
        """All of them, in the order in which they are listed."""
        ...

    def find(self, name: str) -> PromptFile | None: ...

    def refresh(self) -> bool:
        """Read the files again if they have changed; True if they have."""
        ...

    def listed(self) -> tuple[Json, ...]:
        """Those that a user may run, with descriptions and hints for arguments."""
        ...


class CallCheck(Protocol):
    """Says whether a call can succeed, from the first fields of its input."""

    needs: tuple[str, ...]
    """The fields that it looks at."""

    def __call__(self, fields: Json, cancel: Cancel) -> str:
        """Why the call cannot succeed; "" = it may. Reads what it needs once, if reading is permitted; never raises."""
        ...


class StreamWatcher(Protocol):
    """Sees the events of one answer while it streams, and may stop it. The work per event is bounded."""

    def see(self, event: ModelEvent) -> StreamStop | None: ...


class Spawn(Protocol):
    """Runs a child loop below a tool call and waits for its end. Raises ToolFailed when a limit forbids it, Cancelled
    when the call was interrupted."""

    def __call__(self, request: ChildRequest, call_id: str, cancel: Cancel) -> ChildResult: ...


class Launch(Protocol):
    """Starts a child loop in the background. Raises ToolFailed when a limit forbids it, Cancelled when the call was
    interrupted."""

    def __call__(self, request: ChildRequest, call_id: str, cancel: Cancel) -> ChildLaunched: ...


class ChildTools(Protocol):
    """Tools that live as long as one child: the servers of its definition."""

    def open(self, cancel: Cancel) -> ToolSource | None:
        """Start them, before the child's first request; None = there are none. Never raises."""
        ...

    def close(self) -> None: ...


class ChildOutput(Protocol):
    """Where the events of one child go: they carry the call id of their parent and go to a separate transcript."""

    transcript: str
    """The file that records it; "" = none."""

    def emit(self, event: Event) -> str: ...

    def close(self) -> None: ...


class Gate(Protocol):
    """Whether calls may run; it owns mode, rules and remembered answers."""

    def decide(self, call: ToolCall, spec: ToolSpec) -> Decision: ...

    def mode(self) -> str: ...

    def set_mode(self, mode: str) -> None:
        """Raises BadLine if the mode is unknown or may not be entered."""
        ...

    def apply(self, updates: tuple[Json, ...]) -> None:
        """Apply permission updates that came with an answer."""
        ...

    def grant(self, rules: tuple[str, ...]) -> None:
        """Allow what these rules cover until `end_grants`: the `allowed-tools` of a command or skill."""
        ...

    def end_grants(self) -> None:
        """The turn has ended: what was granted for it no longer holds."""
        ...

    def exact_rule_for(self, call: ToolCall, spec: ToolSpec) -> Json:
        """The update that allows the very same call for the rest of the session."""
        ...

    def remember(self, call: ToolCall, spec: ToolSpec, rules: tuple[str, ...]) -> tuple[str, ...]:
        """Allow what these rules cover, without any the very same call, for the rest of the session. Returns the rules.
        Raises BadLine."""
        ...

    def for_agent(self, mode: str) -> Gate:
        """The gate of an agent whose definition names a mode: the same rules, its own mode where that is allowed."""
        ...

    def directories(self) -> tuple[str, ...]:
        """The additional directories, for init."""
        ...

    def covers(self, rule: str, call: ToolCall, spec: ToolSpec) -> bool | None:
        """Whether this permission rule, taken as a deny rule, covers the call; None if the text is no rule."""
        ...

    def hides(self, path: str) -> bool:
        """Whether a rule hides this file from reading: memory files are left out then."""
        ...


class Confiner(Protocol):
    """What the operating system can enforce on commands. Safe from any thread."""

    def problem(self, confinement: Confinement) -> str:
        """Why a command cannot be confined like this; "" if it can."""
        ...

    def failed(self, command: str) -> bool:
        """Whether this very command failed in this session because it was confined."""
        ...


class Asker(Protocol):
    """Asks the host whether a call may run, and waits for the answer, a time-out or the cancel."""

    def can_ask(self) -> bool: ...

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
        """`emit` announces the question in place of the session's emitter: a child loop passes its own. `patch` is what
        the call would change."""
        ...


class HostChannel(Protocol):
    """Asks the host anything and waits for the end of the question. Safe from any thread."""

    def is_open(self) -> bool:
        """False once the host can no longer answer."""
        ...

    def ask(
        self,
        announce: Callable[[str], Event],
        *,
        timeout_s: float,
        cancel: Cancel,
        withdraw: Callable[[str], Event | None] | None = None,
        key: str = "",
        emit: Emit | None = None,
    ) -> HostReply:
        """`announce` makes the event of the question from its id, `withdraw` the one that follows a cancel. `key` is a
        second name under which the host may answer. `emit` replaces the session's emitter. Raises Cancelled."""
        ...


class Dialect(Protocol):
    """Events in, output objects out: pure and synchronous."""

    def feed(self, tagged: Tagged) -> list[Json]: ...

    def delta_lines(self, event: BlockDelta, uuids: Sequence[str]) -> list[bytes] | None:
        """The quick way for a delta of the main conversation: the same lines as `feed` returns for each of its pieces,
        as finished JSON with line ends; one for each piece or none at all. None: this delta must go through `feed`,
        piece by piece."""
        ...


class Store(Protocol):
    """Stores a session; receives the same events as the dialect. `feed` never raises."""

    def feed(self, tagged: Tagged) -> None: ...

    def close(self) -> None: ...


class KeySource(Protocol):
    """One key for an endpoint, and how to get it again after it was refused. Safe from any thread."""

    @property
    def fixed(self) -> bool:
        """The key never changes: looking it up again is pointless."""
        ...

    def known(self) -> Credential:
        """The credential as far as it is known without running a command; the key may be empty."""
        ...

    def get(self, cancel: Cancel) -> Credential:
        """The credential to send. Raises BadInvocation (kind "auth") when there is none, or Cancelled."""
        ...

    def renew(self, refused: Credential, cancel: Cancel) -> bool:
        """Look up the key again; True if it is no longer the refused one. Raises as `get` does."""
        ...
