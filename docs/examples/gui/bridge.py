#!/usr/bin/env python3
"""A bridge between a web page and yume-shim: the page in this folder talks to the program through it.

    python3 bridge.py [--port N] [program and flags, default: yume-shim]

It prints the address to open. Standard library only. The bridge listens on loopback only, asks for the token in the
address with every request, and refuses requests whose Host or Origin is not its own, so that no web page that the user
visits can reach it. One page at a time is enough for an example; each gets all lines from the start.

    GET  /          the page
    GET  /lines     every line of the program, as it comes: {"n": 1, "line": {…}} per line
    POST /send      one line for the program
    POST /restart   {"resume": "ID"}, or {} for a new session
"""

from __future__ import annotations

import hmac
import json
import secrets
import subprocess
import sys
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_name("index.html")
FLAGS = ["--output-format", "flat", "--permission-prompt-tool", "stdio"]
MAX_BODY = 16 << 20
MAX_LINES = 20_000
"""Lines that are kept for a page that is opened again; older ones are dropped."""
PAUSE = 15.0
"""Seconds after which a silent stream sends an empty line, so that a page that has gone is noticed."""
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'"


class Program:
    """The running yume-shim and the lines it has printed. One lock guards the lines, and pages wait on it for new ones;
    the other keeps lines to the program whole."""

    def __init__(self, command: list[str]) -> None:
        self._command = command
        self._changed = threading.Condition()
        self._sending = threading.Lock()
        self._lines: list[tuple[int, Any]] = []
        self._count = 0
        self._process = self._start()

    def _start(self, *flags: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [*self._command, *FLAGS, *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        self._reader = threading.Thread(target=self._read, args=(process,), daemon=True)
        self._reader.start()
        return process

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        for raw in process.stdout:
            self._add(json.loads(raw))
        self._add({"type": "bridge", "subtype": "ended", "code": process.wait()})

    def _add(self, line: Any) -> None:
        with self._changed:
            self._count += 1
            self._lines.append((self._count, line))
            del self._lines[:-MAX_LINES]
            self._changed.notify_all()

    def send(self, line: Any) -> None:
        """Write one line to the program. A prompt is also told to the pages, so that it is there after a reload."""
        assert self._process.stdin is not None
        with self._sending:
            if line["type"] == "user":
                self._add({"type": "bridge", "subtype": "prompt", "content": line["content"]})
            self._process.stdin.write(json.dumps(line).encode() + b"\n")
            self._process.stdin.flush()

    def restart(self, resume: str) -> None:
        """End the program and start it again, with a stored session or a new one; pages begin again."""
        with self._sending:
            self.stop()
            with self._changed:
                self._lines.clear()
            self._add({"type": "bridge", "subtype": "restarted"})
            self._process = self._start(*(["--resume", resume] if resume else []))

    def stop(self) -> None:
        """End the program: it stops with its input, or is killed."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
            self._process.wait(10)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
        self._reader.join(10)

    def after(self, number: int) -> list[tuple[int, Any]]:
        """The lines after this number; waits for one, but not for ever."""
        with self._changed:
            self._changed.wait_for(lambda: self._count > number, PAUSE)
            return [entry for entry in self._lines if entry[0] > number]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    program: Program
    token: str

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/" and self.is_own():
            self.reply(PAGE.read_bytes(), "text/html; charset=utf-8")
        elif path == "/lines" and self.is_own() and self.has_token():
            self.stream()

    def do_POST(self) -> None:
        if not (self.is_own() and self.has_token()):
            return
        size = self.headers.get("Content-Length", "")
        if not size.isdigit() or int(size) > MAX_BODY:
            self.refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return
        try:
            body = json.loads(self.rfile.read(int(size)))
            if self.path == "/send":
                self.program.send(body)
            elif self.path == "/restart":
                self.program.restart(str(body.get("resume") or ""))
            else:
                raise ValueError(self.path)
        except (AttributeError, KeyError, TypeError, ValueError):
            self.refuse(HTTPStatus.BAD_REQUEST)
        except OSError:
            self.refuse(HTTPStatus.BAD_GATEWAY)  # the program has ended
        else:
            self.reply(b"{}", "application/json")

    def is_own(self) -> bool:
        """Is the request meant for this server, and made by its own page? Another name for loopback in `Host` means a
        page whose name was pointed here; another `Origin` means a page of someone else."""
        port = self.server.server_address[1]
        hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        fine = host in hosts and (origin is None or origin == f"http://{host}")
        if not fine:
            self.refuse(HTTPStatus.FORBIDDEN)
        return fine

    def has_token(self) -> bool:
        fine = hmac.compare_digest(self.headers.get("X-Token", "").encode(), self.token.encode())
        if not fine:
            self.refuse(HTTPStatus.UNAUTHORIZED)
        return fine

    def stream(self) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        number = 0
        try:
            while True:
                found = self.program.after(number)
                for number, line in found:
                    self.wfile.write(json.dumps({"n": number, "line": line}).encode() + b"\n")
                if not found:
                    self.wfile.write(b"\n")
                self.wfile.flush()
        except OSError:
            pass  # the page has gone

    def reply(self, body: bytes, kind: str) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status: HTTPStatus) -> None:
        self.close_connection = True
        self.send_error(status)

    def log_message(self, *_: Any) -> None:
        """Say nothing about requests: the terminal shows the program's own messages."""


def main() -> None:
    words, port = sys.argv[1:], 0
    if words[:1] == ["--port"]:
        port, words = int(words[1]), words[2:]
    Handler.token = secrets.token_urlsafe(24)
    Handler.program = Program(words or ["yume-shim"])
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_address[1]}/#{Handler.token}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        Handler.program.stop()


if __name__ == "__main__":
    main()
