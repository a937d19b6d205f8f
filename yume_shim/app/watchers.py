"""Makes the watchers of answers: the engine's watcher with the checks that tools offer, through the gate."""

from __future__ import annotations

from yume_shim.engine.stream_watch import StreamWatch
from yume_shim.types.blocks import ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.tools.dispatch.builtin import BuiltinTools
    from yume_shim.types.blocks import Json
    from yume_shim.types.ports import CallCheck, Cancel, Gate, StreamWatcher

EDIT_FIELDS = ("file_path", "old_string")
"""What is needed of an Edit call before its old text can be looked up. The check loads with the first of them."""


class EditCheck:
    """Implements `types.ports.CallCheck` for Edit: reads the file once, if the gate lets the model read it unasked."""

    needs: tuple[str, ...] = EDIT_FIELDS

    def __init__(self, tools: BuiltinTools, gate: Gate) -> None:
        self._tools, self._gate = tools, gate

    def __call__(self, fields: Json, cancel: Cancel) -> str:
        path, old = (fields.get(name) for name in EDIT_FIELDS)
        spec = self._tools.find("Read")
        if not isinstance(path, str) or not isinstance(old, str) or spec is None:
            return ""
        decision = self._gate.decide(ToolCall("check", "Read", {"file_path": path}), spec)
        if decision.verdict != "allow":
            return ""
        return self._tools.edit_problem(path, old, decision.judged, cancel)


def watcher_maker(tools: BuiltinTools, gate: Gate) -> Callable[[Cancel], StreamWatcher]:
    """Makes a watcher for one answer."""
    edit = EditCheck(tools, gate)

    def check_for(name: str) -> CallCheck | None:
        spec = tools.find(name)
        return edit if spec is not None and spec.name == "Edit" else None

    return lambda cancel: StreamWatch(check_for, cancel)
