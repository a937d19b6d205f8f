"""A headless Chromium, driven over the WebDriver protocol with the standard library."""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import subprocess
import urllib.error
import urllib.request
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.helpers.timing import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WAIT = 60.0
"""Seconds for one command of the driver."""


class Browser:
    """One open page."""

    def __init__(self, address: str, session: str) -> None:
        self._address = f"{address}/session/{session}"

    def open(self, url: str) -> None:
        _command(f"{self._address}/url", {"url": url})

    def run(self, script: str, *given: object) -> Any:
        """What a script returns in the page."""
        return _command(f"{self._address}/execute/sync", {"script": script, "args": list(given)})

    def wait(self, script: str, *given: object) -> Any:
        """The value of an expression as soon as it is true."""
        found: list[Any] = []

        def ready() -> bool:
            found[:] = [self.run(f"return {script}", *given)]
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
        self.wait("document.querySelector(arguments[0])", selector)
        self.run("document.querySelector(arguments[0]).click()", selector)

    def type(self, selector: str, text: str) -> None:
        """Type into an element with real key events."""
        element = _command(f"{self._address}/element", {"using": "css selector", "value": selector})
        _command(f"{self._address}/element/{next(iter(element.values()))}/value", {"text": text})

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(_command(f"{self._address}/screenshot")))

    def close(self) -> None:
        _command(self._address, method="DELETE")


@contextmanager
def browser(home: Path) -> Iterator[Browser]:
    """A browser with an empty profile below `home`; ended with the test."""
    chromium = next(
        found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))
    )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    driver = subprocess.Popen(
        ["chromedriver", f"--port={port}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HOME": str(home)},
    )
    address = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: _answers(f"{address}/status"), "the driver of the browser")
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1200,860", "--disable-dev-shm-usage"]
        options = {"binary": chromium, "args": [*flags, f"--user-data-dir={home / 'profile'}"]}
        wanted = {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}}
        opened = Browser(address, _command(f"{address}/session", wanted)["sessionId"])
        yield opened
        opened.close()
    finally:
        driver.terminate()
        driver.wait(WAIT)


def _answers(url: str) -> bool:
    try:
        return bool(_command(url)["ready"])
    except (OSError, urllib.error.URLError):
        return False


def _command(url: str, body: Any = None, method: str = "") -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method or None)
    try:
        with urllib.request.urlopen(request, timeout=WAIT) as answer:
            return json.loads(answer.read())["value"]
    except urllib.error.HTTPError as error:
        raise AssertionError(f"{url}: {error.read().decode()[:500]}") from None
