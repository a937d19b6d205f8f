"""A model with a script, whatever API it is asked over: the same words as each of the vendors would stream them.

A script is a list of answers, one per request; an answer is a list of steps:

    server = ModelServer([say("Let me look."), call("Read", file_path="a.txt")], [say("It says hello.")])

The API is taken from the request's path, so one server answers all of them. A step `cut()` or `hold()` right after
content leaves that content unfinished.
"""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.helpers.fake_server import FakeServer
from tests.helpers.wire_writers import WRITERS, Call, Say, Think

if TYPE_CHECKING:
    from tests.helpers.fake_server import Exchange
    from yume_shim.types.blocks import Json

PIECES = 3
"""The default number of deltas that content is split into."""


SHOWN: Json = {
    "capabilities": ["completion", "tools", "thinking", "vision"],
    "model_info": {"general.architecture": "scripted", "scripted.context_length": 131_072},
}
"""Ollama's description of a model (`/api/show`)."""


TITLE_REQUEST = b"You name conversations."
"""Hosts ask for a title beside the first prompt: such a request takes no answer of the script."""


class Cue(NamedTuple):
    """Something that happens to the connection; `frame` is the wire file's word for it."""

    frame: dict[str, Any]
    unfinished: bool = False
    """What came before is left without its end."""


class Refuse(NamedTuple):
    """An HTTP error in place of a stream."""

    status: int
    retry_after: float | None = None
    message: str = "scripted refusal"


Step = Say | Call | Think | Cue | Refuse
Answer = list[Step]


def say(text: str, pieces: int = PIECES, gap_ms: int = 0) -> Step:
    """Text, streamed in pieces."""
    return Say(text, pieces, gap_ms)


def think(text: str) -> Step:
    """Reasoning that the provider shows."""
    return Think(text)


def call(name: str, **given: Any) -> Step:
    """A tool call."""
    return Call(name, given)


def cut() -> Step:
    """The connection breaks here."""
    return Cue({"!drop": True}, unfinished=True)


def hold() -> Step:
    """Silence from here on, until the client hangs up."""
    return Cue({"!hold": True}, unfinished=True)


def pause(milliseconds: int) -> Step:
    """A pause between two steps."""
    return Cue({"!sleep_ms": milliseconds})


def refuse(status: int, retry_after: float | None = None) -> Step:
    """An HTTP error, in the words of the API that is asked."""
    return Refuse(status, retry_after)


class ModelServer(FakeServer):
    """Plays one answer after the other; a request too many is refused with 400, which no client repeats."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self._turn = threading.Lock()
        self._count = 0
        super().__init__("", [])

    @property
    def left(self) -> int:
        """How many answers were not asked for."""
        return len(self._answers)

    def answers_about_itself(self, exchange: Exchange) -> bool:
        """Answer a request for the description of the model; False if this is another request."""
        if not exchange.request.path.endswith("/api/show"):
            return False
        exchange.reply(200, {"Content-Type": "application/json"}, json.dumps(SHOWN).encode())
        return True

    def _play(self, exchange: Exchange) -> bool:
        if self.answers_about_itself(exchange):
            return True
        api = api_of(exchange.request.path)
        if not api:
            exchange.reply(404, {"Content-Type": "application/json"}, b'{"error":{"message":"no such path"}}')
            return True
        if TITLE_REQUEST in exchange.request.body:
            return self.play(exchange, api, wire_of(api, [say("A scripted title")]))
        with self._turn:
            answer = self._answers.pop(0) if self._answers else [refuse(400)]
            self._count += 1
            number = self._count
        return self.play(exchange, api, wire_of(api, answer, number))


def api_of(path: str) -> str:
    """Which API lives at a path; "" for none."""
    path = path.partition("?")[0]
    for ending, api in (
        ("/messages", "anthropic-messages"),
        ("/responses", "openai-responses"),
        ("/chat/completions", "openai-chat"),
        (":streamGenerateContent", "google-genai"),
        ("/api/chat", "ollama-chat"),
    ):
        if path.endswith(ending):
            return api
    return ""


def wire_of(api: str, answer: Answer, number: int = 1) -> list[Json]:
    """The frames and cues of one answer. `number` makes ids differ between the answers of a conversation."""
    writer = WRITERS[api](number)
    if answer and isinstance(answer[0], Refuse):
        return [_refusal(api, answer[0])]
    frames = list(writer.start())
    index = 0
    for place, step in enumerate(answer):
        if isinstance(step, (Say, Call, Think)):
            body, end = writer.content(index, step)
            if isinstance(step, Say) and step.gap_ms:
                body = [frame for each in body for frame in (each, {"!sleep_ms": step.gap_ms})]
            frames += body
            after = answer[place + 1] if place + 1 < len(answer) else None
            if not (isinstance(after, Cue) and after.unfinished):
                frames += end
            index += 1
        elif isinstance(step, Cue):
            frames.append(step.frame)
            if step.unfinished:
                return frames
        else:
            raise AssertionError("a refusal is the whole answer")
    return [*frames, *writer.end(any(isinstance(step, Call) for step in answer))]


_STATUS_WORDS = {
    400: ("invalid_request_error", "INVALID_ARGUMENT"),
    401: ("authentication_error", "UNAUTHENTICATED"),
    429: ("rate_limit_error", "RESOURCE_EXHAUSTED"),
    500: ("api_error", "INTERNAL"),
    529: ("overloaded_error", "UNAVAILABLE"),
}


def _refusal(api: str, step: Refuse) -> Json:
    word, google_word = _STATUS_WORDS[step.status]
    headers: dict[str, str] = {}
    if api == "anthropic-messages":
        body: Json = {"type": "error", "error": {"type": word, "message": step.message}}
    elif api == "google-genai":
        details = []
        if step.retry_after is not None:
            kind = "type.googleapis.com/google.rpc.RetryInfo"
            details = [{"@type": kind, "retryDelay": f"{step.retry_after}s"}]
        error = {"code": step.status, "message": step.message, "status": google_word, "details": details}
        body = {"error": error}
    elif api == "ollama-chat":
        body = {"error": step.message}
    else:
        code = {401: "invalid_api_key", 429: "rate_limit_exceeded"}.get(step.status)
        body = {"error": {"message": step.message, "type": word, "param": None, "code": code}}
    if step.retry_after is not None and api != "google-genai":
        headers["retry-after"] = json.dumps(step.retry_after)
    return {"!status": step.status, "headers": headers, "body": body}
