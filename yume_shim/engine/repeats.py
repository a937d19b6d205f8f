"""Bounds two kinds of loops that a model does not notice: a call that fails in the same way again and again, and a call
that the output limit cuts every time. One object per loop, so that children are covered too."""

from __future__ import annotations

from yume_shim.text.clip import clip_middle
from yume_shim.text.codec import dumps
from yume_shim.types.blocks import Text, ToolCall, ToolResult
from yume_shim.types.errors import ToolFailed
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.engine.toolbox import Toolbox
    from yume_shim.types.events import ToolFinished
    from yume_shim.types.models import Stop, ToolKind
    from yume_shim.types.settings import LimitSettings

MAX_CUTS = 3
"""How often a tool's call that the output limit cut is asked for again."""
MAX_COUNTED = 1_000
"""Failing calls that are counted; the oldest is forgotten first."""
MAX_SHOWN = 200
"""Characters of input and result in the message that ends a turn."""
UNREADABLE = "unreadable arguments"

_WARNING = (
    "Note: this call has now failed {count} times with the same result. Sending it again will not help: read the "
    "error, then change the arguments or go another way."
)
_CUT = (
    "{tool} was cut off by the output limit before its arguments were complete, and did not run. Send it again in "
    "smaller pieces: for a long file, write the first part, then add one part per call."
)


class Repeats:
    """Counts the failing calls of one loop. Used on the loop's thread only."""

    def __init__(self, limits: LimitSettings, toolbox: Toolbox) -> None:
        self._warn, self._stop, self._toolbox = limits.repeat_warn, limits.repeat_stop, toolbox
        self._failed: dict[int, tuple[int, ToolKind]] = {}
        """How often each call (a hash of name, input and result) has failed, and the kind of its tool."""
        self._cuts: dict[str, int] = {}
        """How often each tool's call was cut since it last arrived whole."""
        self.reason = ""
        """Why the loop must end now; "" = it goes on."""

    def start_over(self) -> None:
        """The user said something: what happened before no longer counts."""
        self._failed.clear()
        self._cuts.clear()

    # ------------------------------------------------------------ the same failure again

    def judge(self, finished: ToolFinished) -> ToolFinished:
        """Count the call if it failed; from the warning on its result says so."""
        call, result = finished.call, finished.result
        spec = self._toolbox.find(call.name)
        kind: ToolKind = "other" if spec is None else spec.kind
        if not result.is_error:
            self._succeeded(kind)
            return finished
        given = UNREADABLE if call.broken is not None else dumps(call.input).decode()
        key = hash((call.name, given, _text(result)))
        count = self._failed.pop(key, (0, kind))[0] + 1
        self._failed[key] = (count, kind)
        if len(self._failed) > MAX_COUNTED:
            del self._failed[next(iter(self._failed))]
        if self._stop and count >= self._stop:
            shown = clip_middle(given, MAX_SHOWN)
            why = clip_middle(_text(result), MAX_SHOWN)
            self.reason = self.reason or f"{call.name} {shown} failed {count} times with the same result: {why}"
        if not self._warn or count < self._warn:
            return finished
        return replace(finished, result=_with_note(result, _WARNING.format(count=count)))

    def _succeeded(self, kind: ToolKind) -> None:
        """A call that changed something gives failing calls a new chance: any call after an edit, a command after
        another command. Reading changes nothing."""
        if kind == "edit":
            self._failed.clear()
        elif kind == "shell":
            self._failed = {key: entry for key, entry in self._failed.items() if entry[1] != "shell"}

    # ------------------------------------------------------------ cut by the output limit

    def cut(self, calls: list[ToolCall], stop: Stop) -> ToolFailed | None:
        """The failure of the last of these calls, if the output limit has cut it."""
        last = calls[-1]
        for call in calls[:-1]:
            self._cuts.pop(call.name, None)
        if stop not in ("length", "window") or not self._is_incomplete(last):
            self._cuts.pop(last.name, None)
            return None
        count = self._cuts[last.name] = self._cuts.get(last.name, 0) + 1
        if count > MAX_CUTS:
            self.reason = (
                f"the output limit cut the call of {last.name} {count} times: its arguments never arrived complete"
            )
        return ToolFailed(_CUT.format(tool=last.name), before_run=True)

    def _is_incomplete(self, call: ToolCall) -> bool:
        """Its arguments do not end, or did not even begin although the tool needs some."""
        if call.broken is not None:
            return True
        spec = self._toolbox.find(call.name)
        return not call.input and (spec is None or bool(spec.schema.get("required")))


def _text(result: ToolResult) -> str:
    if isinstance(result.content, str):
        return result.content
    return "\n".join(part.text if isinstance(part, Text) else type(part).__name__ for part in result.content)


def _with_note(result: ToolResult, note: str) -> ToolResult:
    if isinstance(result.content, str):
        return replace(result, content=f"{result.content}\n\n{note}")
    return replace(result, content=(*result.content, Text(note)))
