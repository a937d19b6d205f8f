"""One session of an ACP client: opened, run and closed on a thread of its own."""

from __future__ import annotations

import threading

from yume_shim.app.acp.files import ClientFiles
from yume_shim.app.acp.params import session_values, unknown_session
from yume_shim.app.acp.questions import Questions
from yume_shim.app.acp.turns import Turns
from yume_shim.host.json_rpc import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, BadMessage
from yume_shim.types.errors import BadInvocation, BadLine
from yume_shim.types.events import ModeChanged, SessionReady

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from yume_shim.app.acp.client import Client
    from yume_shim.app.acp.params import OpenParams, Values
    from yume_shim.app.output import OutputLink
    from yume_shim.app.shared_host import SessionControls
    from yume_shim.app.start import Startup
    from yume_shim.dialects.acp import AcpDialect
    from yume_shim.host.event_output import Listener
    from yume_shim.host.host_requests import HostRequests
    from yume_shim.host.json_rpc import RpcId, RpcReply
    from yume_shim.types.blocks import Json
    from yume_shim.types.commands import UserInput
    from yume_shim.types.effort import Effort
    from yume_shim.types.events import ApprovalAsked, Event, InterruptReason
    from yume_shim.types.ports import HostFiles

AUTH_REQUIRED = -32000


class AcpSession:
    """Opened by `start`, which answers the request that asked for it when the session can take prompts.

    Implements `app.shared_host.SharedHost`. Public methods run on the reader's thread; `attach`, `files` and the
    private ones on the session's. The lock guards the requests to close.
    """

    def __init__(
        self,
        id: RpcId,
        asked: OpenParams,
        values: Values,
        env: Mapping[str, str],
        client: Client,
        registry: Registry,
        listeners: Sequence[Listener] = (),
    ) -> None:
        self._id, self._asked, self._values, self._env = id, asked, values, env
        self._client, self._registry, self._listeners = client, registry, listeners
        self._lock = threading.Lock()
        self._closing: list[RpcId] = []
        self._stopped = False
        self._answered = False
        self._dialect: AcpDialect | None = None
        self._startup: Startup | None = None
        self._controls: SessionControls | None = None
        self._turns: Turns | None = None
        self._questions = Questions(client)
        self._thread = threading.Thread(target=self._run, name="acp-session", daemon=True)
        self.session_id = asked.session_id

    def start(self) -> None:
        """Open the session; the request is answered from its thread."""
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Wait for its end; False if that takes longer. One that a signal overtakes before its start has nothing to
        end."""
        if self._thread.ident is not None:
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def answer_rest(self, problem: BadMessage | None = None) -> None:
        """Answer every request that has no answer. `problem`: why the session could not be opened."""
        with self._lock:
            self._stopped = True
            closing, self._closing = self._closing, []
            opened, self._answered = self._answered, True
        if self._turns is not None:
            self._turns.close()
        if not opened:
            reason = problem or BadMessage(INVALID_REQUEST, "Invalid request: the session was closed")
            self._client.refuse(BadMessage(reason.code, reason.message, self._id, reason.data))
        for id in closing:
            self._client.answer(id, {})

    @property
    def open(self) -> bool:
        """Can it take prompts?"""
        return self._turns is not None and not self._stopped

    # ------------------------------------------------------------ requests

    def prompt(self, id: RpcId, prompt: UserInput) -> None:
        """Run a prompt. Raises BadMessage."""
        self._ready_turns().submit(id, prompt)

    def cancel(self) -> None:
        """Stop what runs."""
        if self._turns is not None:
            self._turns.cancel()

    def cancel_request(self, id: RpcId) -> bool:
        """Stop the prompt of this request; False if it is none of this session."""
        return self._turns is not None and self._turns.cancel_request(id)

    def running(self) -> bool:
        """Is a prompt unanswered?"""
        return self._turns is not None and self._turns.running()

    def take_reply(self, reply: RpcReply) -> bool:
        """The client's answer to a question; False if it is none of this session's."""
        return self._questions.take(reply)

    def set_mode(self, mode: str) -> None:
        """Change the permission mode. Raises BadMessage."""
        controls = self._ready_controls()
        try:
            controls.gate.set_mode(mode)
        except BadLine as bad:
            raise BadMessage(INVALID_PARAMS, f"Invalid params: {bad.message}") from None
        controls.emit(ModeChanged(controls.gate.mode()))

    def set_model(self, model: str) -> None:
        """Change the model from the next turn on. Raises BadMessage."""
        try:
            self._ready_controls().session.use_model(model)
        except BadInvocation as error:
            raise BadMessage(INVALID_PARAMS, f"Invalid params: {error.message}") from None

    def set_effort(self, effort: str) -> None:
        """Change the reasoning effort from the next request on. Raises BadMessage."""
        from yume_shim.dialects.acp_state import NO_EFFORT
        from yume_shim.types.effort import EFFORTS

        level: Effort | None = next((each for each in EFFORTS if each == effort), None)
        if level is None and effort != NO_EFFORT:
            raise BadMessage(INVALID_PARAMS, f"Invalid params: effort must be {NO_EFFORT}, {', '.join(EFFORTS)}")
        self._ready_controls().session.use_effort(level)
        if self._dialect is not None:
            self._dialect.choose_effort(effort)

    def state(self) -> Json:
        """Modes and options, for answers."""
        self._ready_controls()
        return self._dialect.state() if self._dialect is not None else {}

    def close(self, id: RpcId | None = None, reason: InterruptReason = "user") -> None:
        """Stop what runs and end the session; `id` is answered when it has ended."""
        with self._lock:
            if id is not None:
                self._closing.append(id)
            first, self._stopped = not self._stopped, True
        if first and self._controls is not None:
            self._controls.stop(reason)

    def _ready_turns(self) -> Turns:
        if self._turns is None or self._stopped:
            raise self._not_ready()
        return self._turns

    def _ready_controls(self) -> SessionControls:
        if self._controls is None or self._stopped:
            raise self._not_ready()
        return self._controls

    def _not_ready(self) -> BadMessage:
        state = "closed" if self._stopped else "still being opened: wait for the answer"
        return BadMessage(INVALID_REQUEST, f"Invalid request: session {self.session_id} is {state}")

    # ------------------------------------------------------------ the session's thread

    def _run(self) -> None:
        problem: BadMessage | None = None
        try:
            self._open_and_run()
        except BadMessage as bad:
            problem = bad
        except BadInvocation as error:
            problem = BadMessage(AUTH_REQUIRED if error.kind == "auth" else INVALID_PARAMS, error.message)
        except Exception as error:  # a defect must not leave the client waiting
            problem = BadMessage(INTERNAL_ERROR, f"Internal error: the session ended: {error!r}")
        finally:
            self._finish(problem)

    def _open_and_run(self) -> None:
        from yume_shim.app.program import Program
        from yume_shim.app.resume import NoConversation
        from yume_shim.app.start import Startup
        from yume_shim.config.build import build_settings
        from yume_shim.config.setting_sources import SettingSources
        from yume_shim.host.log import Log

        asked = self._asked
        log = Log("-", self._env.get("YUME_LOG", "warning"))
        values = session_values(self._values, asked)
        sources = SettingSources(values, (), flat=True, env=self._env, cwd=asked.cwd, log=log)
        try:
            startup = Startup(build_settings(sources), True, (self._questions.note, *self._listeners), self._link)
        except NoConversation as error:
            raise unknown_session(error.session_id) from None
        self._startup = startup
        self.session_id = startup.opened.session_id
        self._registry.add(self)
        Program(startup, lambda: self._stopped, self).run()

    def _link(self, startup: Startup) -> OutputLink:
        from yume_shim.app.acp.menu import model_menu
        from yume_shim.app.output import OutputLink
        from yume_shim.dialects.acp import AcpDialect

        permissions = startup.settings.permissions
        self._dialect = AcpDialect(
            startup.opened.session_id,
            startup.settings.cwd,
            model_menu(startup),
            bypass=permissions.allow_bypass and not permissions.no_bypass,
            titled=startup.opened.stored is not None,
            elicits=self._client.elicits,
        )
        return OutputLink(self._client.writer, self._dialect, self._after)

    def files(self, channel: HostRequests) -> HostFiles | None:
        """Files through the client, if it offers that."""
        self._questions.answer = channel.answer
        if not self._client.reads_files and not self._client.writes_files:
            return None
        return ClientFiles(channel, self._client)

    def attach(self, controls: SessionControls) -> None:
        """The session is open: show its conversation, answer the request, announce its commands."""
        dialect, startup = self._dialect, self._startup
        assert dialect is not None
        assert startup is not None
        info = controls.session.info()
        dialect.start(info, controls.commands())
        stored = startup.opened.stored
        if self._asked.kind == "load" and stored is not None:
            self._client.writer.write(dialect.replay(stored.history))
        self._questions.deny_always = self._deny_always
        self._turns = Turns(self._client, controls.session)
        state = dialect.state()
        if self._asked.kind == "new":
            state = {"sessionId": self.session_id, **state}
        with self._lock:
            self._controls, stopped = controls, self._stopped
            answered, self._answered = self._answered, True
        if not answered:  # otherwise the program ends
            self._client.answer(self._id, state)
            controls.emit(SessionReady(info))
        if stopped:  # closed while it was being opened
            controls.stop("user")

    def _after(self, event: Event) -> None:
        if self._turns is not None:
            self._turns.after(event)

    def _deny_always(self, asked: ApprovalAsked) -> None:
        """A rule of this session that denies exactly this call."""
        controls = self._controls
        spec = controls.find_tool(asked.call.name) if controls is not None else None
        if controls is not None and spec is not None:
            controls.gate.apply(({**controls.gate.exact_rule_for(asked.call, spec), "behavior": "deny"},))

    def _finish(self, problem: BadMessage | None) -> None:
        """The session has ended, or could not be opened: every request gets its answer."""
        self._registry.forget(self)
        self.answer_rest(problem)
        if self._startup is not None:
            self._startup.close()
        self._registry.remove(self)


class Registry:
    """The sessions of a process by id. `add`, `forget` and `remove` run on the sessions' threads, the others on the
    reader's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._living: list[AcpSession] = []
        self._ending: list[AcpSession] = []
        self._by_id: dict[str, AcpSession] = {}

    def expect(self, session: AcpSession) -> None:
        """A session that is about to be opened."""
        with self._lock:
            self._living.append(session)
            if session.session_id:
                self._by_id[session.session_id] = session

    def add(self, session: AcpSession) -> None:
        """The session has its id."""
        with self._lock:
            self._by_id[session.session_id] = session

    def forget(self, session: AcpSession) -> None:
        """The session takes no requests any more; those that wait are still to be answered."""
        with self._lock:
            if session in self._living:
                self._living.remove(session)
                self._ending.append(session)
            if self._by_id.get(session.session_id) is session:
                del self._by_id[session.session_id]

    def remove(self, session: AcpSession) -> None:
        """The session has ended, and everything is answered."""
        with self._lock:
            if session in self._ending:
                self._ending.remove(session)

    def unfinished(self) -> tuple[AcpSession, ...]:
        """Those that have an answer to give before the program may end."""
        with self._lock:
            return (*self._living, *self._ending)

    def find(self, session_id: str) -> AcpSession | None:
        """The session of this id, if it is open or being opened."""
        with self._lock:
            return self._by_id.get(session_id)

    def all(self) -> tuple[AcpSession, ...]:
        """Every session that takes requests, or is being opened."""
        with self._lock:
            return tuple(self._living)
