"""The model of the bench: a loopback server that answers in the words of five APIs.

The prompt says how: `deltas=20000 how=burst`. `burst`: events come as fast as the network carries them, several per
packet. `each`: one send per event. `paced`: one event every 10 ms, which carries the time when it left. Answers are
made before the first request, so that the server costs nothing while a program is measured.
"""

from __future__ import annotations

import json
import re
import sys
import time
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

MARK = "bench~"
"""How every delta begins."""
PACE = 0.010
PATHS = {
    "/v1/messages": "anthropic",
    "/v1/responses": "openai",
    "/v1/chat/completions": "chat",
    "streamGenerateContent": "google",
    "/api/chat": "ollama",
}


class Answer(NamedTuple):
    """The bytes before the deltas, each delta, the bytes after them."""

    start: bytes
    deltas: list[bytes]
    end: bytes


@cache
def answer(api: str, count: int) -> Answer:
    """An answer of so many deltas."""
    return MAKERS[api]([f"{MARK}{number:05d} " for number in range(count)])


def _sse(frame: Any, name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(frame, separators=(',', ':'))}\n\n".encode()


def _typed(**frame: Any) -> bytes:
    return _sse(frame, frame["type"])


def _anthropic(texts: list[str]) -> Answer:
    message: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "model": "bench", "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 1}}
    start = _typed(type="message_start", message=message)
    start += _typed(type="content_block_start", index=0, content_block={"type": "text", "text": ""})
    deltas = [_typed(type="content_block_delta", index=0, delta={"type": "text_delta", "text": text}) for text in texts]
    stop = {"stop_reason": "end_turn", "stop_sequence": None}
    end = _typed(type="content_block_stop", index=0)
    end += _typed(type="message_delta", delta=stop, usage={"output_tokens": len(texts)})
    return Answer(start, deltas, end + _typed(type="message_stop"))


def _openai(texts: list[str]) -> Answer:
    response = {"id": "resp_1", "object": "response", "model": "bench"}
    item = {"type": "message", "id": "msg_1", "role": "assistant"}
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    start = _typed(type="response.created", response={**response, "status": "in_progress", "output": []})
    start += _typed(type="response.output_item.added", output_index=0, item={**item, "content": []})
    deltas = [
        _typed(type="response.output_text.delta", sequence_number=number, **place, delta=text, logprobs=[])
        for number, text in enumerate(texts)
    ]
    done = {**item, "content": [{"type": "output_text", "text": "".join(texts), "annotations": []}]}
    usage = {"input_tokens": 10, "output_tokens": len(texts), "total_tokens": 10 + len(texts)}
    end = _typed(type="response.output_item.done", output_index=0, item=done)
    whole = {**response, "status": "completed", "output": [done], "usage": usage}
    return Answer(start, deltas, end + _typed(type="response.completed", response=whole))


def _chat(texts: list[str]) -> Answer:
    def chunk(delta: Any, reason: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return _sse(
            {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]} | more
        )

    usage = {"prompt_tokens": 10, "completion_tokens": len(texts), "total_tokens": 10 + len(texts)}
    deltas = [chunk({"content": text}) for text in texts]
    return Answer(
        chunk({"role": "assistant", "content": ""}), deltas, chunk({}, "stop", usage=usage) + b"data: [DONE]\n\n"
    )


def _google(texts: list[str]) -> Answer:
    usage = {"promptTokenCount": 10, "candidatesTokenCount": len(texts), "totalTokenCount": 10 + len(texts)}

    def chunk(text: str, **more: Any) -> bytes:
        candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0, **more}
        return _sse({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "bench", "responseId": "r"})

    return Answer(b"", [chunk(text) for text in texts], chunk("", finishReason="STOP"))


def _ollama(texts: list[str]) -> Answer:
    def line(text: str, **more: Any) -> bytes:
        frame = {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": {"role": "assistant", "content": text}}
        return json.dumps({**frame, "done": False, **more}).encode() + b"\n"

    end = line("", done=True, done_reason="stop", prompt_eval_count=10, eval_count=len(texts))
    return Answer(b"", [line(text) for text in texts], end)


MAKERS = {"anthropic": _anthropic, "openai": _openai, "chat": _chat, "google": _google, "ollama": _ollama}


class Upstream(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer as the last prompt in the body says."""
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        api = next((name for path, name in PATHS.items() if path in self.path and "count_tokens" not in self.path), "")
        if not api:
            self._whole(404)
            return
        asked = re.findall(rb"deltas=(\d+) how=(\w+)", body)
        count, how = (int(asked[-1][0]), asked[-1][1].decode()) if asked else (1, "burst")
        self.send_response(200)
        self.send_header("content-type", "application/x-ndjson" if api == "ollama" else "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        start, deltas, end = answer(api, count)
        if how == "burst":
            self.wfile.write(b"".join((start, *deltas, end)))
        else:
            self.wfile.write(start)
            for delta in deltas:
                if how == "paced":
                    time.sleep(PACE)
                    word = re.search(rb"bench~\d+", delta)
                    assert word is not None
                    delta = delta.replace(word[0], b"@%d@" % time.monotonic_ns())
                self.wfile.write(delta)
            self.wfile.write(end)
        self.close_connection = True

    def do_GET(self) -> None:
        """There is nothing to get."""
        self._whole(404)

    def do_HEAD(self) -> None:
        """The Claude CLI asks whether there is a server."""
        self._whole(200)

    def _whole(self, status: int) -> None:
        self.send_response(status)
        self.send_header("content-length", "2" if self.command != "HEAD" else "0")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(b"{}")

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    """Takes many connections at once."""

    request_queue_size = 256
    daemon_threads = True


def main() -> None:
    """Serve until killed; the port is the first line of output."""
    for given in sys.argv[1:]:
        for api in MAKERS:
            answer(api, int(given))
    server = Server(("127.0.0.1", 0), Upstream)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
