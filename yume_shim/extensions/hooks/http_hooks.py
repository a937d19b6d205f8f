"""Posts a hook's event to an address, and reads its JSON answer. Redirects are not followed, nothing is retried."""

from __future__ import annotations

import re

from yume_shim.extensions.hooks.answers import HookRun
from yume_shim.net.errors import NetError, TimedOut
from yume_shim.net.message import Body, Deadline, is_sendable, read_final_head, request_head
from yume_shim.net.route import open_route
from yume_shim.net.url import parse_url

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from yume_shim.extensions.hooks.specs import Hook
    from yume_shim.types.ports import Cancel
    from yume_shim.types.settings import HookSettings

MAX_ANSWER = 1 << 20
"""Bytes of an answer; a longer one does not count."""
CONNECT_S = 30.0
OWN_HEADERS = ("content-length", "transfer-encoding", "host", "connection")
"""Headers that the user cannot set: they belong to the transport."""
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


def post(hook: Hook, given: bytes, limits: HookSettings, env: Mapping[str, str], cancel: Cancel) -> HookRun:
    """Post the event. Raises Cancelled."""
    if limits.http_urls is not None and not any(_matches(pattern, hook.url) for pattern in limits.http_urls):
        return HookRun(hook, failed=f"{hook.url} is not in `allowedHttpHookUrls`")
    headers = [("Content-Type", "application/json"), ("Accept", "application/json"), ("User-Agent", "yume-shim")]
    for name, text in hook.headers.items():
        filled = _filled(text, hook, limits, env)
        if not is_sendable(name, filled):
            return HookRun(hook, failed=f"the header {name} cannot be sent")
        if name.lower() not in OWN_HEADERS:
            headers = [(known, value) for known, value in headers if known.lower() != name.lower()] + [(name, filled)]
    try:
        return _exchange(hook, headers, given, env, cancel)
    except TimedOut:
        cancel.check()
        return HookRun(hook, timed_out=True, failed="it timed out")
    except (NetError, OSError, ValueError) as error:
        cancel.check()
        return HookRun(hook, failed=str(error) or type(error).__name__)


def _exchange(
    hook: Hook, headers: list[tuple[str, str]], given: bytes, env: Mapping[str, str], cancel: Cancel
) -> HookRun:
    url, deadline = parse_url(hook.url), Deadline(hook.seconds)
    connection = open_route(url, env, deadline.seconds(CONNECT_S), cancel)

    def read() -> bytes:
        try:
            return connection.read(deadline.seconds(hook.seconds))
        except TimeoutError:
            raise TimedOut("answer", hook.seconds) from None

    try:
        with cancel.guard(connection.abort):
            connection.sock.settimeout(deadline.seconds(hook.seconds))
            connection.sock.sendall(request_head(url, headers, len(given), connection.via, "POST") + given)
            head = read_final_head(connection, read)
            kept, cut = bytearray(), False
            body = Body(head, read, MAX_ANSWER)
            while not cut and head.status != 204 and (piece := body.next()) is not None:
                cut = len(kept) + len(piece) > MAX_ANSWER
                kept += piece[: MAX_ANSWER - len(kept)]
    except TimeoutError:
        raise TimedOut("answer", hook.seconds) from None
    finally:
        connection.close()
    text = bytes(kept).decode("utf-8", "replace")
    if not 200 <= head.status <= 299:
        return HookRun(hook, head.status, text, failed=f"HTTP {head.status} from {hook.url}")
    return HookRun(hook, head.status, text, cut=cut)


def _matches(pattern: str, url: str) -> bool:
    """`*` in a pattern matches any text."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), url) is not None


def _filled(text: str, hook: Hook, limits: HookSettings, env: Mapping[str, str]) -> str:
    """The header with its variables; those that the hook or the settings do not allow are empty."""

    def value_of(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        allowed = name in hook.allowed_variables and (limits.http_variables is None or name in limits.http_variables)
        return env.get(name, "") if allowed else ""

    return _VARIABLE.sub(value_of, text).strip()
