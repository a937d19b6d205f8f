"""The model of the bench: a loopback server that answers in the words of five APIs.

The prompt says how: `deltas=20000 how=burst`. `burst`: events come as fast as the network carries them, several per
packet. `each`: one send per event. `paced`: one event every 10 ms, which carries the time when it left. `thinking` and
`arguments` are bursts of reasoning, and of the arguments of one call. `calls`: so many rounds with one call each.
Answers are made before the first request, so that the server costs nothing while a program is measured.
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
KINDS = ("text", "thinking", "arguments")
PATHS = {
    "/v1/messages": "anthropic",
    "/v1/responses": "openai",
    "/v1/chat/completions": "chat",
    "streamGenerateContent": "google",
    "/api/chat": "ollama",
}
RESULT = re.compile(rb'"tool_use_id":|"role":"tool"|"functionResponse":|"type":"function_call_output"')
"""The result of a call in a request."""
CALLED = "bench.txt"
"""The file that the rounds of `calls` read."""


class Answer(NamedTuple):
    """The bytes before the deltas, each delta, the bytes after them."""

    start: bytes
    deltas: list[bytes]
    end: bytes


@cache
def answer(api: str, count: int, kind: str = "text") -> Answer:
    """An answer of so many deltas."""
    return MAKERS[api]([f"{MARK}{number:05d} " for number in range(count)], kind)


@cache
def call(api: str, number: int) -> bytes:
    """An answer that is one call."""
    made = MAKERS[api](["", "{}"], f"call {number}")
    return b"".join((made.start, *made.deltas, made.end))


def _sse(frame: Any, name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(frame, separators=(',', ':'))}\n\n".encode()


def _typed(**frame: Any) -> bytes:
    return _sse(frame, frame["type"])


def _call_id(kind: str) -> str:
    return f"call_{kind.partition(' ')[2] or 0}"


def _arguments(texts: list[str], kind: str) -> list[str]:
    """The pieces of the arguments of a call."""
    if kind != "arguments":
        return [json.dumps({"file_path": CALLED})]
    return ['{"file_path":"', *texts, '"}']


def _anthropic(texts: list[str], kind: str) -> Answer:
    message: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "model": "bench", "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 1}}
    block: dict[str, Any] = {"type": "text", "text": ""}
    name, field, reason = "text_delta", "text", "end_turn"
    if kind == "thinking":
        block, name, field = {"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta", "thinking"
    elif kind != "text":
        block = {"type": "tool_use", "id": _call_id(kind), "name": "Read", "input": {}}
        name, field, reason, texts = "input_json_delta", "partial_json", "tool_use", _arguments(texts, kind)
    start = _typed(type="message_start", message=message)
    start += _typed(type="content_block_start", index=0, content_block=block)
    deltas = [_typed(type="content_block_delta", index=0, delta={"type": name, field: text}) for text in texts]
    stop = {"stop_reason": reason, "stop_sequence": None}
    end = _typed(type="content_block_stop", index=0)
    if kind == "thinking":
        end += _typed(type="content_block_start", index=1, content_block={"type": "text", "text": ""})
        end += _typed(type="content_block_delta", index=1, delta={"type": "text_delta", "text": "done"})
        end += _typed(type="content_block_stop", index=1)
    end += _typed(type="message_delta", delta=stop, usage={"output_tokens": len(texts)})
    return Answer(start, deltas, end + _typed(type="message_stop"))


def _openai(texts: list[str], kind: str) -> Answer:
    response = {"id": "resp_1", "object": "response", "model": "bench"}
    item: dict[str, Any] = {"type": "message", "id": "msg_1", "role": "assistant"}
    done: dict[str, Any] = {**item, "content": [{"type": "output_text", "text": "".join(texts), "annotations": []}]}
    added, name, place = {**item, "content": []}, "response.output_text.delta", {"content_index": 0}
    if kind == "thinking":
        added = {"type": "reasoning", "id": "rs_1", "summary": []}
        done = {**added, "summary": [{"type": "summary_text", "text": "".join(texts)}]}
        name, place = "response.reasoning_summary_text.delta", {"summary_index": 0}
    elif kind != "text":
        texts = _arguments(texts, kind)
        added = {"type": "function_call", "id": "fc_1", "call_id": _call_id(kind), "name": "Read", "arguments": ""}
        done = {**added, "arguments": "".join(texts)}
        name, place = "response.function_call_arguments.delta", {}
    start = _typed(type="response.created", response={**response, "status": "in_progress", "output": []})
    start += _typed(type="response.output_item.added", output_index=0, item=added)
    deltas = [
        _typed(type=name, sequence_number=number, item_id=added["id"], output_index=0, **place, delta=text)
        for number, text in enumerate(texts)
    ]
    usage = {"input_tokens": 10, "output_tokens": len(texts), "total_tokens": 10 + len(texts)}
    end = _typed(type="response.output_item.done", output_index=0, item=done)
    output = [done]
    if kind == "thinking":
        said = {**item, "content": [{"type": "output_text", "text": "done", "annotations": []}]}
        end += _typed(type="response.output_item.added", output_index=1, item={**item, "content": []})
        end += _typed(type="response.output_item.done", output_index=1, item=said)
        output.append(said)
    whole = {**response, "status": "completed", "output": output, "usage": usage}
    return Answer(start, deltas, end + _typed(type="response.completed", response=whole))


def _chat(texts: list[str], kind: str) -> Answer:
    def chunk(delta: Any, reason: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return _sse(
            {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]} | more
        )

    usage = {"prompt_tokens": 10, "completion_tokens": len(texts), "total_tokens": 10 + len(texts)}
    if kind in ("text", "thinking"):
        field, reason = "content" if kind == "text" else "reasoning", "stop"
        deltas = [chunk({field: text}) for text in texts]
        more = chunk({"content": "done"}) if kind == "thinking" else b""
    else:
        reason, more, head = "tool_calls", b"", {"index": 0, "id": _call_id(kind), "type": "function"}
        pieces = _arguments(texts, kind)
        deltas = [chunk({"tool_calls": [{**head, "function": {"name": "Read", "arguments": pieces[0]}}]})]
        deltas += [chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}) for piece in pieces[1:]]
    end = more + chunk({}, reason, usage=usage) + b"data: [DONE]\n\n"
    return Answer(chunk({"role": "assistant", "content": ""}), deltas, end)


def _google(texts: list[str], kind: str) -> Answer:
    usage = {"promptTokenCount": 10, "candidatesTokenCount": len(texts), "totalTokenCount": 10 + len(texts)}

    def chunk(part: Any, **more: Any) -> bytes:
        candidate = {"content": {"role": "model", "parts": [part]}, "index": 0, **more}
        return _sse({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "bench", "responseId": "r"})

    if kind in ("text", "thinking"):
        thought: dict[str, Any] = {"thought": True} if kind == "thinking" else {}
        last = {"text": "done" if thought else ""}
        return Answer(b"", [chunk({"text": text, **thought}) for text in texts], chunk(last, finishReason="STOP"))
    if kind != "arguments":
        made = {"id": _call_id(kind), "name": "Read", "args": {"file_path": CALLED}}
        return Answer(b"", [chunk({"functionCall": made})], chunk({"text": ""}, finishReason="STOP"))
    begun = {"functionCall": {"name": "Read", "willContinue": True}}
    deltas = [
        chunk({"functionCall": {"partialArgs": [{"jsonPath": "$.file_path", "stringValue": text, "willContinue": True}],
                                "willContinue": True}})
        for text in texts
    ]  # fmt: skip
    return Answer(chunk(begun), deltas, chunk({"functionCall": {}}) + chunk({"text": ""}, finishReason="STOP"))


def _ollama(texts: list[str], kind: str) -> Answer:
    def line(message: Any, **more: Any) -> bytes:
        frame = {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": {"role": "assistant", **message}}
        return json.dumps({**frame, "done": False, **more}).encode() + b"\n"

    last = {"content": "done" if kind == "thinking" else ""}
    end = line(last, done=True, done_reason="stop", prompt_eval_count=10, eval_count=len(texts))
    if kind in ("text", "thinking"):
        field = "content" if kind == "text" else kind
        return Answer(b"", [line({"content": "", field: text}) for text in texts], end)
    made = {"name": "Read", "arguments": json.loads("".join(_arguments(texts, kind)))}
    return Answer(b"", [line({"content": "", "tool_calls": [{"function": made}]})], end)


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
        results = len(RESULT.findall(body, body.rfind(b"deltas="))) if how in ("calls", *KINDS) else 0
        self.send_response(200)
        self.send_header("content-type", "application/x-ndjson" if api == "ollama" else "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self._answer(api, count, how, results)
        self.close_connection = True

    def _answer(self, api: str, count: int, how: str, results: int) -> None:
        if how == "calls" and results < count:
            self.wfile.write(call(api, results))
            return
        if how == "calls" or (how == "arguments" and results):
            count, how = 1, "burst"
        start, deltas, end = answer(api, count, how if how in KINDS else "text")
        if how in ("each", "paced"):
            self.wfile.write(start)
            for delta in deltas:
                if how == "paced":
                    time.sleep(PACE)
                    word = re.search(rb"bench~\d+", delta)
                    assert word is not None
                    delta = delta.replace(word[0], b"@%d@" % time.monotonic_ns())
                self.wfile.write(delta)
            self.wfile.write(end)
        else:
            self.wfile.write(b"".join((start, *deltas, end)))

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
            for kind in KINDS:
                answer(api, int(given), kind)
    server = Server(("127.0.0.1", 0), Upstream)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
