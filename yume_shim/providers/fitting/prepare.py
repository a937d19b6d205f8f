"""Fits a request to its endpoint before it is encoded: replaces what the endpoint does not take, and says so once."""

from __future__ import annotations

import threading

from yume_shim.providers.fitting.endpoint_adaptation import EndpointAdaptation
from yume_shim.providers.wire.history_memo import begins
from yume_shim.types.blocks import Document, Image, Message, Text, ToolResult
from yume_shim.types.events import Notice
from yume_shim.types.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from yume_shim.providers.fitting.media.fitter import MediaFitter
    from yume_shim.types.blocks import Json
    from yume_shim.types.errors import Failure
    from yume_shim.types.models import ModelSpec, Request, WireRequest
    from yume_shim.types.ports import Cancel

    Log = Callable[[str, str], None]
    Learn = Callable[[ModelSpec, Json], None]
    """(model, facts): `window`, `max_output`, `max_tools`, and the quirks of `KEPT_QUIRKS`."""

KEPT_QUIRKS = ("schema_drop", "api_version")
"""Quirks that a refusal can change and that later processes should know."""


class Ready(Value):
    """The request to encode, the notices for the user, and whether calls come as text."""

    request: Request
    notices: tuple[Notice, ...] = ()
    text_calls: bool = False


class Preparer:
    """One per endpoint and model, for all keys: keeps the adaptations, and the notices that were given.

    Loops that run side by side share it; the lock guards the notices and the creation of the media fitter.
    """

    def __init__(self, log: Log, learn: Learn | None = None) -> None:
        self._lock = threading.Lock()
        self._learn = learn
        self._unproven: Json = {}
        """What refusals named since the last success."""
        self._adaptation = EndpointAdaptation()
        self._log = log
        self._given: set[str] = set()
        self._media: MediaFitter | None = None
        self._without_media: tuple[Message, ...] = ()
        """The last history that held none."""

    def prepare(self, request: Request, cancel: Cancel | None = None) -> Ready:
        """The request in the form that the endpoint takes. Raises Cancelled."""
        request = self._adaptation.apply(request)
        notices = list(self._adaptation.notices)
        if request.model.endpoint.quirks.flat_results and request.native_tools:
            from yume_shim.providers.fitting.history_as_text import flatten_history

            request = flatten_history(request)
        if request.temperature is not None or request.top_p is not None or request.stop_sequences:
            from yume_shim.providers.fitting.sampling import sampling

            notices.extend(sampling(request)[1])
        if self._has_media(request.messages):
            request, new = self._media_fitter().fit(request, cancel)
            notices.extend(new)
        by_text = False
        if not request.native_tools:
            from yume_shim.providers.fitting.text_tools.protocol import tools_as_text

            by_text = bool(request.tools) and request.tool_choice != "none"
            request, new = tools_as_text(request)
            notices.extend(new)
        if request.system and request.model.endpoint.quirks.system_role == "user":
            request = _with_system_in_message(request)
        return Ready(request, tuple(self._new(notices)), by_text)

    def _has_media(self, messages: tuple[Message, ...]) -> bool:
        """Every request repeats the history: only what was added to it is looked at."""
        known = self._without_media
        if any(map(_has_media, messages[len(known) :] if known and begins(messages, known) else messages)):
            return True
        self._without_media = messages
        return False

    def _media_fitter(self) -> MediaFitter:
        from yume_shim.providers.fitting.media.fitter import MediaFitter

        with self._lock:
            if self._media is None:
                self._media = MediaFitter()
            return self._media

    def edit(self, wire: WireRequest) -> WireRequest:
        """The encoded request without what the endpoint refused by name."""
        return self._adaptation.edit(wire)

    def judge(self, request: Request, failure: Failure) -> Failure:
        """The failure, compared with the request: a prompt above the tokens allowed per minute is too long, because it
        would fail again after any wait (Gemini answers 429)."""
        if not failure.token_quota:
            return failure
        from yume_shim.providers.fitting.estimate import estimate

        if estimate(request) <= failure.token_quota:
            return failure
        return replace(failure, kind="context_length", retryable=False, retry_after_ms=None)

    def adapt(self, request: Request, failure: Failure) -> str | None:
        """Change what is sent from now on because of this refusal. Returns the change in a few words; None if nothing
        changed, and sending the request again is useless."""
        change = self._adaptation.adapt(request, failure)
        self._note_limits(request, failure)
        if change is None and self._adaptation.undo(failure):
            self._unproven = {}
            self._log("info", "the changes made because of refusals did not help: they are undone")
        return change

    def _note_limits(self, request: Request, failure: Failure) -> None:
        limits = failure.limits
        new: Json = {}
        if limits is not None:
            window = limits.window if limits.window != request.model.window else 0
            named = (("window", window), ("max_output", limits.max_output), ("max_tools", limits.max_tools))
            new = {name: size for name, size in named if size}
        before, quirks = request.model.endpoint.quirks, self._adaptation.apply(request).model.endpoint.quirks
        for name in KEPT_QUIRKS:
            now = getattr(quirks, name)
            if now != getattr(before, name):
                new[name] = list(now) if isinstance(now, tuple) else now
        self._unproven = {**self._unproven, **new}

    def succeeded(self, request: Request) -> None:
        """An answer has arrived: what refusals named before is true, and worth keeping for later processes."""
        if not self._unproven:
            return
        proven, self._unproven = self._unproven, {}
        if self._learn is not None:
            self._learn(request.model, proven)

    def _new(self, notices: Iterable[Notice]) -> list[Notice]:
        """Each notice is given once in a session."""
        new = []
        with self._lock:
            for notice in notices:
                if notice.text not in self._given:
                    self._given.add(notice.text)
                    new.append(notice)
        return new


def _with_system_in_message(request: Request) -> Request:
    """The system prompt at the start of the first user message, for endpoints and models that take none."""
    system = Text("\n\n".join(request.system))
    first = request.messages[0] if request.messages else None
    if first is None or first.role != "user":
        return replace(request, system=(), messages=(Message("user", (system,)), *request.messages))
    opening = replace(first, blocks=(system, *first.blocks))
    return replace(request, system=(), messages=(opening, *request.messages[1:]))


def _has_media(message: Message) -> bool:
    if getattr(message, "stored", None) is not None:  # of a checkpoint, which holds none
        return False
    for block in message.blocks:  # of every message, in every request
        if isinstance(block, ToolResult):
            if not isinstance(block.content, str):
                return True
        elif isinstance(block, (Image, Document)):
            return True
    return False
