"""A headless Chromium, driven over its DevTools pipe with the standard library: no driver, no port."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.helpers.timing import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WAIT = 60.0
"""Seconds for one command."""
GOING = ("navigated", "context was destroyed", "Cannot find context")
"""What a command answers while another page is being loaded."""
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *(
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--remote-debugging-pipe",
        "--no-first-run",
    ),
    *(
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-extensions",
        "--disable-sync",
        "--disable-quic",
        "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",  # the browser's own services find nobody
        "--window-size=1200,860",
    ),
)


class Browser:
    """One open page. What it asked for, said and threw is in `requests`, `dialogs` and `errors`."""

    def __init__(self, commands: int, answers: int, pid: int) -> None:
        """`pid`: the leader of its process group."""
        self._commands, self._answers, self.pid = commands, answers, pid
        self._rest = b""
        self._count = 0
        self._session = ""
        self.requests: list[str] = []
        self.dialogs: list[str] = []
        self.errors: list[str] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def open(self, url: str) -> None:
        """Load a page, up to its `load` event."""
        self.requests, self.errors = [], []
        self.send("Page.navigate", url=url)
        blank = url == "about:blank"
        self.wait("document.readyState === 'complete' && (location.href === 'about:blank') === arguments[0]", blank)

    def run(self, script: str, *given: object) -> Any:
        """What a script returns in the page."""
        code = f"(function(){{{script}}}).apply(null, {json.dumps(given)})"
        done = self.send("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in done:
            raise AssertionError(f"{script[:200]}: {json.dumps(done['exceptionDetails'])[:500]}")
        return done["result"].get("value")

    def wait(self, script: str, *given: object) -> Any:
        """The value of an expression as soon as it is true."""
        found: list[Any] = []

        def ready() -> bool:
            try:
                code = f"const found = {script}; return found instanceof Element ? true : found"  # it has no JSON
                found[:] = [self.run(code, *given)]
            except AssertionError as error:
                if not any(word in str(error) for word in GOING):
                    raise
                return False  # another page is being loaded
            return bool(found[0])

        wait_until(ready, script)
        return found[0]

    def text(self, selector: str) -> list[str]:
        """The visible text of each element."""
        found: list[str] = self.run(
            "return [...document.querySelectorAll(arguments[0])].map((each) => each.innerText)", selector
        )
        return found

    def click(self, selector: str) -> None:
        self.wait("document.querySelector(arguments[0]) !== null", selector)
        self.run("document.querySelector(arguments[0]).click()", selector)

    def type(self, selector: str, text: str) -> None:
        """Type into an element with real key events."""
        self.wait("document.querySelector(arguments[0]) !== null", selector)
        self.run("document.querySelector(arguments[0]).focus()", selector)
        self.press(*text)

    def press(self, *keys: str) -> None:
        """Press keys where the focus is."""
        for key in keys:
            facts = {"key": key, "text": key} if len(key) == 1 else {"key": key, "text": "\r" if key == "Enter" else ""}
            self.send("Input.dispatchKeyEvent", type="keyDown", **facts)
            self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def look(self, width: int = 1200, height: int = 860, *, dark: bool = False, media: str = "screen") -> None:
        """The size and the colours of the window."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", media=media, features=[scheme])

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot")["data"]))

    def send(self, method: str, **params: object) -> Any:
        """One command of the DevTools protocol."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        data = memoryview(json.dumps(message).encode() + b"\0")
        while data:
            data = data[os.write(self._commands, data) :]
        deadline = time.monotonic() + WAIT
        while True:
            found = self._next(deadline, method)
            if found.get("id") == self._count:
                if "error" in found:
                    raise AssertionError(f"{method}: {found['error']}")
                return found["result"]
            self._note(found)

    def _next(self, deadline: float, waiting: str) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._answers], [], [], max(deadline - time.monotonic(), 0))
            data = os.read(self._answers, 1 << 20) if ready else b""
            if not data:
                raise AssertionError(f"the browser does not answer {waiting}")
            self._rest += data
        raw, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(raw)
        return found

    def _note(self, event: dict[str, Any]) -> None:
        kind, facts = event.get("method"), event.get("params", {})
        if kind == "Network.requestWillBeSent":
            self.requests.append(facts["request"]["url"])
        elif kind == "Page.javascriptDialogOpening":
            self.dialogs.append(facts["message"])
            self._count += 1
            closing = {"id": self._count, "method": "Page.handleJavaScriptDialog", "params": {"accept": True}}
            os.write(self._commands, json.dumps(closing | {"sessionId": self._session}).encode() + b"\0")
        elif kind == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(facts["exceptionDetails"])[:500])
        elif kind == "Log.entryAdded" and facts["entry"]["level"] == "error":
            self.errors.append(facts["entry"]["text"])


@contextmanager
def browser(home: Path) -> Iterator[Browser]:
    """A browser with an empty profile below `home`; ended with the test."""
    program = next(found for name in PROGRAMS if (found := shutil.which(name)))
    their_commands, our_commands = os.pipe()
    our_answers, their_answers = os.pipe()
    # Chromium reads commands from descriptor 3 and writes answers to 4
    given = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (their_commands, their_answers)]
    silent = os.open(os.devnull, os.O_RDWR)
    actions: list[tuple[int, int, int]] = [
        *((os.POSIX_SPAWN_DUP2, silent, fd) for fd in (0, 1, 2)),
        (os.POSIX_SPAWN_DUP2, given[0], 3),
        (os.POSIX_SPAWN_DUP2, given[1], 4),
    ]
    words = [program, *FLAGS, f"--user-data-dir={home / 'profile'}", "about:blank"]
    pid = os.posix_spawn(program, words, {**os.environ, "HOME": str(home)}, file_actions=actions, setpgroup=0)
    for fd in (their_commands, their_answers, *given, silent):
        os.close(fd)
    try:
        yield Browser(our_commands, our_answers, pid)
    finally:
        os.close(our_commands)
        os.close(our_answers)
        os.killpg(pid, signal.SIGKILL)  # it has no work to save
        os.waitpid(pid, 0)
