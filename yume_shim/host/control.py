"""Answers the host's control requests: each gets exactly one answer, at once, also during a turn."""

from __future__ import annotations

import os

from yume_shim.types.errors import BadLine
from yume_shim.types.events import ControlAnswered
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping

    from yume_shim.types.blocks import Json
    from yume_shim.types.commands import ControlAsk
    from yume_shim.types.events import SessionInfo
    from yume_shim.types.ports import Emit

    Handler = Callable[[Json], "Json | ReplyThen | Later | None"]
    """Takes the request's body. Returns the answer's body (None = a bare success), or raises BadLine with a code."""

UNSUPPORTED = "unsupported_request"
FAILED = "internal_error"
MAX_LATER = 32
"""Requests that may be worked on at the same time."""
FINISH_STEP, FINISH_STEPS = 0.1, 150
"""Seconds and count of the steps in which the end of the input waits for answers: fifteen seconds, a little more than
the slowest request is allowed."""
TOO_MANY = "too many requests are being worked on: wait for their answers"


class ReplyThen(Value):
    """The body of the answer, and what to do after it was sent: an interrupt is answered before the lines it causes,
    the end of a session before the process ends."""

    body: Json | None
    after: Callable[[], None]


class Later(Value):
    """The answer takes time: `work` runs on a thread of its own, returns the body or raises BadLine."""

    work: Callable[[], Json | None]


class ControlResponder:
    """Answers requests by a table of handlers, subtype -> function. Called on the stdin reader's thread."""

    def __init__(self, emit: Emit, handlers: Mapping[str, Handler], log: Callable[[str, str], None]) -> None:
        self._emit = emit
        self._handlers = handlers
        self._log = log
        self._later: list[threading.Thread] = []
        """Work whose answer is outstanding. Only the reader's thread changes the list."""

    def finish(self, stopped: Callable[[], bool]) -> None:
        """Wait for outstanding answers at the end of the input, for a bounded time and until the process is stopped."""
        for _ in range(FINISH_STEPS):
            open_ones = [thread for thread in self._later if thread.is_alive()]
            if not open_ones or stopped():
                return
            open_ones[0].join(FINISH_STEP)

    def answer(self, ask: ControlAsk) -> None:
        """Emit the one answer to this request. Never raises because of a handler."""
        handler = self._handlers.get(ask.subtype)
        if handler is None:
            message = f"Unsupported control request subtype: {ask.subtype or 'undefined'}"
            self._emit(ControlAnswered(ask.id, error=message, error_code=UNSUPPORTED))
            return
        self._answer(ask, lambda: handler(ask.body))

    def _answer(self, ask: ControlAsk, handle: Callable[[], Json | ReplyThen | Later | None]) -> None:
        after: Callable[[], None] | None = None
        try:
            body = handle()
            if isinstance(body, Later):
                self._answer_later(ask, body.work)
                return
            if isinstance(body, ReplyThen):
                after = body.after
                body = body.body
            answered = ControlAnswered(ask.id, body)
        except BadLine as bad:
            answered = ControlAnswered(ask.id, error=bad.message, error_code=bad.code)
        except Exception as error:
            self._log("error", f"control request {ask.subtype} failed: {error!r}")
            answered = ControlAnswered(ask.id, error=f"{ask.subtype} failed: {error}", error_code=FAILED)
        self._emit(answered)
        if after is not None:
            self._run_after(ask.subtype, after)

    def _answer_later(self, ask: ControlAsk, work: Callable[[], Json | None]) -> None:
        import threading

        self._later = [thread for thread in self._later if thread.is_alive()]
        if len(self._later) >= MAX_LATER:
            raise BadLine(TOO_MANY, code="busy")
        thread = threading.Thread(target=self._answer, args=(ask, work), name="control-request", daemon=True)
        self._later.append(thread)
        thread.start()

    def _run_after(self, subtype: str, after: Callable[[], None]) -> None:
        try:
            after()
        except Exception as error:
            self._log("error", f"control request {subtype} failed after its answer: {error!r}")


def initialize_body(
    info: SessionInfo,
    models: tuple[Json, ...],
    version: str,
    commands: tuple[Json, ...] = (),
    styles: list[str] | None = None,
) -> Json:
    """The answer to `initialize`: all fields that the SDKs' types require, and no capability that we do not have.

    `version` is the version of the Claude CLI whose protocol this program speaks. `commands` are all slash commands,
    with descriptions and hints, `styles` the output styles that can be chosen.
    """
    return {
        "commands": list(commands),
        "agents": [{"name": name, "description": ""} for name in info.agents],
        "output_style": info.output_style,
        "available_output_styles": styles or ["default"],
        "models": list(models),
        "account": {"tokenSource": "none", "apiKeySource": info.api_key_source, "apiProvider": info.provider},
        "pid": os.getpid(),
        "claude_code_version": version,
        "current_permission_mode": info.permission_mode,
        "hook_on_failure_supported": True,
        "capabilities": [],
    }
