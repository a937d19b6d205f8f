"""Tokens of `yume-shim mcp login`: kept in the user's folder, sent as a header, renewed when they expire.

A token belongs to an address, not to a name: a folder's .mcp.json that uses a known name for another address gets
nothing. Renewing is done by one process at a time, because many servers accept a refresh token only once.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager

from yume_shim.disk.json_edit import NotAnObject, edit_json, read_object
from yume_shim.extensions.mcp.errors import McpError
from yume_shim.net.errors import NetError
from yume_shim.net.message import Body, is_sendable, read_final_head, request_head
from yume_shim.net.route import open_route
from yume_shim.net.url import parse_url
from yume_shim.system import try_lock
from yume_shim.text import codec
from yume_shim.types.errors import Cancelled
from yume_shim.types.folders import yume_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from yume_shim.types.blocks import Json
    from yume_shim.types.ports import Cancel

EARLY_S = 30.0
"""So long before its end a token counts as expired."""
RENEW_S = 20.0
"""How long one request for a new token may take; another process waits as long for it."""
MAX_ANSWER_BYTES = 256 << 10
LOCK_STEP_S = 0.05
FILE_MODE = 0o600


def tokens_path(env: Mapping[str, str]) -> str:
    return os.path.join(yume_folder(env), "mcp-tokens.json")


def load(url: str, env: Mapping[str, str]) -> Json | None:
    """What is kept for an address; None if nothing usable is."""
    try:
        found = read_object(tokens_path(env)).get(url)
    except (OSError, NotAnObject):
        return None
    if not isinstance(found, dict) or not isinstance(found.get("access_token"), str):
        return None
    return found if is_sendable("Authorization", f"Bearer {found['access_token']}") else None


def save(url: str, record: Json, env: Mapping[str, str]) -> None:
    """Keep a token. Raises McpError."""
    _change(env, lambda data: data.update({url: record}))


def forget(url: str, env: Mapping[str, str]) -> None:
    """Drop the token of an address, if there is one. Raises McpError."""
    if os.path.exists(tokens_path(env)):
        _change(env, lambda data: data.pop(url, None))


def _change(env: Mapping[str, str], change: Callable[[Json], object]) -> None:
    path = tokens_path(env)

    def changed(data: Json) -> None:
        change(data)

    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        edit_json(path, changed, mode=FILE_MODE)
    except (OSError, NotAnObject) as error:
        raise McpError(f"{path} cannot be changed: {error}") from None


class SavedToken:
    """The token of one address. Safe from any thread: requests of a channel run side by side."""

    def __init__(self, url: str, env: Mapping[str, str], record: Json, cancel: Cancel) -> None:
        self._url, self._env, self._cancel = url, env, cancel
        self._lock = threading.Lock()
        self._record = record

    def header(self) -> str:
        """The value of `Authorization`; the token is renewed first if it has expired."""
        with self._lock:
            if _has_expired(self._record):
                self._renew()
            return f"Bearer {self._record['access_token']}"

    def renew(self, refused: str) -> bool:
        """The server refused this header: is there a better one now?"""
        with self._lock:
            if f"Bearer {self._record['access_token']}" == refused:
                self._renew()
            return f"Bearer {self._record['access_token']}" != refused

    def _renew(self) -> None:
        """Take what another process has fetched, else fetch a new token. On failure the old one stays: the server
        then refuses it, and the status says that a sign-in is needed."""
        old = self._record["access_token"]
        try:
            with _one_at_a_time(self._env):
                kept = load(self._url, self._env)
                if kept is None:
                    return  # signed out meanwhile
                if kept["access_token"] == old or _has_expired(kept):
                    kept = _fetched(kept, self._env, self._cancel)
                    save(self._url, kept, self._env)
                self._record = kept
        except (McpError, NetError, OSError, ValueError, Cancelled):
            return


def saved_token(url: str, env: Mapping[str, str], cancel: Cancel) -> SavedToken | None:
    """The token for an address, if the user has signed in to it."""
    record = load(url, env)
    return None if record is None else SavedToken(url, env, record, cancel)


def _has_expired(record: Json) -> bool:
    until = record.get("expires_at")
    return isinstance(until, int | float) and time.time() >= until - EARLY_S


@contextmanager
def _one_at_a_time(env: Mapping[str, str]) -> Iterator[None]:
    """Raises OSError (a TimeoutError if another process keeps the lock)."""
    fd = os.open(f"{tokens_path(env)}.renew", os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), FILE_MODE)
    try:
        deadline = time.monotonic() + RENEW_S
        while not try_lock(fd):
            if time.monotonic() >= deadline:
                raise TimeoutError("another process renews a token")
            time.sleep(LOCK_STEP_S)
        yield
    finally:
        os.close(fd)


def _fetched(record: Json, env: Mapping[str, str], cancel: Cancel) -> Json:
    """The record with a new token. Raises McpError, NetError, OSError, ValueError or Cancelled."""
    if not isinstance(record.get("refresh_token"), str) or not isinstance(record.get("token_endpoint"), str):
        raise McpError("the token cannot be renewed")
    form = {
        "grant_type": "refresh_token",
        "refresh_token": record["refresh_token"],
        "client_id": str(record.get("client_id", "")),
    }
    if record.get("resource"):
        form["resource"] = str(record["resource"])
    headers = [("Accept", "application/json"), ("User-Agent", "yume-shim")]
    secret = record.get("client_secret")
    if secret and record.get("auth_method") == "client_secret_basic":
        from urllib.parse import quote

        from yume_shim.net.proxy import basic_auth

        headers.append(("Authorization", basic_auth(f"{quote(form['client_id'], '')}:{quote(secret, '')}")))
    elif secret:
        form["client_secret"] = str(secret)
    answer = _post_form(record["token_endpoint"], form, headers, env, cancel)
    fresh = answer.get("access_token")
    if not isinstance(fresh, str) or not is_sendable("Authorization", f"Bearer {fresh}"):
        raise McpError("the answer has no token")
    return with_token(record, answer)


def with_token(record: Json, answer: Json) -> Json:
    """The record with the fields of a token answer; what it leaves out stays."""
    kept = {name: answer[name] for name in ("access_token", "refresh_token", "scope") if answer.get(name)}
    seconds = answer.get("expires_in")
    until = {"expires_at": int(time.time() + seconds)} if isinstance(seconds, int | float) else {}
    return {**{name: text for name, text in record.items() if name != "expires_at"}, **kept, **until}


def _post_form(
    address: str, form: Mapping[str, str], headers: list[tuple[str, str]], env: Mapping[str, str], cancel: Cancel
) -> Json:
    from urllib.parse import urlencode

    url, body = parse_url(address), urlencode(form).encode("ascii")
    deadline = time.monotonic() + RENEW_S
    connection = open_route(url, env, RENEW_S, cancel)
    try:

        def read() -> bytes:
            return connection.read(max(0.1, deadline - time.monotonic()))

        headers = [*headers, ("Content-Type", "application/x-www-form-urlencoded")]
        connection.sock.settimeout(RENEW_S)
        connection.sock.sendall(request_head(url, headers, len(body), connection.via) + body)
        head = read_final_head(connection, read)
        source, answer = Body(head, read, MAX_ANSWER_BYTES), b""
        while (piece := source.next()) is not None:
            answer += piece
            if len(answer) > MAX_ANSWER_BYTES or time.monotonic() > deadline:
                raise McpError("the answer is too long")
    finally:
        connection.close()
    found = codec.loads_object(answer)
    if head.status not in (200, 201) or found is None:
        raise McpError(f"the token was not renewed (HTTP {head.status})")
    return found
