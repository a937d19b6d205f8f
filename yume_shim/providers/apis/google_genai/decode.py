"""Decodes Gemini's chunks into ModelEvents.

Each chunk is a whole `GenerateContentResponse` with the next parts; there is no end mark. The answer is complete when
the body has ended and some chunk had a `finishReason` (which proxies may send before the text) or a block reason.
"""

from __future__ import annotations

from yume_shim.providers.apis.google_genai.encode import API, wire_name
from yume_shim.providers.apis.google_genai.partial_arguments import PartialArguments
from yume_shim.providers.wire.block_assembler import Assembler
from yume_shim.providers.wire.failures import failure_from_payload, failure_incomplete
from yume_shim.providers.wire.refusals import refusal_detail
from yume_shim.providers.wire.thought_suffix import without_thought
from yume_shim.text.late_pattern import late_pattern
from yume_shim.types.blocks import Other, Text, Thinking, ToolCall
from yume_shim.types.events import ResponseEnded, ResponseFailed, ResponseStarted
from yume_shim.types.models import Usage
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from yume_shim.types.blocks import Json
    from yume_shim.types.events import ModelEvent
    from yume_shim.types.models import Request, Stop

_OUR_IDS = late_pattern(r"[A-Za-z0-9_-]{1,40}")

_PLAIN_CANDIDATE = frozenset(("content", "index"))
"""The fields of a candidate that say nothing about the end of the answer."""
_PLAIN_CHUNK = frozenset(("candidates", "createTime", "modelVersion", "responseId", "usageMetadata"))
"""The fields of a chunk that say nothing but what its candidate says."""
_REFUSALS = frozenset(
    (
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "MODEL_ARMOR",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
        "IMAGE_OTHER",
        "NO_IMAGE",
    )
)
NUDGES = {
    "MALFORMED_FUNCTION_CALL": "Your last function call could not be read. Call the function again, by its exact name, "
    "with arguments that fit its schema.",
    "UNEXPECTED_TOOL_CALL": "Your last answer called a function that does not exist. Call only declared functions.",
    "TOO_MANY_TOOL_CALLS": "Your last answer called too many functions at once. Call fewer of them.",
    "MALFORMED_RESPONSE": "Your last answer could not be read. Answer again.",
}
"""The model's own output was invalid; asking again usually helps, especially with a note about the mistake."""
REFUSAL_ENDING: tuple[Stop, str] = ("refusal", "refusal")


class Decoder:
    """Decodes the chunks of one response."""

    def __init__(self, request: Request, headers: Mapping[str, str], new_id: Callable[[], str]) -> None:
        self._model = request.model.id
        self._provider = request.model.endpoint.name
        self._names = {wire_name(tool.name): tool.name for tool in request.tools}
        self._request_id = headers.get("x-request-id", "")
        self._new_id = new_id
        self._blocks = Assembler(API)
        self._open: tuple[str, int] | None = None
        """Kind and number of the open text or thought."""
        self._signed = False
        self._span: tuple[int, int] | None = None
        """The signed part of the open block; None = all of it."""
        self._length = 0
        self._count = 0
        self._loose_signature = ""
        self._partial: PartialArguments | None = None
        self._ids: set[str] = set()
        self._started = False
        self._over = False
        self._reason = ""
        self._blocked = ""
        self._message = ""
        self._ratings: Any = None
        self._usage: Json = {}
        self._token = ""
        """Continues the answer where the model paused."""

    def feed(self, frame: Json) -> list[ModelEvent]:
        """The events of one chunk."""
        if self._over or "!done" in frame:
            return []
        if frame.get("error"):
            self._over = True
            return [ResponseFailed(failure_from_payload(frame, self._provider))]
        usage = _object(frame, "usageMetadata")
        if "promptTokenCount" in usage or "candidatesTokenCount" in usage:
            self._usage = usage
        out: list[ModelEvent] = []
        if not self._started:
            self._started = True
            usage_so_far = replace(map_usage(self._usage), output=0, reasoning=0)
            model = frame.get("modelVersion") or self._model
            out.append(ResponseStarted(frame.get("responseId") or "", model, usage_so_far, self._request_id))
        if "promptFeedback" in frame:
            self._take_feedback(_object(frame, "promptFeedback"))
        candidate = _first(frame.get("candidates"))
        for part in _list(_object(candidate, "content").get("parts")):
            if isinstance(part, dict):
                out.extend(self._part(part))
        self._reason = candidate.get("finishReason") or self._reason
        self._message = candidate.get("finishMessage") or self._message
        self._ratings = candidate.get("safetyRatings") or self._ratings
        self._token = candidate.get("continuationToken") or self._token
        return out

    def run(self, frames: list[Json], place: int) -> tuple[int, list[ModelEvent]]:
        """Chunks that have nothing but more of the open text or thought."""
        if self._open is None or self._loose_signature or self._over:
            return 0, []
        kind, key = self._open
        size = 1 if kind == "text" else 2  # of a part: the text, and that it is a thought
        texts: list[str] = []
        for at in range(place, len(frames)):
            frame = frames[at]
            try:
                (candidate,) = frame["candidates"]
                (part,) = candidate["content"]["parts"]
                text = part["text"]
            except (KeyError, TypeError, ValueError):
                break
            if len(part) != size or (size == 2 and part.get("thought") is not True):
                break
            if not (frame.keys() <= _PLAIN_CHUNK and candidate.keys() <= _PLAIN_CANDIDATE) or candidate.get("index"):
                break
            if type(text) is not str or not text:
                break
            texts.append(text)
            usage = frame.get("usageMetadata")
            if type(usage) is dict and ("promptTokenCount" in usage or "candidatesTokenCount" in usage):
                self._usage = usage
        self._length += sum(map(len, texts))
        return len(texts), self._blocks.run(key, "text" if kind == "text" else "thinking", texts) if texts else []

    def _take_feedback(self, feedback: Json) -> None:
        if feedback.get("blockReason"):
            self._blocked = feedback["blockReason"]
            self._message = feedback.get("blockReasonMessage") or self._message
            self._ratings = feedback.get("safetyRatings")

    def finish(self) -> list[ModelEvent]:
        """The body ended."""
        if self._over:
            return []
        self._over = True
        reason = self._blocked or self._reason
        if not reason:
            return [ResponseFailed(failure_incomplete(self._provider))]
        ending = REFUSAL_ENDING if self._blocked else map_stop(reason, self._blocks.calls, self._count)
        if ending is None:
            message = self._message or f"the model ended its answer with {reason}"
            payload = {"error": {"status": reason, "message": message}}
            failure = failure_from_payload(payload, self._provider)
            return [ResponseFailed(replace(failure, nudge=NUDGES.get(reason, "")))]
        stop, word = ending
        if stop == "length" and self._partial is not None:
            self._partial.cut = True
        if stop == "pause" and self._token and self._open is not None:
            self._blocks.attach(self._open[1], continuation=self._token)
        detail = refusal_detail(reason, self._message, self._ratings) if stop == "refusal" else ""
        usage = map_usage(self._usage)
        return [*self._close(), ResponseEnded(stop, word, usage, usage_given=bool(self._usage), detail=detail)]

    def reported(self) -> tuple[Usage, bool]:
        """Every chunk has the counts so far; those of the chunk with the finish reason are final."""
        return map_usage(self._usage), bool(self._reason and self._usage)

    # ------------------------------------------------------------ parts

    def _part(self, part: Json) -> list[ModelEvent]:
        signature = part.get("thoughtSignature")
        signature = signature if isinstance(signature, str) else ""
        call = part.get("functionCall")
        if isinstance(call, dict):
            return self._call(call, signature)
        text = part.get("text")
        if isinstance(text, str) or (signature and len(part) == 1):
            return self._text("thinking" if part.get("thought") else "text", text or "", signature)
        return self._other(part)

    def _text(self, kind: str, text: str, signature: str) -> list[ModelEvent]:
        """More text or thought. A part that is only a signature makes no block: it belongs to the block before it, or
        else to the next one."""
        if not text:
            if signature and self._open and not self._signed:
                self._blocks.attach(self._open[1], signature=signature)
                self._signed = True
            else:
                self._loose_signature = signature or self._loose_signature
            return []
        out: list[ModelEvent] = []
        if self._open is None or self._open[0] != kind or (signature and self._signed):
            out.extend(self._close())
            out.extend(self._blocks.start(self._next(), Text("") if kind == "text" else Thinking("")))
            self._open = (kind, self._count)
        key = self._open[1]
        if signature:
            self._blocks.attach(key, signature=signature)
            self._signed, self._span = True, (self._length, self._length + len(text))
        elif self._loose_signature and not self._signed:
            self._blocks.attach(key, signature=self._take_loose())
            self._signed = True
        self._length += len(text)
        return [*out, *self._blocks.delta(key, "text" if kind == "text" else "thinking", text)]

    def _call(self, call: Json, signature: str) -> list[ModelEvent]:
        """A call, whole or (with `willContinue`) its beginning; without a name, more of the open call."""
        out: list[ModelEvent] = []
        name = call.get("name")
        if isinstance(name, str) and name:
            out.extend(self._close())
            given = call.get("id")
            block = ToolCall(self._call_id(given), self._names.get(name, name), {})
            out.extend(self._blocks.start(self._next(), block))
            if given:
                self._blocks.attach(self._count, id=given)
            self._partial = PartialArguments(call.get("args"))
        if self._partial is None:
            return out
        if signature or self._loose_signature:
            self._blocks.attach(self._count, signature=signature or self._take_loose())
        self._partial.add(call.get("partialArgs"))
        if not call.get("willContinue"):
            out.extend(self._close())
        return out

    def _call_id(self, given: Any) -> str:
        """Gemini's own id if we can use it; Gemini 2.5 sends none."""
        plain = without_thought(given) if isinstance(given, str) else ""
        made = plain if _OUR_IDS.fullmatch(plain) and plain not in self._ids else self._new_id()
        self._ids.add(made)
        return made

    def _other(self, part: Json) -> list[ModelEvent]:
        """inlineData, executableCode, codeExecutionResult and similar parts: kept unchanged, to be sent back."""
        out = self._close()
        out.extend(self._blocks.start(self._next(), Other(API, part)))
        out.extend(self._blocks.end(self._count))
        return out

    def _next(self) -> int:
        self._count += 1
        return self._count

    def _take_loose(self) -> str:
        signature, self._loose_signature = self._loose_signature, ""
        return signature

    def _close(self) -> list[ModelEvent]:
        """End the open block, if there is one."""
        out: list[ModelEvent] = []
        if self._partial is not None:
            out.extend(self._blocks.delta(self._count, "json", self._partial.text()))
            out.extend(self._blocks.end(self._count))
            self._partial = None
        if self._open is not None:
            if self._span and self._span != (0, self._length):
                self._blocks.attach(self._open[1], span=list(self._span))
            out.extend(self._blocks.end(self._open[1]))
            self._open, self._signed, self._span, self._length = None, False, None, 0
        return out


# ---------------------------------------------------------------- stop reasons and counts


def map_stop(reason: str, calls: int, blocks: int) -> tuple[Stop, str] | None:
    """Gemini's finishReason as (our stop, Anthropic's stop reason); None if the answer failed."""
    if reason == "STOP" or (reason == "UNEXPECTED_TOOL_CALL" and calls):  # an undeclared tool gets an error result
        return ("tool_calls", "tool_use") if calls else ("end", "end_turn")
    if reason == "MAX_TOKENS":
        return "length", "max_tokens"
    if reason in _REFUSALS:
        return REFUSAL_ENDING
    if reason == "CONTINUATION":
        return "pause", "pause_turn"
    if reason in NUDGES or not blocks:
        return None
    return ("tool_calls", "tool_use") if calls else ("end", "end_turn")


def map_usage(usage: Json) -> Usage:
    """Gemini's prompt count includes cached tokens, and its candidates count excludes thoughts."""
    cached = _count(usage, "cachedContentTokenCount")
    thoughts = _count(usage, "thoughtsTokenCount")
    prompt = max(_count(usage, "promptTokenCount") - cached, 0)
    return Usage(
        input=prompt + _count(usage, "toolUsePromptTokenCount"),
        output=_count(usage, "candidatesTokenCount") + thoughts,
        cache_read=cached,
        reasoning=thoughts,
    )


def _count(usage: Json, name: str) -> int:
    number = usage.get(name)
    return number if type(number) is int else 0


# ---------------------------------------------------------------- JSON from outside


def _object(holder: Json, name: str) -> Json:
    found = holder.get(name)
    return found if isinstance(found, dict) else {}


def _list(found: Any) -> list[Any]:
    return found if isinstance(found, list) else []


def _first(candidates: Any) -> Json:
    """The first candidate: we request only one."""
    for candidate in _list(candidates):
        if isinstance(candidate, dict) and not candidate.get("index"):
            return candidate
    return {}


def whole_frames(body: Json) -> list[Json]:
    """The decoder reads a whole answer as one chunk."""
    return [body]
