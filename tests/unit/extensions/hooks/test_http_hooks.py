"""Hooks that are posted to an address, with a real server."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.timing import set_when
from yume_shim.engine.cancel import CancelSignal
from yume_shim.extensions.hooks.answers import HookRun, read_answer
from yume_shim.extensions.hooks.http_hooks import MAX_ANSWER, post
from yume_shim.extensions.hooks.specs import Hook
from yume_shim.types.errors import Cancelled
from yume_shim.types.settings import HookSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

DENY = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}
ANSWERS: dict[str, tuple[int, bytes]] = {
    "/deny": (200, json.dumps(DENY).encode()),
    "/empty": (200, b""),
    "/nothing": (204, b""),
    "/text": (200, b"yes"),
    "/half": (200, b'{"decision":'),
    "/error": (500, b'{"decision": "block"}'),
    "/moved": (302, b""),
    "/huge": (200, b'{"reason": "' + b"x" * MAX_ANSWER + b'"}'),
}


class Place:
    """A server that answers by path, keeps what it was sent, and leaves `/silent` unanswered."""

    def __init__(self) -> None:
        self.seen: list[tuple[dict[str, str], bytes]] = []
        self.closing = threading.Event()
        place = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                place.seen.append(({name.lower(): text for name, text in self.headers.items()}, body))
                if self.path == "/silent":
                    place.closing.wait(60)
                    return
                status, answer = ANSWERS[self.path]
                self.send_response(status)
                self.send_header("Location", "/deny")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    made = Place()
    yield made
    made.close()


def send(place: Place, path: str, limits: HookSettings | None = None, **fields: Any) -> HookRun:
    hook = Hook("PreToolUse", url=place.url + path, **fields)
    env = {"TOKEN": "t1", "SECRET": "s1"}
    return post(hook, b'{"a": 1}', limits or HookSettings(), env, CancelSignal())


@pytest.mark.parametrize(
    ("path", "code", "failure", "refuses"),
    [
        ("/deny", 200, "", True),
        ("/empty", 200, "", False),
        ("/nothing", 204, "", False),
        ("/text", 200, "its answer is not JSON", False),
        ("/half", 200, "its answer is not valid JSON", False),
        ("/huge", 200, "its answer is too long to be read", True),
    ],
)
def test_answers(place: Place, path: str, code: int, failure: str, refuses: bool) -> None:
    run = send(place, path)
    answer = read_answer(run)
    assert (run.code, answer.failure, answer.refuses) == (code, failure, refuses)


@pytest.mark.parametrize("path", ["/error", "/moved"])
def test_other_statuses_fail_and_redirects_are_not_followed(place: Place, path: str) -> None:
    run = send(place, path)
    status = ANSWERS[path][0]
    assert (run.code, run.failed) == (status, f"HTTP {status} from {place.url}{path}")


def test_headers_hold_only_variables_that_the_hook_names(place: Place) -> None:
    headers = {"Authorization": "Bearer $TOKEN", "X-Other": "a ${SECRET}b $NONE", "content-length": "5"}
    send(place, "/empty", headers=headers, allowed_variables=("TOKEN", "NONE"))
    seen, body = place.seen[-1]
    assert (seen["authorization"], seen["x-other"], body) == ("Bearer t1", "a b", b'{"a": 1}')
    assert seen["content-type"] == "application/json"
    send(place, "/empty", HookSettings(http_variables=()), headers=headers, allowed_variables=("TOKEN",))
    assert place.seen[-1][0]["authorization"] == "Bearer"


def test_the_settings_limit_addresses(place: Place) -> None:
    count = len(place.seen)
    run = send(place, "/deny", HookSettings(http_urls=("https://*", "http://127.0.0.1:1/*")))
    assert (run.failed, len(place.seen)) == (f"{place.url}/deny is not in `allowedHttpHookUrls`", count)
    assert send(place, "/deny", HookSettings(http_urls=("http://127.0.0.1:*/deny",))).code == 200


def test_a_header_that_cannot_be_sent_fails_the_hook(place: Place) -> None:
    assert send(place, "/empty", headers={"X": "a\r\nHost: b"}).failed == "the header X cannot be sent"


def test_an_address_that_nobody_answers(place: Place) -> None:
    run = send(place, "/silent", seconds=0.3)
    assert (run.timed_out, run.failed) == (True, "it timed out")
    refused = post(Hook("PreToolUse", url="http://127.0.0.1:1/"), b"{}", HookSettings(), {}, CancelSignal())
    assert (refused.timed_out, bool(refused.failed)) == (False, True)


def test_an_interrupt_ends_the_wait(place: Place) -> None:
    cancel, count = CancelSignal(), len(place.seen)
    set_when(cancel, lambda: len(place.seen) > count)
    with pytest.raises(Cancelled):
        post(Hook("PreToolUse", url=place.url + "/silent"), b"{}", HookSettings(), {}, cancel)
