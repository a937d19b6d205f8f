"""Signs in to an MCP server in the browser, with the OAuth client of the official `mcp` package.

Nothing else imports that package: it takes longer to load than a whole start. The browser comes back to a listener on
the loopback interface, which accepts only the answer to the question that was asked (its `state`).
"""

from __future__ import annotations

import os
import sys

from yume_shim import __version__
from yume_shim.extensions.mcp.errors import McpError
from yume_shim.extensions.mcp.tokens import save, with_token
from yume_shim.types.packages import missing_package

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import Future, StreamReader, StreamWriter
    from collections.abc import Callable, Mapping

    from mcp.client.auth import OAuthClientProvider
    from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthToken

    from yume_shim.types.blocks import Json
    from yume_shim.types.settings import McpServer

LOGIN_S = 300.0
"""How long the user has."""
REQUEST_S = 30.0
LINE_S = 10.0
MAX_REQUEST_BYTES = 16_384
PAGE = "<!doctype html><meta charset=utf-8><title>yume-shim</title><p>{}</p>"
DONE = "Signed in. You can close this window."
FAILED = "The sign-in failed. The terminal says why."


def log_in(config: McpServer, env: Mapping[str, str], show: Callable[[str], None], *, open_browser: bool) -> None:
    """Sign in and keep the token; `show` gets the address for the browser. Raises McpError."""
    import logging

    try:
        from mcp.client.auth import OAuthFlowError, OAuthRegistrationError, OAuthTokenError  # isort: skip
        import anyio  # mcp brings it: without both, mcp is what has to be named
    except ImportError as error:
        raise McpError(missing_package(error) or str(error)) from None
    logging.disable(logging.CRITICAL)  # the package logs tracebacks; the error itself is shown
    attempt = _Attempt(config, env, show, open_browser)
    try:
        anyio.run(attempt.run)
    except (OAuthFlowError, OAuthRegistrationError, OAuthTokenError) as error:
        raise McpError(_short(error)) from None
    save(config.url, attempt.record, env)


class _Attempt:
    """One sign-in; also the storage that the package writes to. Everything runs on one event loop."""

    def __init__(
        self, config: McpServer, env: Mapping[str, str], show: Callable[[str], None], open_browser: bool
    ) -> None:
        self._config, self._env, self._show_address, self._open_browser = config, env, show, open_browser
        self._state = ""
        self._client: OAuthClientInformationFull | None = None
        self._answer: Future[AuthorizationCodeResult]
        self._tokens: Future[OAuthToken]
        self.record: Json = {}

    async def run(self) -> None:
        import asyncio

        loop = asyncio.get_running_loop()
        self._answer, self._tokens = loop.create_future(), loop.create_future()
        listener = await asyncio.start_server(self._on_request, "127.0.0.1", 0, limit=MAX_REQUEST_BYTES)
        port = listener.sockets[0].getsockname()[1]
        provider = self._provider(f"http://localhost:{port}/callback")
        request = asyncio.ensure_future(self._request(provider))
        try:
            async with asyncio.timeout(LOGIN_S):
                await asyncio.wait((request, self._tokens), return_when=asyncio.FIRST_COMPLETED)
            if not self._tokens.done():
                status = request.result()
                raise McpError(f"the server did not ask for a sign-in (HTTP {status})")
            self.record = self._record(provider, self._tokens.result())
        except TimeoutError:
            raise McpError(f"no sign-in within {LOGIN_S:g} s") from None
        finally:
            request.cancel()
            await asyncio.wait((request,), timeout=1.0)
            listener.close()

    def _provider(self, redirect: str) -> OAuthClientProvider:
        from mcp.client.auth import OAuthClientProvider
        from mcp.shared.auth import OAuthClientMetadata
        from pydantic import AnyUrl

        metadata = OAuthClientMetadata(
            client_name="yume-shim",
            software_version=__version__,
            redirect_uris=[AnyUrl(redirect)],
            token_endpoint_auth_method="none",
        )
        return OAuthClientProvider(self._config.url, metadata, self, self._show, self._callback)

    async def _request(self, provider: OAuthClientProvider) -> int:
        """A request that the server refuses without a token, which makes the package sign in."""
        import httpx2

        headers = {"Accept": "application/json, text/event-stream", **self._config.headers}
        headers = {name: text for name, text in headers.items() if name.lower() != "authorization"}
        hello = {
            "jsonrpc": "2.0",
            "id": 0,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "yume-shim", "version": __version__},
            },
        }
        method, body = ("GET", None) if self._config.kind == "sse" else ("POST", hello)
        try:
            async with (
                httpx2.AsyncClient(auth=provider, timeout=REQUEST_S) as client,
                client.stream(method, self._config.url, headers=headers, json=body) as response,
            ):
                return response.status_code
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            raise McpError(_short(error)) from None

    def _record(self, provider: OAuthClientProvider, tokens: OAuthToken) -> Json:
        """What is needed to use and to renew the token."""
        context, client = provider.context, self._client
        metadata = context.oauth_metadata
        endpoint = str(metadata.token_endpoint) if metadata is not None else provider._get_token_endpoint()
        record: Json = {
            "token_endpoint": endpoint,
            "client_id": client.client_id if client is not None else "",
            "client_secret": client.client_secret if client is not None else None,
            "auth_method": client.token_endpoint_auth_method if client is not None else None,
            "resource": context.get_resource_url() if context.should_include_resource_param() else None,
        }
        return with_token({name: text for name, text in record.items() if text}, tokens.model_dump())

    # ------------------------------------------------------------ the package's storage: every sign-in starts anew

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        if not self._tokens.done():
            self._tokens.set_result(tokens)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info

    # ------------------------------------------------------------ the browser

    async def _show(self, url: str) -> None:
        """Show the address, and open it where there is a browser."""
        from urllib.parse import parse_qs, urlsplit

        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not url.isascii() or not url.isprintable():
            raise McpError("the server named an address for the sign-in that cannot be opened")
        self._state = parse_qs(parts.query).get("state", [""])[-1]
        self._show_address(url)
        if self._open_browser and _has_browser(self._env):
            import threading
            import webbrowser

            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()

    async def _callback(self) -> AuthorizationCodeResult:
        return await self._answer

    async def _on_request(self, reader: StreamReader, writer: StreamWriter) -> None:
        """One request of the browser."""
        import asyncio

        try:
            async with asyncio.timeout(LINE_S):
                head = await reader.readuntil(b"\r\n\r\n")
            status, text = self._take(head.split(b"\r\n", 1)[0].decode("latin-1"))
            page = PAGE.format(text).encode()
            lines = (f"HTTP/1.1 {status}", "Content-Type: text/html; charset=utf-8", f"Content-Length: {len(page)}")
            writer.write("\r\n".join([*lines, "Connection: close", "\r\n"]).encode() + page)
            await writer.drain()
        except (OSError, ValueError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # not a browser, or it has gone
        finally:
            writer.close()

    def _take(self, line: str) -> tuple[str, str]:
        """(status, text) for a request line; the answer to our question settles the sign-in."""
        import hmac
        from urllib.parse import parse_qs, urlsplit

        from mcp.shared.auth import AuthorizationCodeResult

        method, _, rest = line.partition(" ")
        parts = urlsplit(rest.partition(" ")[0])
        given = {name: texts[0] for name, texts in parse_qs(parts.query).items()}
        known = bool(self._state) and hmac.compare_digest(given.get("state", "").encode(), self._state.encode())
        if method != "GET" or parts.path != "/callback" or not known or self._answer.done():
            return "404 Not Found", "Not found."
        if given.get("code"):
            self._answer.set_result(
                AuthorizationCodeResult(code=given["code"], state=given["state"], iss=given.get("iss"))
            )
            return "200 OK", DONE
        why = given.get("error_description") or given.get("error") or "no code"
        self._answer.set_exception(McpError(f"the sign-in was refused: {_short(why)}"))
        return "200 OK", FAILED


def _has_browser(env: Mapping[str, str]) -> bool:
    """A text browser would take over the terminal, so on Linux there must be a display or a choice of the user."""
    return (
        sys.platform == "darwin"
        or os.name == "nt"
        or any(env.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))
    )


def _short(error: object) -> str:
    """One printable line of a bounded length: it may quote the server."""
    text = " ".join(str(error).split())[:300]
    return "".join(character for character in text if character.isprintable()) or type(error).__name__
