"""Every control request gets exactly one answer."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from yume_shim.host.control import ControlResponder, ReplyThen, initialize_body
from yume_shim.types.commands import ControlAsk
from yume_shim.types.errors import BadLine
from yume_shim.types.events import ControlAnswered, SessionInfo

if TYPE_CHECKING:
    from yume_shim.types.blocks import Json
    from yume_shim.types.events import Event


class Recorder:
    """A responder with a handler of each kind; records what happens, in order."""

    def __init__(self) -> None:
        self.happened: list[Any] = []
        handlers = {
            "echo": lambda body: {"got": body["x"]},
            "bare": lambda _: None,
            "refuse": self.refuse,
            "crash": lambda body: body["missing"],
            "interrupt": lambda _: ReplyThen({"still_queued": []}, lambda: self.happened.append("stopped")),
            "late_crash": lambda _: ReplyThen(None, self.late),
        }
        self.responder = ControlResponder(
            self.emit, handlers, lambda level, message: self.happened.append((level, message))
        )

    def emit(self, event: Event) -> str:
        self.happened.append(event)
        return "uuid"

    def refuse(self, body: Json) -> Json:
        raise BadLine("no such mode", code="invalid_mode")

    def late(self) -> None:
        raise RuntimeError("late")


UNSUPPORTED = "Unsupported control request subtype: "


@pytest.mark.parametrize(
    ("ask", "happened"),
    [
        (ControlAsk("r", "echo", {"x": 1}), [ControlAnswered("r", {"got": 1})]),
        (ControlAsk(None, "bare", {}), [ControlAnswered(None)]),
        (ControlAsk("r", "refuse", {}), [ControlAnswered("r", None, "no such mode", "invalid_mode")]),
        (
            ControlAsk("r", "crash", {}),
            [
                ("error", "control request crash failed: KeyError('missing')"),
                ControlAnswered("r", None, "crash failed: 'missing'", "internal_error"),
            ],
        ),
        (ControlAsk("r", "interrupt", {}), [ControlAnswered("r", {"still_queued": []}), "stopped"]),
        (
            ControlAsk("r", "late_crash", {}),
            [
                ControlAnswered("r"),
                ("error", "control request late_crash failed after its answer: RuntimeError('late')"),
            ],
        ),
        (ControlAsk("r", "fly", {}), [ControlAnswered("r", None, UNSUPPORTED + "fly", "unsupported_request")]),
        (ControlAsk("r", "", {}), [ControlAnswered("r", None, UNSUPPORTED + "undefined", "unsupported_request")]),
    ],
)
def test_answers(ask: ControlAsk, happened: list[Any]) -> None:
    recorder = Recorder()
    recorder.responder.answer(ask)
    assert recorder.happened == happened


def test_initialize_body() -> None:
    info = SessionInfo("s", "/w", "openai", "gpt", "plan", ("Read",), "OPENAI_API_KEY", agents=("helper",))
    models = ({"value": "gpt", "displayName": "GPT", "description": ""},)
    assert initialize_body(info, models, "2.1.325") == {
        "commands": [],
        "agents": [{"name": "helper", "description": ""}],
        "output_style": "default",
        "available_output_styles": ["default"],
        "models": list(models),
        "account": {"tokenSource": "none", "apiKeySource": "OPENAI_API_KEY", "apiProvider": "openai"},
        "pid": os.getpid(),
        "claude_code_version": "2.1.325",
        "current_permission_mode": "plan",
        "hook_on_failure_supported": True,
        "capabilities": [],
    }
