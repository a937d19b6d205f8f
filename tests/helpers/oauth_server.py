"""An MCP server over HTTP that wants a sign-in, with its own authorization server, on the loopback interface.

It has what the MCP specification asks for: metadata of the resource and of the authorization server, dynamic
registration, authorization code with PKCE (S256), token, refresh with rotation. It checks what it gets.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

if TYPE_CHECKING:
    from types import TracebackType


class OAuthServer:
    """`with OAuthServer() as server:` serves `server.url`; `seen` has what happened, in order."""

    def __init__(self, *, expires_in: int = 3_600, refuse: str = "", kind: str = "http") -> None:
        """`refuse`: the error that the sign-in page answers with; `kind`: the transport, "http" or "sse"."""
        self.kind = kind
        self.messages: SimpleQueue[Any] = SimpleQueue()
        """Answers for the newest event stream of an "sse" server; None ends it."""
        self.expires_in, self.refuse = expires_in, refuse
        self.seen: list[str] = []
        self.valid: set[str] = set()
        self.codes: dict[str, dict[str, str]] = {}
        self.refresh = ""
        self.clients: dict[str, list[str]] = {}
        self.lock = threading.Lock()
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.base = f"http://127.0.0.1:{self.http.server_address[1]}"
        self.url = f"{self.base}/mcp"

    def __enter__(self) -> OAuthServer:
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.messages.put(None)
        self.http.shutdown()
        self.http.server_close()

    def revoke(self) -> None:
        """Every access token so far is refused from now on."""
        with self.lock:
            self.valid.clear()

    def count(self, what: str) -> int:
        return self.seen.count(what)

    # ------------------------------------------------------------ answers: (status, body, headers)

    def metadata(self, path: str) -> tuple[int, Any, dict[str, str]]:
        if path.startswith("/.well-known/oauth-protected-resource"):
            return 200, {"resource": self.url, "authorization_servers": [self.base]}, {}
        if path.startswith("/.well-known/oauth-authorization-server"):
            found = {
                "issuer": self.base,
                "authorization_endpoint": f"{self.base}/authorize",
                "token_endpoint": f"{self.base}/token",
                "registration_endpoint": f"{self.base}/register",
                "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "token_endpoint_auth_methods_supported": ["none"],
                "code_challenge_methods_supported": ["S256"],
            }
            return 200, found, {}
        return 404, {}, {}

    def register(self, body: bytes) -> tuple[int, Any, dict[str, str]]:
        asked = json.loads(body)
        client = f"client-{len(self.clients) + 1}"
        self.clients[client] = asked["redirect_uris"]
        return 201, {**asked, "client_id": client}, {}

    def authorize(self, query: dict[str, str]) -> tuple[int, Any, dict[str, str]]:
        good = query["redirect_uri"] in self.clients[query["client_id"]] and query["code_challenge_method"] == "S256"
        if not good or query["resource"] != self.url:
            return 400, {}, {}
        if self.refuse:
            answer = {"error": self.refuse, "state": query["state"]}
        else:
            answer = {"code": f"code-{len(self.codes) + 1}", "state": query["state"]}
            self.codes[answer["code"]] = query
        return 302, {}, {"Location": f"{query['redirect_uri']}?{urlencode(answer)}"}

    def token(self, form: dict[str, str]) -> tuple[int, Any, dict[str, str]]:
        if form["grant_type"] == "authorization_code":
            asked = self.codes.pop(form["code"], None)
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            if asked is None or asked["code_challenge"] != challenge or asked["redirect_uri"] != form["redirect_uri"]:
                return 400, {"error": "invalid_grant"}, {}
        elif form["refresh_token"] != self.refresh or form["client_id"] not in self.clients:
            return 400, {"error": "invalid_grant"}, {}  # rotated: each refresh token works once
        with self.lock:
            number = self.count("token")
            fresh, self.refresh = f"access-{number}", f"refresh-{number}"
            self.valid.add(fresh)
        answer = {"access_token": fresh, "token_type": "Bearer", "refresh_token": self.refresh}
        return 200, {**answer, "expires_in": self.expires_in}, {}

    def unauthorized(self, authorization: str) -> tuple[int, Any, dict[str, str]] | None:
        if authorization.removeprefix("Bearer ") in self.valid:
            return None
        where = f"{self.base}/.well-known/oauth-protected-resource/mcp"
        return 401, {}, {"WWW-Authenticate": f'Bearer resource_metadata="{where}"'}

    def mcp(self, body: bytes, authorization: str) -> tuple[int, Any, dict[str, str]]:
        refused = self.unauthorized(authorization)
        if refused is not None:
            return refused
        asked = json.loads(body)
        match asked.get("method"):
            case "initialize":
                version = asked["params"]["protocolVersion"]
                result: Any = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "o"}}
            case "tools/list":
                result = {"tools": [{"name": "who", "inputSchema": {"type": "object"}}]}
            case "tools/call":
                result = {"content": [{"type": "text", "text": "it is you"}]}
            case _:
                return 202, None, {}
        return 200, {"jsonrpc": "2.0", "id": asked.get("id"), "result": result}, {}


def _handler(server: OAuthServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path == "/authorize":
                server.seen.append("authorize")
                self._answer(*server.authorize(dict(parse_qsl(parts.query))))
            elif parts.path == "/mcp":
                refused = server.unauthorized(self.headers.get("Authorization", ""))
                if server.kind == "http" or refused is not None:
                    self._answer(*(refused if refused is not None and server.kind == "sse" else (405, {}, {})))
                else:
                    self._stream()
            else:
                self._answer(*server.metadata(parts.path))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            match self.path:
                case "/register":
                    server.seen.append("register")
                    self._answer(*server.register(body))
                case "/token":
                    form = dict(parse_qsl(body.decode()))
                    server.seen += ["token", form["grant_type"]]
                    self._answer(*server.token(form))
                case "/messages":
                    status, answer, headers = server.mcp(body, self.headers.get("Authorization", ""))
                    if status == 200:
                        server.messages.put(answer)
                    self._answer(202 if status == 200 else status, None, headers)
                case _:
                    self._answer(*server.mcp(body, self.headers.get("Authorization", "")))

        def _stream(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            server.messages.put(None)  # ends the stream before, whose client has gone
            mine = server.messages = SimpleQueue()
            self.wfile.write(b"event: endpoint\ndata: /messages\n\n")
            while (message := mine.get()) is not None:
                self.wfile.write(f"data: {json.dumps(message)}\n\n".encode())

        def _answer(self, status: int, body: Any, headers: dict[str, str]) -> None:
            data = b"" if body is None else json.dumps(body).encode()
            self.send_response(status)
            for name, text in {**headers, "Content-Type": "application/json", "Content-Length": str(len(data))}.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is printed."""

    return Handler
