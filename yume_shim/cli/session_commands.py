"""`yume-shim sessions`: list, show, search, export and delete stored conversations."""

from __future__ import annotations

import time

import click

from yume_shim.store import export, index
from yume_shim.store.changes import delete_session
from yume_shim.store.layout import projects_dir
from yume_shim.store.load import load
from yume_shim.text.codec import dumps
from yume_shim.types.errors import BadInvocation, StoreFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from yume_shim.store.index import Listed
    from yume_shim.types.settings import Settings
    from yume_shim.types.stored_session import StoredSession

SHOWN_PROMPT = 60
DEFAULT_LIMIT = 50
"""Sessions that are listed."""
AROUND = 60
"""Characters shown on each side of a match."""
MAX_MATCHES = 5
"""Matches shown of one session."""
MIN_PREFIX = 4
"""How many characters of an id must be given."""


def add_sessions(group: click.Group, settings: Callable[[], Settings], say: Callable[[str], None]) -> None:
    """Add the commands to the group of all sub-commands."""
    commands = _Sessions(settings, say)
    sessions = click.Group(
        "sessions",
        help="Stored conversations: list (also without a sub-command), show, search, export, delete.",
        invoke_without_command=True,
        callback=commands.list_by_default,
    )
    everywhere = click.Option(
        ["--all", "everywhere"], is_flag=True, help="Sessions of every folder, not only this one."
    )
    as_json = click.Option(["--json", "as_json"], is_flag=True, help="Print JSON.")
    session = click.Argument(["session"])
    for name, callback, params, text in (
        (
            "list",
            commands.list_all,
            [everywhere, as_json, click.Option(["--limit"], type=int, default=DEFAULT_LIMIT, help="The most to list.")],
            "List the sessions of this folder, newest first.",
        ),
        ("show", commands.show, [session, as_json], "Show a session: its id, the start of its id, or its title."),
        ("search", commands.search, [click.Argument(["text"]), everywhere, as_json], "Search the text of sessions."),
        (
            "export",
            commands.export,
            [
                session,
                click.Option(["--format", "kind"], type=click.Choice(["markdown", "html"]), default="markdown"),
                click.Option(["--output", "-o"], default="", help="File to write (default: standard output)."),
            ],
            "Write a session as Markdown or HTML.",
        ),
        (
            "delete",
            commands.delete,
            [session, click.Option(["--yes"], is_flag=True, help="Do not ask.")],
            "Delete a session and its other files.",
        ),
    ):
        sessions.add_command(click.Command(name, callback=callback, params=list(params), help=text, short_help=text))
    group.add_command(sessions)


class _Sessions:
    def __init__(self, settings: Callable[[], Settings], say: Callable[[str], None]) -> None:
        self._settings = settings
        self._say = say

    def list_by_default(self) -> None:
        if click.get_current_context().invoked_subcommand is None:
            self.list_all(everywhere=False, as_json=False, limit=DEFAULT_LIMIT)

    def list_all(self, everywhere: bool, as_json: bool, limit: int) -> None:
        found = self._listing(everywhere)[: max(limit, 0)]
        if as_json:
            self._say_json([_facts(listed) for listed in found])
            return
        if not found:
            self._say("No sessions.\n")
        self._say("".join(_row(listed, everywhere) for listed in found))

    def show(self, session: str, as_json: bool) -> None:
        listed, stored = self._load(session)
        if not as_json:
            self._say(export.markdown(stored))
            return
        messages = [
            {"role": message.role, "origin": message.origin, "text": "\n".join(map(export.plain, message.blocks))}
            for message in stored.history
        ]
        cost = sum(entry.cost_usd for entry in stored.used)
        self._say_json(_facts(listed) | {"model": stored.model, "costUSD": cost, "messages": messages})

    def search(self, text: str, everywhere: bool, as_json: bool) -> None:
        hits: list[dict[str, Any]] = []
        for listed in self._listing(everywhere):
            places = _places(listed.path, text)
            if places:
                hits.append(_facts(listed) | {"found": places})
                if not as_json:
                    self._say(_row(listed, everywhere) + "".join(f"    … {place} …\n" for place in places))
        if as_json:
            self._say_json(hits)
        elif not hits:
            self._say("Nothing found.\n")

    def export(self, session: str, kind: str, output: str) -> None:
        _, stored = self._load(session)
        text = export.page(stored) if kind == "html" else export.markdown(stored)
        if not output:
            self._say(text)
            return
        try:
            with open(output, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except OSError as error:
            raise BadInvocation(f"{output} cannot be written: {error.strerror}") from None

    def delete(self, session: str, yes: bool) -> None:
        listed = self._find(session)
        if not yes and not click.confirm(f"Delete {listed.session_id} ({listed.shown[:SHOWN_PROMPT]})?", err=True):
            return
        try:
            delete_session(listed.path)
        except StoreFailed as error:
            raise BadInvocation(str(error)) from None
        self._say(f"Deleted {listed.session_id}.\n")

    # ------------------------------------------------------------ finding

    def _listing(self, everywhere: bool) -> list[Listed]:
        settings = self._settings()
        return index.listing(self._projects(), "" if everywhere else settings.cwd)

    def _projects(self) -> str:
        settings = self._settings()
        return projects_dir(settings.env, settings.session.folder)

    def _find(self, name: str) -> Listed:
        """By id, by the start of an id, or by title; this folder's sessions first."""
        projects = self._projects()
        path = index.find(projects, name, self._settings().cwd)
        listed = index.look(path) if path else None
        if listed is not None:
            return listed
        everything = index.listing(projects)
        named = [each for each in everything if each.title and each.title.casefold() == name.casefold()]
        begins = [each for each in everything if len(name) >= MIN_PREFIX and each.session_id.startswith(name)]
        found = named or begins
        if not found:
            raise BadInvocation(f"no session '{name}'")
        if len(found) > 1:
            several = ", ".join(each.session_id for each in found[:MAX_MATCHES])
            raise BadInvocation(f"'{name}' matches more than one session: {several}")
        return found[0]

    def _load(self, name: str) -> tuple[Listed, StoredSession]:
        listed = self._find(name)
        try:
            stored = load(listed.path)
        except StoreFailed as error:
            raise BadInvocation(str(error)) from None
        if stored is None:
            raise BadInvocation(f"there is no conversation in {listed.path}")
        return listed, stored

    def _say_json(self, value: Any) -> None:
        self._say(dumps(value).decode("utf-8") + "\n")


def _facts(listed: Listed) -> dict[str, Any]:
    return {
        "sessionId": listed.session_id,
        "title": listed.title,
        "firstPrompt": listed.first_prompt,
        "lastPrompt": listed.last_prompt,
        "cwd": listed.cwd,
        "gitBranch": listed.git_branch,
        "created": listed.created,
        "modified": listed.modified,
        "size": listed.size,
        "path": listed.path,
    }


def _row(listed: Listed, with_folder: bool) -> str:
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(listed.modified))
    shown = " ".join(listed.shown.split())
    if len(shown) > SHOWN_PROMPT:
        shown = shown[: SHOWN_PROMPT - 1] + "…"
    folder = f"  {listed.cwd}" if with_folder and listed.cwd else ""
    return f"{listed.session_id}  {when}  {listed.size / 1024:>8.0f} KiB  {shown}{folder}\n"


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
            words = export.plain(block)
            at = words.casefold().find(needle)
            if at >= 0 and len(places) < MAX_MATCHES:
                places.append(" ".join(words[max(at - AROUND, 0) : at + len(text) + AROUND].split()))
    return places
