"""The page of docs/examples/gui in a real browser, with the real bridge and the real program."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.helpers.browser import browser
from tests.helpers.host_world import program
from tests.helpers.scripted_model import call, hold, say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.helpers.browser import Browser
    from tests.helpers.host_world import HostWorld

BRIDGE = Path(__file__).parents[2] / "docs" / "examples" / "gui" / "bridge.py"
PICTURES = os.environ.get("TEST_PICTURES", "")
"""A folder for screenshots, for people who want to look at the page."""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests of this file: starting it takes longer than a test."""
    with browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@contextmanager
def bridge(world: HostWorld) -> Iterator[str]:
    """The address that the running bridge printed."""
    process = subprocess.Popen(
        [sys.executable, str(BRIDGE), program()], cwd=world.cwd, env=world.env, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.send_signal(2)
        assert process.wait(30) == 0
        process.stdout.close()


def ask(page: Browser, text: str) -> None:
    page.type("#prompt", text)
    page.click("#go")


def picture(page: Browser, world: HostWorld, name: str) -> None:
    if PICTURES:
        page.picture(Path(PICTURES) / f"{world.vendor.name}-{name}.png")


def idle(page: Browser) -> None:
    page.wait("!document.querySelector('#go.stop')")


@pytest.mark.chromium
def test_a_conversation(page: Browser, world: HostWorld) -> None:
    tea = world.cwd / "tea.py"
    tea.write_text("def brew():\n    degrees = 90\n    return degrees\n", "utf-8")
    edit = call("Edit", file_path="tea.py", old_string="degrees = 90", new_string="degrees = 70")
    world.serve(
        [
            say("Sencha wants **70 degrees**.\n\n```py\ndegrees = 70\n```\nI read the file first.", 9),
            call("Read", file_path="tea.py"),
        ],
        [edit],
        [say("Done: `tea.py` now brews at 70 degrees.")],
        [say("One, two, three"), hold()],
        [say("From the other model.")],
        [say("Still the same talk.")],
    )
    with bridge(world) as address:
        page.open("about:blank")
        page.open(address)
        page.wait("document.querySelector('#model').value")
        picture(page, world, "empty")
        ask(page, "Set the kettle to 70 degrees.")
        page.wait("document.querySelector('.ask .diff')")
        picture(page, world, "approval")
        assert page.text(".answer strong") == ["70 degrees"]
        assert page.text(".answer pre") == ["degrees = 70"]
        assert "-    degrees = 90" in page.text(".ask .diff")[0] or "degrees = 90" in page.text(".ask .diff .cut")[0]
        assert "degrees = 70" in page.text(".ask .diff .add")[0]
        assert tea.read_text("utf-8").count("90") == 1
        page.click(".ask .allow")
        idle(page)
        assert "degrees = 70" in tea.read_text("utf-8")
        assert page.run("return document.querySelectorAll('.call.done').length") == 2
        assert page.text(".user") == ["Set the kettle to 70 degrees."]
        assert page.text("#cost")[0].startswith("$0.")
        picture(page, world, "done")
        ask(page, "Count.")
        page.wait("document.querySelector('#talk').innerText.includes('One')")
        page.click("#go.stop")
        page.wait("[...document.querySelectorAll('.note')].some((each) => each.innerText === 'Stopped')")
        idle(page)
        _switch_model(page, "haiku")  # an alias of the configuration: the other model
        ask(page, "Who are you?")
        page.wait("document.querySelector('#talk').innerText.includes('From the other model.')")
        idle(page)
        _resume(page, world)
    assert world.requests()[-2].model == world.vendor.other_model
    assert "Set the kettle" in str(world.requests()[-1].said)


def _switch_model(page: Browser, model: str) -> None:
    page.wait("[...document.querySelector('#model').options].some((each) => each.value === arguments[0])", model)
    change = "const menu = document.querySelector('#model'); menu.value = arguments[0]; menu.onchange()"
    page.run(change, model)
    page.wait("[...document.querySelectorAll('.note')].some((each) => each.innerText.startsWith('Model: '))")


def _resume(page: Browser, world: HostWorld) -> None:
    """A new conversation, then the old one again from the list, with its history."""
    page.wait("document.querySelector('#sessions button.current')")
    page.click("#new")
    page.wait("document.querySelector('.empty') && !document.querySelector('#sessions button.current')")
    page.click("#sessions button")
    page.wait("document.querySelectorAll('.user').length >= 3")
    assert page.text(".user")[0] == "Set the kettle to 70 degrees."
    assert "tea.py" in page.text(".call summary span")[0]
    ask(page, "Go on.")
    page.wait("document.querySelector('#talk').innerText.includes('Still the same talk.')")
    idle(page)
    picture(page, world, "resumed")


def test_the_bridge_serves_its_own_page_only(any_world: HostWorld) -> None:
    any_world.serve()
    with bridge(any_world) as address:
        place = urlsplit(address)
        assert place.hostname == "127.0.0.1"
        assert place.port is not None

        def status(method: str, path: str, body: str | None = None, **headers: str) -> int:
            connection = http.client.HTTPConnection("127.0.0.1", place.port or 0, timeout=30)
            named = {name.replace("_", "-"): text for name, text in headers.items()}
            connection.request(method, path, body, named)
            found = connection.getresponse().status
            connection.close()
            return found

        token, own = place.fragment, f"http://127.0.0.1:{place.port}"
        assert status("GET", "/") == 200
        assert status("GET", "/", Host=f"evil.example:{place.port}") == 403
        assert status("GET", "/lines") == 401
        assert status("GET", "/lines", X_Token="wrong") == 401
        assert status("GET", "/lines", X_Token=token, Origin="http://evil.example") == 403
        assert status("GET", "/lines", X_Token=token, Origin=own) == 200
        assert status("POST", "/send", '{"type":"ping"}') == 401
        assert status("POST", "/send", '{"type":"ping"}', X_Token=token, Origin="null") == 403
        assert status("POST", "/send", '{"type":"ping"}', X_Token=token, Origin=own) == 200
        assert status("POST", "/send", "[]", X_Token=token) == 400
        assert status("POST", "/send", "{", X_Token=token) == 400
        assert status("POST", "/other", "{}", X_Token=token) == 400
        assert status("POST", "/send", "", X_Token=token, Content_Length=str(1 << 40)) == 413
