"""`yume-shim replay` shows a session, a recorded stream or a golden case; `yume-shim watch` shows running ones live."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from functools import partial

import click

from yume_shim.cli.page_output import (
    as_json_text,
    as_page,
    as_text,
    browser_page,
    not_on_a_terminal,
    open_door,
    pages_folder,
    save,
    show_in_browser,
)
from yume_shim.cli.session_finder import SessionFinder
from yume_shim.types.errors import BadInvocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.catalog.resolve import Catalog
    from yume_shim.pages.document import Document
    from yume_shim.types.settings import Settings

REPLAY_HELP = (
    "Show what happened: a transcript, a recorded output stream (flat or stream-json), a stored session (id, title, "
    "`last`), or a golden case (its folder)."
)
WATCH_HELP = "Show the running sessions of this machine live in the browser, read-only, until Ctrl-C."
GOLDENS = os.path.join("golden", "sessions")


def document_reader(
    settings: Callable[[], Settings], catalog: Callable[[Settings], Catalog]
) -> Callable[[str], Document]:
    """What reads a file with the keys of these settings removed and, where no line says a cost, list prices."""

    def read(path: str) -> Document:
        from yume_shim.app.session_pages import list_prices, read_document
        from yume_shim.config.credentials import secrets_of

        given = settings()
        return read_document(path, secrets=secrets_of(given, None), price=list_prices(catalog(given).resolve))

    return read


def add_pages(
    group: click.Group,
    settings: Callable[[], Settings],
    say: Callable[[str], None],
    read: Callable[[str], Document],
) -> None:
    """Add the commands to the group of all sub-commands."""
    finder = SessionFinder(settings)

    def replay(source: str, html: bool, opened: bool, as_json: bool, full: bool, output: str) -> None:
        document = _find(source, finder, read)
        env = settings().env
        if as_json:
            text = as_json_text(document)
        elif html or opened or output.lower().endswith((".html", ".htm")):
            text = as_page(document)
        else:
            text = as_text(document, {"NO_COLOR": "1"} if output else env, everything=full)
        if opened:
            path = browser_page(document.session_id or "replay", text, output, env)
            say(f"{path}\n")
            show_in_browser(path)
        elif output:
            save(output, text)
        else:
            say(not_on_a_terminal(text) if html else text)

    params: list[click.Parameter] = [
        click.Argument(["source"]),
        click.Option(["--html"], is_flag=True, help="Write the HTML page."),
        click.Option(["--open", "opened"], is_flag=True, help="Show the HTML page in the browser."),
        click.Option(["--json", "as_json"], is_flag=True, help="Print JSON."),
        click.Option(["--full"], is_flag=True, help="Show whole results and thoughts."),
        click.Option(["--output", "-o"], default="", help="File to write (.html: the page)."),
    ]
    group.add_command(click.Command("replay", callback=replay, params=params, help=REPLAY_HELP, short_help=REPLAY_HELP))
    _add_watch(group, settings, say, finder)


def _add_watch(
    group: click.Group, settings: Callable[[], Settings], say: Callable[[str], None], finder: SessionFinder
) -> None:
    def watch(port: int, opened: bool, everywhere: bool) -> int:
        from yume_shim.app.watch.command import run_watch
        from yume_shim.cli.main import INTERRUPTED, attended
        from yume_shim.config.credentials import secrets_of

        given, folder = settings(), "" if everywhere else settings().cwd
        door = os.path.join(pages_folder(given.env), f"watch-{os.getpid()}.html")
        show = partial(open_door, door) if opened else None
        try:
            number = run_watch(finder.projects(), folder, port, secrets_of(given, None), say, show)
        finally:
            with suppress(OSError):
                os.remove(door)
        return INTERRUPTED if number == signal.SIGINT and attended() else 0

    params: list[click.Parameter] = [
        click.Option(
            ["--port"], type=click.IntRange(0, 65535), default=0, help="Port on 127.0.0.1 (default: a free one)."
        ),
        click.Option(["--open/--no-open", "opened"], default=True, help="Show it in the browser."),
        click.Option(
            ["--here", "everywhere"], flag_value=False, type=bool, default=True, help="Only sessions of this folder."
        ),
    ]
    group.add_command(click.Command("watch", callback=watch, params=params, help=WATCH_HELP, short_help=WATCH_HELP))


def _find(source: str, finder: SessionFinder, read: Callable[[str], Document]) -> Document:
    from yume_shim.app.session_pages import is_golden, read_golden

    for folder in (source, os.path.join(GOLDENS, source), os.path.join("golden", source)):
        if is_golden(folder):
            return read_golden(folder)
    if os.path.isdir(source):
        raise BadInvocation(f"{source} is a folder without case.toml: give a file, a session or a golden case")
    if os.path.exists(source):
        return read(source)
    if os.sep in source or source.endswith(".jsonl"):
        raise BadInvocation(f"{source} does not exist")
    return read(finder.find(source).path)
