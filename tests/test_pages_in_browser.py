"""The pages in a real browser: nothing runs, nothing is fetched, and search, filters and keys work."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers.browser import browser
from tests.helpers.page_samples import Story, arabic_session, long_session, text, ugly_session
from yume_shim.app.watch.server import WatchServer
from yume_shim.app.watch.session_list import SessionList
from yume_shim.pages.cleaning import Cleaner
from yume_shim.pages.html.page import page as page_of
from yume_shim.pages.readers.transcript import read_transcript

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.helpers.browser import Browser

pytestmark = pytest.mark.chromium
PICTURES = os.environ.get("TEST_PICTURES", "")
"""A folder for screenshots, for people who want to look at the pages."""
WIDTHS = (("wide", 1200, False), ("dark", 1200, True), ("phone", 390, False))
VISIBLE = "[...document.querySelectorAll('#session .turn:not([hidden]) .item:not([hidden])')].length"

COVERED = """return [...document.querySelectorAll('.copy')].filter((button) => {
  const box = button.getBoundingClientRect(), range = document.createRange();
  const near = button.parentElement.querySelector(':scope > pre') ?? button.nextElementSibling;
  if (!near || !box.width) return false;
  range.selectNodeContents(near);
  return [...range.getClientRects()].some((line) => line.width && line.left < box.right && line.right > box.left
    && line.top < box.bottom - 4 && line.bottom > box.top + 4);
}).map((button) => button.parentElement.innerText)"""
"""The blocks in which the copy button lies over text."""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests of this file: starting it takes longer than a test."""
    with browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


def show(page: Browser, folder: Path, data: bytes, name: str = "page") -> None:
    path = folder / f"{name}.html"
    path.write_text(page_of(read_transcript(data.splitlines(), Cleaner())), "utf-8")
    page.open(path.as_uri())
    if PICTURES:
        for look, width, dark in WIDTHS:
            page.look(width, 1400, dark=dark)
            page.picture(Path(PICTURES) / f"{name}-{look}.png")
    page.look()


def silent(page: Browser) -> bool:
    """No dialog, no error, no request but the page's own."""
    return (page.dialogs, page.errors) == ([], []) and all(
        url.startswith("data:image/") or url == page.requests[0] for url in page.requests
    )


def test_nothing_runs_and_nothing_is_fetched(page: Browser, tmp_path: Path) -> None:
    show(page, tmp_path, ugly_session(), "ugly")
    page.click("#expand")
    page.run("window.scrollTo(0, 1e9)")
    for element in ("summary", "p", "img"):
        page.run(
            "for (const each of document.querySelectorAll(arguments[0])) each.dispatchEvent(new MouseEvent('mouseover'))",
            element,
        )
    assert (
        page.run("return document.querySelectorAll('script, iframe, object, embed, link[rel=stylesheet], base').length")
        == 1
    )
    assert (
        page.run(
            "return [...document.querySelectorAll('*')].some((each) => each.getAttributeNames().some((name) => name.startsWith('on')))"
        )
        is False
    )
    assert silent(page), (page.dialogs, page.errors, page.requests)
    # the second wall: a script that got in would not run
    page.run("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"document.title=1\">')")
    page.run(
        "const s = document.createElement('script'); s.textContent = 'document.title = 2'; document.body.append(s)"
    )
    page.wait("document.querySelector('img[src=x]') !== null")
    assert page.run("return document.title").startswith("Ugly ")


def test_search_filters_and_keys(page: Browser, tmp_path: Path) -> None:
    show(page, tmp_path, long_session(50), "long")
    everything = page.run(f"return {VISIBLE}")
    assert everything == 50 * 6
    page.press("/")
    page.type("#find", "1 failed")
    page.wait("document.getElementById('found').textContent === '2 found'")
    assert page.run(f"return {VISIBLE}") == 2
    page.press("Enter")
    page.wait("document.getElementById('found').textContent === '1 of 2'")
    assert page.run("return document.querySelector('.card:not([hidden])').open") is True
    assert page.run("return CSS.highlights.get('now').size") == 1
    page.press("Escape")
    page.wait(f"{VISIBLE} === {everything}")
    for chip, left in (("thinking", 250), ("tool", 100), ("answer", 50)):
        page.click(f"[data-filter={chip}]")
        assert page.run(f"return {VISIBLE}") == left
    for chip in ("thinking", "tool", "answer"):
        page.click(f"[data-filter={chip}]")
    page.press("x")
    assert page.run(f"return {VISIBLE}") == 2
    assert page.run("return document.querySelectorAll('#contents li:not([hidden])').length") == 2
    page.press("x")
    page.run("const s = document.getElementById('tools'); s.value = 'Edit'; s.dispatchEvent(new Event('change'))")
    assert page.run(f"return {VISIBLE}") == 50
    page.run("const s = document.getElementById('tools'); s.value = ''; s.dispatchEvent(new Event('change'))")
    page.press("e")
    assert page.run("return document.querySelectorAll('#session details:not([open])').length") == 0
    page.press("c")
    assert page.run("return document.querySelectorAll('#session details[open]').length") == 0
    page.run("scrollTo(0, 0)")
    page.press("j", "j", "j")
    page.wait("document.querySelector('.side .here .n')?.textContent === '3'")
    page.press("k")
    page.wait("document.querySelector('.side .here .n')?.textContent === '2'")
    page.type("#find", "copy")  # the words on buttons are not found
    page.wait("document.getElementById('found').textContent === 'nothing'")
    page.press("Escape")
    page.press("?")
    assert page.run("return document.getElementById('help').open") is True
    page.click("#singles")
    page.click("#help button")
    page.wait("!document.getElementById('help').open")
    page.press("x")
    assert page.run("return document.getElementById('errors').getAttribute('aria-pressed')") == "false"
    page.click("#singles")
    before = page.run("return getComputedStyle(document.body).backgroundColor")
    page.press("t")
    page.wait(f"getComputedStyle(document.body).backgroundColor !== {before!r}")
    page.run("location.hash = '#t40-4'")
    page.wait("document.getElementById('t40-4').open")
    # the contents list what is in the turn that is being read, and an opened card is in the address
    page.wait("document.querySelector('.here .n').textContent === '40'")
    assert page.run("return [...document.querySelectorAll('.within .l')].map((each) => each.textContent)") == [
        "✓ Read /srv/ume/garden/plans/bed0.py",
        "✓ Edit /srv/ume/garden/plans/bed0.py",
        "✓ Bash python -m pytest tests/test_bed0.py -q",
        "Bed 0 now gets 40 litres.",
    ]
    page.click("#t40-2 > summary")
    assert page.run("return location.hash") == "#t40-2"
    # what scrolls is reached with Tab, in every browser
    page.click("#t40-2 > summary")
    page.press("Tab")
    assert page.run("return document.querySelector('#t40-2 pre').tabIndex") == 0
    assert silent(page)


def test_copying_takes_the_code_alone(page: Browser, tmp_path: Path) -> None:
    show(page, tmp_path, long_session(1))
    page.wait("document.querySelector('.answer .code .copy') !== null")
    assert page.run("return document.querySelectorAll('[data-tool=Read] u').length") == 29
    page.run("window.taken = []; navigator.clipboard.writeText = async (text) => { taken.push(text); }")
    page.click(".answer .code .copy")
    page.wait("window.taken.length")
    page.click("[data-tool=Read] .copy")
    page.wait("window.taken.length === 2")
    assert (
        page.run("return taken.pop()").splitlines()[28] == "def water_29(bed: int, litres: float = 29.5) -> None: ..."
    )
    assert page.run("return taken") == ["def plan(bed: int) -> float:\n    return 1 * 1.5  # litres"]


def test_right_to_left(page: Browser, tmp_path: Path) -> None:
    show(page, tmp_path, arabic_session(), "arabic")
    direction = "return getComputedStyle(document.querySelector(arguments[0])).direction"
    assert [
        page.run(direction, selector) for selector in ("h1", ".prompt p:not(.who)", ".answer li", ".answer th")
    ] == ["rtl"] * 4
    assert [page.run(direction, selector) for selector in (".answer pre", ".diff", "body", "p code")] == ["ltr"] * 4
    inside = """const box = (selector) => document.querySelector(selector).getBoundingClientRect();
    return box('.answer ol').right - box('.answer ol li').right"""
    assert page.run(inside) > 20, "the numbers have their place on the right"
    page.wait("document.querySelector('.answer > .copy') !== null")
    assert page.run(COVERED) == []


@pytest.mark.parametrize("width", [320, 390, 768, 1200])
def test_no_width_needs_sideways_scrolling(page: Browser, tmp_path: Path, width: int) -> None:
    for data in (ugly_session(), arabic_session()):
        show(page, tmp_path, data)
        page.look(width, 800)
        page.run("for (const each of document.querySelectorAll('#session details')) each.open = true")
        assert page.run("return document.documentElement.scrollWidth") <= width


def test_print_shows_everything_but_the_tools(page: Browser, tmp_path: Path) -> None:
    show(page, tmp_path, long_session(9))
    clocks = "return new Set([...document.querySelectorAll('time.clock')].map((each) => /[AP]M$/.test(each.textContent))).size"
    assert page.run(clocks) == 2, "only the times of turns that are near are those of the reader"
    page.run("document.documentElement.dataset.theme = 'dark'")
    page.look(media="print")
    assert page.run("return getComputedStyle(document.documentElement).colorScheme") == "light"
    page.run("dispatchEvent(new Event('beforeprint'))")
    assert page.run(clocks) == 1
    assert page.run("return document.querySelectorAll('#session details:not([open])').length") == 0
    for hidden in (".bar", ".side"):
        assert page.run("return getComputedStyle(document.querySelector(arguments[0])).display", hidden) == "none"
    page.run("dispatchEvent(new Event('afterprint'))")
    assert page.run("return document.querySelectorAll('#session details:not([open])').length") > 0


def test_the_live_page_grows(page: Browser, tmp_path: Path) -> None:
    story = Story(cwd="/w")
    story.ask("First prompt")
    path = tmp_path / "projects" / "-w" / f"{story.session}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(story.save())
    server = WatchServer(0, "token", SessionList(str(path.parents[1]), ""), ())
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        page.look()
        page.open(server.address)
        page.click(".row a")
        page.wait("document.getElementById('state')?.textContent.startsWith('● live')")
        story.answer(text("A **live** answer <img src=x onerror=alert(1)>"))
        story.ask("Second prompt")
        path.write_bytes(story.save())
        page.wait("document.getElementById('t2-p') !== null")
        assert page.run("return document.querySelector('#t1-1 p').textContent").startswith("A live answer <img")
        assert page.run("return [...document.querySelectorAll('#contents .l')].map((each) => each.textContent)") == [
            "First prompt",
            "Second prompt",
        ]
        story.answer(text("Another answer"), text("And one more"))
        path.write_bytes(story.save())
        page.run("location.hash = '#t2'")
        page.wait("document.querySelectorAll('#t2-c.here .within li').length === 2")
        # a hidden page gives its connection back: browsers have six for a host
        hide = "Object.defineProperty(document, 'hidden', {value: arguments[0], configurable: true});"
        page.run(f"{hide} document.dispatchEvent(new Event('visibilitychange'))", True)
        assert page.text("#state") == ["○ waiting while hidden"]
        page.run(f"{hide} document.dispatchEvent(new Event('visibilitychange'))", False)
        page.wait("document.getElementById('state').textContent.startsWith('● live')")
        assert page.dialogs == page.errors == []
        assert all(url.startswith(server.address) for url in page.requests)
    finally:
        server.close()
