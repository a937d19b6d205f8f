"""Runs `yume-shim acp`: reads JSON-RPC messages, passes each to its session, ends when the client is gone."""

from __future__ import annotations

import threading

from yume_shim import __version__
from yume_shim.app.acp.client import Client
from yume_shim.host.json_rpc import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    BadMessage,
    RpcNotification,
    RpcReply,
    RpcRequest,
    long_message,
    parse_message,
)
from yume_shim.host.reader import MAX_INPUT_LINE, LineReader
from yume_shim.host.writer import STDOUT, LineWriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from yume_shim.app.acp.params import Values
    from yume_shim.app.acp.session import AcpSession, Registry
    from yume_shim.host.event_output import Listener
    from yume_shim.host.json_rpc import RpcMessage
    from yume_shim.types.blocks import Json
    from yume_shim.types.events import InterruptReason

    Handler = Callable[[RpcRequest], None]

STDIN = 0
PROTOCOL_VERSION = 1
MAX_LINE_BYTES = 32 << 20
"""Of what we write; the clients' readers take as much. Texts are bounded far below, so nothing is cut."""
MAX_SESSIONS = 64
SHUTDOWN_S = 2.0
"""How long an orderly end may take."""
CAPABILITIES: Json = {
    "loadSession": True,
    "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
    "mcpCapabilities": {"http": True, "sse": True},
    "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}, "additionalDirectories": {}},
}


def run(values: Values, env: Mapping[str, str], listeners: Sequence[Listener] = ()) -> int:
    """Serve one client until it closes the input; returns the exit code. `listeners` receive every event of every
    session before it is printed."""
    from yume_shim.host.imports import one_at_a_time
    from yume_shim.host.signals import EXIT_CODES, Signals

    one_at_a_time()  # the reader and the main thread import at the same time
    deadline = None
    if values.get("deadline") or env.get("YUME_DEADLINE"):
        from yume_shim.app.acp.deadline import ServerDeadline

        deadline = ServerDeadline(values, env)
        if deadline.problem:
            return deadline.refuse()
    server = AcpServer(values, env, listeners)
    signals = Signals(server.on_signal, SHUTDOWN_S)
    signals.install()
    LineReader(STDIN, server.take_line, server.end, server.take_long).start()
    if deadline is not None:
        deadline.start(server.expire)
    server.wait()
    signals.settle()
    code = deadline.exit_code if deadline is not None else 0
    return EXIT_CODES.get(signals.first, code)


class AcpServer:
    """`take_line`, `take_long` and `end` run on the reader's thread, `on_signal` on the one of signals, `wait` on the
    main thread. Sessions have threads of their own."""

    def __init__(self, values: Values, env: Mapping[str, str], listeners: Sequence[Listener] = ()) -> None:
        self._values, self._env, self._listeners = values, env, listeners
        self._client = Client(LineWriter(STDOUT, MAX_LINE_BYTES, wide_escapes=False, on_gone=self._stop))
        self._registry: Registry | None = None
        self._ended = threading.Event()
        self._introduced = threading.Event()
        self._handlers: Mapping[str, Handler] = {
            "initialize": self._initialize,
            "authenticate": self._authenticate,
            "session/new": lambda request: self._open("new", request),
            "session/load": lambda request: self._open("load", request),
            "session/resume": lambda request: self._open("resume", request),
            "session/list": self._list,
            "session/close": self._close,
            "session/delete": self._delete,
            "session/prompt": self._prompt,
            "session/set_mode": self._set_mode,
            "session/set_config_option": self._set_option,
        }

    def wait(self) -> None:
        """Load what sessions need while the client reads the first answer; then wait for the end."""
        self._introduced.wait()
        if not self._ended.is_set():
            self._client.writer.watch_reader()
            __import__("yume_shim.app.start")
            __import__("yume_shim.app.program")
        self._ended.wait()
        unfinished = self._registry.unfinished() if self._registry is not None else ()
        stuck = [session for session in unfinished if not session.wait(SHUTDOWN_S)]
        answering = [threading.Thread(target=session.answer_rest, daemon=True) for session in stuck]
        for thread in answering:
            thread.start()
        for thread in answering:  # the client may not read
            thread.join(SHUTDOWN_S)
        self._client.writer.drain(SHUTDOWN_S)

    def on_signal(self, _: str) -> None:
        """Stop everything and end."""
        self._stop()

    # ------------------------------------------------------------ the reader's thread

    def take_line(self, line: bytes) -> None:
        """Handle one message. Never raises, whatever the line contains."""
        try:
            message = parse_message(line)
            if message is not None:
                self._take(message)
        except BadMessage as bad:
            self._client.refuse(bad)

    def take_long(self, head: bytes) -> None:
        """A line over the size limit was dropped; `head` is its start."""
        found = long_message(head, MAX_INPUT_LINE)
        if isinstance(found, RpcReply):
            self._reply(found)
        else:
            self._client.refuse(found)

    def end(self) -> None:
        """The client closed the input: nobody waits for an answer any more."""
        self._stop()

    def expire(self) -> None:
        """The deadline is over: running prompts end with an error that says so; then the program ends."""
        self._stop("deadline")

    def _stop(self, reason: InterruptReason = "user") -> None:
        for session in self._sessions():
            session.close(reason=reason)
        self._ended.set()
        self._introduced.set()

    def _sessions(self) -> tuple[AcpSession, ...]:
        return self._registry.all() if self._registry is not None else ()

    def _take(self, message: RpcMessage) -> None:
        match message:
            case RpcReply():
                self._reply(message)
            case RpcNotification():
                self._notice(message)
            case RpcRequest():
                try:
                    self._answer(message)
                except BadMessage as bad:
                    raise BadMessage(bad.code, bad.message, message.id, bad.data) from None
                except Exception as error:  # a defect must not leave the client waiting
                    raise BadMessage(INTERNAL_ERROR, f"Internal error: {error!r}", message.id) from None

    def _answer(self, request: RpcRequest) -> None:
        handler = self._handlers.get(request.method)
        if handler is None:
            raise BadMessage(METHOD_NOT_FOUND, f"Method not found: {request.method[:100]}")
        if request.method != "initialize" and not self._client.initialized:
            raise BadMessage(INVALID_REQUEST, "Invalid request: send `initialize` first")
        handler(request)

    def _reply(self, reply: RpcReply) -> None:
        """An answer to none of our questions is ignored: the question may have been withdrawn."""
        any(session.take_reply(reply) for session in self._sessions())

    def _notice(self, message: RpcNotification) -> None:
        """Unknown notifications are ignored, as JSON-RPC asks."""
        if message.method == "session/cancel":
            session = self._find(message.params)
            if session is not None:
                session.cancel()
        elif message.method == "$/cancel_request":
            id = message.params.get("requestId")
            any(session.cancel_request(id) for session in self._sessions())

    # ------------------------------------------------------------ requests

    def _initialize(self, request: RpcRequest) -> None:
        version = request.params.get("protocolVersion")
        if not isinstance(version, int) or isinstance(version, bool):
            from yume_shim.app.acp.params import bad_params

            raise bad_params("`protocolVersion` must be a number")
        self._client.introduce(request.params.get("clientCapabilities"))
        self._client.answer(
            request.id,
            {
                "protocolVersion": PROTOCOL_VERSION,
                "agentCapabilities": CAPABILITIES,
                "agentInfo": {"name": "yume-shim", "title": "yume-shim", "version": __version__},
                "authMethods": [],
            },
        )
        self._introduced.set()

    def _authenticate(self, request: RpcRequest) -> None:
        from yume_shim.app.acp.params import bad_params

        raise bad_params("there are no authentication methods: keys come from the environment or the configuration")

    def _open(self, kind: str, request: RpcRequest) -> None:
        from yume_shim.app.acp.params import open_params
        from yume_shim.app.acp.session import AcpSession, Registry

        asked = open_params(kind, request.params)  # type: ignore[arg-type]  # one of the three in the table
        if self._registry is None:
            self._registry = Registry()
        if len(self._registry.all()) >= MAX_SESSIONS:
            raise BadMessage(INVALID_REQUEST, f"{MAX_SESSIONS} sessions are open already: close one")
        before = self._registry.find(asked.session_id) if asked.session_id else None
        if before is not None and before.open and kind == "resume":
            self._client.answer(request.id, before.state())
            return
        if before is not None:
            raise BadMessage(
                INVALID_REQUEST, f"Invalid request: session {asked.session_id} is open already: close it first"
            )
        session = AcpSession(request.id, asked, self._values, self._env, self._client, self._registry, self._listeners)
        self._registry.expect(session)
        session.start()
        if self._ended.is_set():
            session.close()

    def _list(self, request: RpcRequest) -> None:
        from yume_shim.app.acp.listing import list_sessions

        list_sessions(request, self._values, self._env, self._client)

    def _close(self, request: RpcRequest) -> None:
        self._known(request.params).close(request.id)

    def _delete(self, request: RpcRequest) -> None:
        from yume_shim.app.acp.listing import delete_session
        from yume_shim.app.acp.params import session_param

        session_id = session_param(request.params)
        if self._find(request.params) is not None:
            raise BadMessage(INVALID_REQUEST, f"Invalid request: session {session_id} is open: close it first")
        delete_session(request, session_id, self._values, self._env, self._client)

    def _prompt(self, request: RpcRequest) -> None:
        from yume_shim.host.acp_prompt import read_prompt
        from yume_shim.host.ids import random_uuid

        session = self._known(request.params)
        session.prompt(request.id, read_prompt(request.params.get("prompt"), random_uuid()))

    def _set_mode(self, request: RpcRequest) -> None:
        from yume_shim.app.acp.params import text_param

        self._known(request.params).set_mode(text_param(request.params, "modeId"))
        self._client.answer(request.id, {})

    def _set_option(self, request: RpcRequest) -> None:
        from yume_shim.app.acp.params import bad_params, text_param
        from yume_shim.dialects.acp_state import EFFORT_OPTION, MODE_OPTION, MODEL_OPTION

        session = self._known(request.params)
        option, chosen = text_param(request.params, "configId"), text_param(request.params, "value")
        if option == MODE_OPTION:
            session.set_mode(chosen)
        elif option == MODEL_OPTION:
            session.set_model(chosen)
        elif option == EFFORT_OPTION:
            session.set_effort(chosen)
        else:
            known = f"{MODE_OPTION}, {MODEL_OPTION}, {EFFORT_OPTION}"
            raise bad_params(f"there is no option {option[:100]!r} (there are {known})")
        self._client.answer(request.id, {"configOptions": session.state()["configOptions"]})

    def _known(self, params: Json) -> AcpSession:
        from yume_shim.app.acp.params import text_param, unknown_session

        session_id = text_param(params, "sessionId")
        session = self._find(params)
        if session is None:
            raise unknown_session(session_id)
        return session

    def _find(self, params: Json) -> AcpSession | None:
        session_id = params.get("sessionId")
        if self._registry is None or not isinstance(session_id, str):
            return None
        return self._registry.find(session_id)
