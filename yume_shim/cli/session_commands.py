"""`yume-shim sessions`: list, show, search, export, index and delete stored conversations."""

from __future__ import annotations

import time

import click

from yume_shim.cli.page_output import (
    as_json_text,
    as_markdown_text,
    as_page,
    as_text,
    browser_page,
    make_folder,
    not_on_a_terminal,
    pages_folder,
    save,
    show_in_browser,
)
from yume_shim.cli.session_finder import SessionFinder
from yume_shim.pages.cleaning import Cleaner
from yume_shim.pages.printed import plain
from yume_shim.store.block_text import plain as text_of
from yume_shim.store.changes import delete_session
from yume_shim.store.load import load
from yume_shim.text.codec import dumps
from yume_shim.types.errors import BadInvocation, StoreFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from yume_shim.pages.document import Document
    from yume_shim.store.index import Listed
    from yume_shim.types.settings import Settings
    from yume_shim.types.stored_session import StoredSession

    ReadDocument = Callable[[str], Document]
    """The document of a file."""

SHOWN_PROMPT = 60
DEFAULT_LIMIT = 50
"""Sessions that are listed."""
AROUND = 60
"""Characters shown on each side of a match."""
MAX_MATCHES = 5
"""Matches shown of one session."""
NAMES = "its id, the start of its id, its title, or `last`"


def add_sessions(
    group: click.Group, settings: Callable[[], Settings], say: Callable[[str], None], read: ReadDocument
) -> None:
    """Add the commands to the group of all sub-commands. `read` makes the document of a transcript."""
    commands = _Sessions(settings, say, read)
    sessions = click.Group(
        "sessions",
        help="Stored conversations: list (also without a sub-command), show, search, export, index, delete.",
        invoke_without_command=True,
        callback=commands.list_by_default,
    )
    for name, callback, params, text in _commands(commands):
        sessions.add_command(click.Command(name, callback=callback, params=list(params), help=text, short_help=text))
    group.add_command(sessions)


def _commands(commands: _Sessions) -> Iterator[tuple[str, Callable[..., None], Sequence[click.Parameter], str]]:
    """(name, function, parameters, help) of each command."""
    everywhere = click.Option(
        ["--all", "everywhere"], is_flag=True, help="Sessions of every folder, not only this one."
    )
    as_json = click.Option(["--json", "as_json"], is_flag=True, help="Print JSON.")
    session = click.Argument(["session"])
    output = click.Option(["--output", "-o"], default="", help="File to write (default: standard output).")
    opened = click.Option(["--open", "opened"], is_flag=True, help="Show the HTML page in the browser.")
    limit = click.Option(["--limit"], type=int, default=DEFAULT_LIMIT, help="The most to list.")
    yield from (
        (
            "list",
            commands.list_all,
            [everywhere, as_json, limit],
            "List the sessions of this folder, newest first.",
        ),
        (
            "show",
            commands.show,
            [session, as_json, opened, click.Option(["--full"], is_flag=True, help="Show whole results and thoughts.")],
            f"Show a session in the terminal: {NAMES}.",
        ),
        ("search", commands.search, [click.Argument(["text"]), everywhere, as_json], "Search the text of sessions."),
        (
            "export",
            commands.export,
            [
                session,
                click.Option(
                    ["--format", "kind"],
                    type=click.Choice(["markdown", "html", "json", "text"]),
                    default=None,
                    help="Default: by the name of the file, html with --open, else markdown.",
                ),
                output,
                opened,
            ],
            "Write a session as Markdown, as one HTML page, as JSON or as text.",
        ),
        (
            "index",
            commands.index,
            [
                everywhere,
                click.Option(["--output", "-o"], default="", help="Folder to write (default: ~/.yume/pages)."),
                opened,
                limit,
            ],
            "Write a page for each session and one that lists them.",
        ),
        (
            "delete",
            commands.delete,
            [session, click.Option(["--yes"], is_flag=True, help="Do not ask.")],
            "Delete a session and its other files.",
        ),
    )


class _Sessions:
    def __init__(self, settings: Callable[[], Settings], say: Callable[[str], None], read: ReadDocument) -> None:
        self._settings = settings
        self._say = say
        self._read = read
        self._finder = SessionFinder(settings)
        self._made_cleaner: Cleaner | None = None

    def list_by_default(self) -> None:
        if click.get_current_context().invoked_subcommand is None:
            self.list_all(everywhere=False, as_json=False, limit=DEFAULT_LIMIT)

    def list_all(self, everywhere: bool, as_json: bool, limit: int) -> None:
        listed = self._finder.listing(everywhere)
        found = listed[: max(limit, 0)]
        if found and len(found) < len(listed):
            click.echo(f"yume-shim: {len(listed) - len(found):,} more: --limit {len(listed)}", err=True)
        if as_json:
            self._say_json([self._facts(listed) for listed in found])
            return
        if not found:
            self._say(f"No sessions.{self._elsewhere(everywhere)}\n")
        self._say("".join(self._row(listed, everywhere) for listed in found))

    def show(self, session: str, as_json: bool, opened: bool, full: bool) -> None:
        if opened:
            self.export(session, "html", "", opened=True)
            return
        if not as_json:
            self._say(as_text(self._read(self._finder.find(session).path), self._settings().env, everything=full))
            return
        listed, stored = self._load(session)
        clean = self._cleaner().whole
        messages = [
            {
                "role": message.role,
                "origin": message.origin,
                "text": clean("\n".join(map(text_of, message.blocks))),
            }
            for message in stored.history
        ]
        cost = sum(entry.cost_usd for entry in stored.used)
        self._say_json(self._facts(listed) | {"model": stored.model, "costUSD": cost, "messages": messages})

    def _elsewhere(self, everywhere: bool) -> str:
        """A hint for a person who is in another folder than the sessions were."""
        others = 0 if everywhere else len(self._finder.listing(True)) - len(self._finder.listing(False))
        return f" Other folders have {others:,}: --all." if others else ""

    def search(self, text: str, everywhere: bool, as_json: bool) -> None:
        hits: list[dict[str, Any]] = []
        clean = self._cleaner().line
        for listed in self._finder.listing(everywhere):
            places = list(map(clean, _places(listed.path, text)))
            if places:
                hits.append(self._facts(listed) | {"found": places})
                if not as_json:
                    shown = "".join(f"    … {plain(place)} …\n" for place in places)
                    self._say(self._row(listed, everywhere) + shown)
        if as_json:
            self._say_json(hits)
        elif not hits:
            self._say(f"Nothing found.{self._elsewhere(everywhere)}\n")

    def export(self, session: str, kind: str | None, output: str, opened: bool) -> None:
        kind = kind or _kind_of_file(output) or ("html" if opened else "markdown")
        env = self._settings().env
        document = self._read(self._finder.find(session).path)
        if kind == "html":
            text = as_page(document)
        elif kind == "markdown":
            text = as_markdown_text(document)
        else:
            text = as_json_text(document) if kind == "json" else as_text(document, {"NO_COLOR": "1"}, everything=True)
        if opened and kind == "html":
            path = browser_page(self._finder.find(session).session_id, text, output, env)
            self._say(f"{path}\n")
            show_in_browser(path)
        elif output:
            save(output, text)
        else:
            self._say(not_on_a_terminal(text) if kind == "html" else text)

    def index(self, everywhere: bool, output: str, opened: bool, limit: int) -> None:
        from yume_shim.cli.session_index import write_index

        folder = output or pages_folder(self._settings().env)
        make_folder(folder)
        path = write_index(
            self._finder.listing(everywhere)[: max(limit, 0)], folder, self._read, self._cleaner(), self._say
        )
        self._say(f"{path}\n")
        if opened:
            show_in_browser(path)

    def delete(self, session: str, yes: bool) -> None:
        listed = self._finder.find(session)
        if not yes and not click.confirm(f"Delete {listed.session_id} ({self._title(listed)})?", err=True):
            return
        try:
            delete_session(listed.path)
        except StoreFailed as error:
            raise BadInvocation(str(error)) from None
        self._say(f"Deleted {listed.session_id}.\n")

    def _load(self, name: str) -> tuple[Listed, StoredSession]:
        listed = self._finder.find(name)
        try:
            stored = load(listed.path)
        except StoreFailed as error:
            raise BadInvocation(str(error)) from None
        if stored is None:
            raise BadInvocation(f"there is no conversation in {listed.path}")
        return listed, stored

    def _cleaner(self) -> Cleaner:
        from yume_shim.config.credentials import secrets_of

        if self._made_cleaner is None:
            self._made_cleaner = Cleaner(secrets_of(self._settings(), None))
        return self._made_cleaner

    def _title(self, listed: Listed) -> str:
        shown = plain(self._cleaner().line(listed.shown))
        return shown if len(shown) <= SHOWN_PROMPT else shown[: SHOWN_PROMPT - 1] + "…"

    def _row(self, listed: Listed, with_folder: bool) -> str:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(listed.modified))
        folder = f"  {plain(listed.cwd)}" if with_folder and listed.cwd else ""
        size = f"{listed.size / 1024:>8.0f} KiB"
        return f"{listed.session_id}  {when}  {size}  {self._title(listed)}{folder}\n"

    def _facts(self, listed: Listed) -> dict[str, Any]:
        clean = self._cleaner().whole
        return {
            "sessionId": listed.session_id,
            "title": clean(listed.title),
            "firstPrompt": clean(listed.first_prompt),
            "lastPrompt": clean(listed.last_prompt),
            "cwd": listed.cwd,
            "gitBranch": listed.git_branch,
            "created": listed.created,
            "modified": listed.modified,
            "size": listed.size,
            "path": listed.path,
        }

    def _say_json(self, value: Any) -> None:
        self._say(dumps(value).decode("utf-8") + "\n")


def _kind_of_file(output: str) -> str:
    """The form that the ending of a file's name asks for."""
    endings = {".html": "html", ".htm": "html", ".json": "json", ".txt": "text", ".md": "markdown"}
    return next((kind for ending, kind in endings.items() if output.lower().endswith(ending)), "")


def _places(path: str, text: str) -> list[str]:
    """Where the text occurs in a session, with a little context."""
    needle = text.casefold()
    try:
        stored = load(path)
    except StoreFailed:
        return []
    places: list[str] = []
    for message in stored.history if stored is not None else ():
        for block in message.blocks:
            words = text_of(block)
            at = words.casefold().find(needle)
            if at >= 0 and len(places) < MAX_MATCHES:
                places.append(" ".join(words[max(at - AROUND, 0) : at + len(text) + AROUND].split()))
    return places
