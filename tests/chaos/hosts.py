"""The words that a host says in each dialect, and how it answers questions about calls."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Protocol

from tests.chaos.plan import SLASH

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.chaos.plan import Plan

    Send = Callable[[object], bool]
    """False if the input is closed already."""

HUGE = 3_000_000
LATE = 0.3
SPARE = "spare/model-2"
"""The fallback model, if there is one."""
LATER = ("prompt", "huge", "slash", "clear", "compact", "interrupt", "model", "switch", "mode")
"""What waits until an ACP session is open."""
OPENED = b'{"jsonrpc":"2.0","id":2,"result":'
"""The answer to `session/new`, an ACP host's second request."""


class Host(Protocol):
    """One dialect."""

    asked: list[int]
    """Ids of requests that must be answered."""

    @property
    def opened(self) -> bool:
        """A session is there, so that what is said reaches it."""
        ...

    def begin(self) -> None:
        """What comes before everything else."""

    def prompt(self, text: str) -> bytes:
        """The line of a prompt."""
        ...

    def act(self, kind: str, body: Any) -> None:
        """Send the lines of an action."""

    def hear(self, line: bytes) -> bool:
        """A line of the program: questions are answered. True if it ends a turn."""
        ...


class FlatHost:
    """Speaks the flat dialect."""

    opened = True

    def __init__(self, plan: Plan, send: Send, _: str) -> None:
        self._plan, self._send = plan, send
        self.asked: list[int] = []

    def begin(self) -> None:
        if self._plan.asks:
            self._send({"type": "set_permission_mode", "mode": "interactive"})

    def prompt(self, text: str) -> bytes:
        return _line({"type": "user", "content": text})

    def act(self, kind: str, body: Any) -> None:
        match kind:
            case "prompt":
                self._send({"type": "user", "content": f"Go on {body}"})
            case "huge":
                self._send({"type": "user", "content": "z" * HUGE})
            case "slash":
                self._send({"type": "user", "content": _slash(body)})
            case "clear" | "compact":
                self._send({"type": kind})
            case "switch":
                self._send({"type": "set_model", "model": SPARE})
            case "interrupt" | "ping":
                self._send({"type": kind})
            case "model":
                self._send({"type": "set_model", "model": "other"})
            case "mode":
                self._send({"type": "set_permission_mode", "mode": "acceptEdits"})
            case "control":
                self._send(_control({"subtype": f"unknown_{body}"}))
            case _:
                self._send({"type": "no_such_type", "value": body})

    def hear(self, line: bytes) -> bool:
        if b'"approval_needed"' in line:
            asked = json.loads(line)
            for answer in _answers(self._plan.reply):
                self._send({"type": "tool_approval", "id": asked["tool_use_id"], **answer})
        return line.startswith(b'{"type":"message_stop"')


class NestedHost:
    """Speaks stream-json."""

    opened = True

    def __init__(self, plan: Plan, send: Send, _: str) -> None:
        self._plan, self._send = plan, send
        self.asked: list[int] = []

    def begin(self) -> None:
        if self._plan.seed % 2:
            self._send(_control({"subtype": "initialize"}))

    def prompt(self, text: str) -> bytes:
        return _line({"type": "user", "message": {"role": "user", "content": text}})

    def act(self, kind: str, body: Any) -> None:
        match kind:
            case "prompt":
                self._send({"type": "user", "message": {"role": "user", "content": f"Go on {body}"}})
            case "huge":
                self._send({"type": "user", "message": {"role": "user", "content": "z" * HUGE}})
            case "slash" | "clear" | "compact":
                command = _slash(body) if kind == "slash" else f"/{kind}"
                self._send({"type": "user", "message": {"role": "user", "content": command}})
            case "switch":
                self._send(_control({"subtype": "set_model", "model": SPARE}))
            case "interrupt":
                self._send(_control({"subtype": "interrupt"}))
            case "model":
                self._send(_control({"subtype": "set_model", "model": "x"}))
            case "mode":
                self._send(_control({"subtype": "set_permission_mode", "mode": "acceptEdits"}))
            case "ping":
                self._send({"type": "keep_alive"})
            case "control":
                self._send(_control({"subtype": f"unknown_{body}"}))
            case _:
                self._send({"type": "no_such_type", "value": body})

    def hear(self, line: bytes) -> bool:
        if b'"can_use_tool"' in line and line.startswith(b'{"type":"control_request"'):
            asked = json.loads(line)
            for answer in _answers(self._plan.reply):
                allowed = {"behavior": "allow", "updatedInput": asked["request"]["input"]}
                said = allowed if answer.get("approved") is True else {"behavior": "deny", "message": "no"}
                if "approved" not in answer:
                    said = {"behavior": 7}
                response = {"subtype": "success", "request_id": asked["request_id"], "response": said}
                self._send({"type": "control_response", "response": response})
        return line.startswith(b'{"type":"result"')


class NoHost:
    """Has given its prompt on the command line, and only waits."""

    opened = False

    def __init__(self, _: Plan, __: Send, ___: str) -> None:
        self.asked: list[int] = []

    def begin(self) -> None:
        pass

    def prompt(self, text: str) -> bytes:
        return b""

    def act(self, kind: str, body: Any) -> None:
        pass

    def hear(self, line: bytes) -> bool:
        return line.startswith(b'{"type":"result"')


class AcpHost:
    """Speaks the Agent Client Protocol. Prompts that come before the session is open wait for it."""

    def __init__(self, plan: Plan, send: Send, work: str) -> None:
        self._plan, self._send, self._work = plan, send, work
        self._number = 0
        self._session = ""
        self._waiting: list[tuple[str, Any]] = []
        self.asked: list[int] = []

    @property
    def opened(self) -> bool:
        return bool(self._session)

    def begin(self) -> None:
        self._ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        self._ask("session/new", {"cwd": self._work, "mcpServers": []})

    def prompt(self, text: str) -> bytes:
        self._number += 1
        self.asked.append(self._number)
        params = {"sessionId": self._session, "prompt": [{"type": "text", "text": text}]}
        return _line({"jsonrpc": "2.0", "id": self._number, "method": "session/prompt", "params": params})

    def act(self, kind: str, body: Any) -> None:
        if not self._session and kind in LATER:
            self._waiting.append((kind, body))
            return
        params: dict[str, Any] = {"sessionId": self._session}
        match kind:
            case "prompt":
                self._ask("session/prompt", {**params, "prompt": [{"type": "text", "text": f"Go on {body}"}]})
            case "huge":
                self._ask("session/prompt", {**params, "prompt": [{"type": "text", "text": "z" * HUGE}]})
            case "slash" | "clear" | "compact":
                command = _slash(body) if kind == "slash" else f"/{kind}"
                self._ask("session/prompt", {**params, "prompt": [{"type": "text", "text": command}]})
            case "interrupt":
                self._send({"jsonrpc": "2.0", "method": "session/cancel", "params": params})
            case "model" | "switch":
                name = SPARE if kind == "switch" else "x"
                self._ask("session/set_config_option", {**params, "configId": "model", "value": name})
            case "mode":
                self._ask("session/set_mode", {**params, "modeId": "acceptEdits"})
            case "ping":
                self._send({"jsonrpc": "2.0", "method": "no/such", "params": params})
            case "control":
                self._ask(f"unknown/{body}", params)
            case _:
                self._send({"jsonrpc": "2.0", "id": {"odd": 1}, "result": 7})

    def hear(self, line: bytes) -> bool:
        if b'"session/request_permission"' in line[:200]:
            asked = json.loads(line)
            for answer in _answers(self._plan.reply):
                self._permit(asked, answer)
            return False
        if not self._session and line.startswith(OPENED):
            self._session = json.loads(line)["result"]["sessionId"]
            waiting, self._waiting = self._waiting, []
            for kind, body in waiting:
                self.act(kind, body)
        return b'"stopReason"' in line

    def _permit(self, asked: dict[str, Any], answer: dict[str, Any]) -> None:
        wanted = "allow_once" if answer.get("approved") is True else "reject_once"
        found = [option["optionId"] for option in asked["params"]["options"] if option["kind"] == wanted]
        outcome = {"outcome": "selected", "optionId": found[0] if "approved" in answer and found else "nonsense"}
        self._send({"jsonrpc": "2.0", "id": asked["id"], "result": {"outcome": outcome}})

    def _ask(self, method: str, params: dict[str, Any]) -> None:
        self._number += 1
        number = self._number
        if self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params}):
            self.asked.append(number)


HOSTS: dict[str, Callable[[Plan, Send, str], Host]] = {
    "flat": FlatHost,
    "stream-json": NestedHost,
    "acp": AcpHost,
    "text": NoHost,
    "json": NoHost,
}


def _answers(reply: str) -> list[dict[str, Any]]:
    """What the host says to a question: nothing, one answer, or two that contradict each other."""
    if reply == "late":
        time.sleep(LATE)
    known: dict[str, list[dict[str, Any]]] = {
        "allow": [{"approved": True}],
        "deny": [{"approved": False, "reason": "no"}],
        "garbage": [{"nonsense": 1}],
        "twice": [{"approved": True}, {"approved": False}],
        "late": [{"approved": True}],
        "nothing": [],
    }
    return known[reply]


def _slash(body: float) -> str:
    return SLASH[int(body * len(SLASH))]


def _line(line: object) -> bytes:
    return json.dumps(line).encode() + b"\n"


def _control(body: dict[str, Any]) -> dict[str, Any]:
    return {"type": "control_request", "request_id": f"r-{time.monotonic_ns()}", "request": body}
