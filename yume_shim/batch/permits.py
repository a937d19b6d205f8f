"""The requests of one process that wait for their turn in the lane of their provider."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.batch.shim_process import ShimProcess
    from yume_shim.types.blocks import Json

    Ask = Callable[[str, Json], float]
    """(request, what the question says) -> seconds until it may be sent; 0 = now, below 0 = never."""


class Permits:
    """Answers the questions of a process that was started with `--request-permits`."""

    def __init__(self, process: ShimProcess, ask: Ask) -> None:
        self._process, self._ask = process, ask
        self._waiting: dict[str, tuple[Json, float]] = {}
        """Question → (what it says, when it is asked for again)."""

    def take(self, line: Json) -> None:
        """Note a question, or that one was withdrawn. Raises ProcessEnded."""
        if line.get("type") == "control_request" and line["request"].get("subtype") == "request_permit":
            self._try(line["request_id"], line["request"])
        elif line.get("type") == "control_cancel_request":
            self._waiting.pop(line.get("request_id", ""), None)

    def pause(self, most: float) -> float:
        """Answer those whose time has come; seconds until the next one's, at most `most`. Raises ProcessEnded."""
        now = time.monotonic()
        for question, (about, at) in list(self._waiting.items()):
            if at <= now:
                del self._waiting[question]
                self._try(question, about)
        return max(0.0, min([most, *(at - now for _, at in self._waiting.values())]))

    def _try(self, question: str, about: Json) -> None:
        seconds = self._ask(question, about)
        if seconds > 0:
            self._waiting[question] = (about, time.monotonic() + seconds)
        if seconds:
            return
        answer = {"subtype": "success", "request_id": question, "response": {}}
        self._process.send({"type": "control_response", "response": answer})
