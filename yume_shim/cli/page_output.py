"""Gives a document to people: as text, JSON or an HTML page, on stdout, in a file, or in the browser."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from yume_shim.disk.json_edit import replace_file
from yume_shim.text.codec import dumps
from yume_shim.types.errors import BadInvocation
from yume_shim.types.folders import yume_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from yume_shim.pages.document import Document

FILE_MODE, FOLDER_MODE = 0o600, 0o700
"""A page shows what the transcript holds, which only its owner may read."""


def as_text(document: Document, env: Mapping[str, str], *, everything: bool = False) -> str:
    """For stdout: with colours on a terminal, unless NO_COLOR says otherwise, or where FORCE_COLOR asks for them."""
    from yume_shim.pages.terminal import rendered

    wanted = env.get("FORCE_COLOR") or (os.isatty(1) and env.get("TERM") != "dumb")
    colours = bool(wanted) and not env.get("NO_COLOR")
    return rendered(document, colours=colours, everything=everything)


def as_json_text(document: Document) -> str:
    """One JSON object."""
    from yume_shim.pages.json_form import as_json

    return dumps(as_json(document)).decode("utf-8") + "\n"


def as_markdown_text(document: Document) -> str:
    """Markdown."""
    from yume_shim.pages.markdown_form import as_markdown

    return as_markdown(document)


def as_page(document: Document) -> str:
    """One HTML file."""
    from yume_shim.pages.html.page import page

    return page(document)


def save(path: str, text: str) -> None:
    """Write a file for its owner. A new one takes the place of the old one, which others may have open. A link of the
    user's own is followed, one that somebody else left there is replaced. Raises BadInvocation."""
    data = text.encode("utf-8", "replace")
    try:
        if (handle := _special(path)) >= 0:
            with open(handle, "wb") as file:
                file.write(data)
        else:
            replace_file(_own_target(path), data, FILE_MODE)
    except OSError as error:
        raise BadInvocation(f"{path} cannot be written: {error.strerror}") from None


def _special(path: str) -> int:
    """An open pipe, device or output of ours (`/dev/stdout`); -1 for a file and for what is not there."""
    try:
        found = os.stat(path)
    except OSError:
        return -1
    for handle in (1, 2):
        with suppress(OSError):  # closed
            if os.path.samestat(found, os.fstat(handle)):
                return os.dup(handle)
    return -1 if stat.S_ISREG(found.st_mode) else os.open(path, os.O_WRONLY)


def _own_target(path: str) -> str:
    try:
        facts = os.lstat(path)
    except OSError:
        return path
    mine = facts.st_uid == getattr(os, "getuid", lambda: facts.st_uid)()
    return os.path.realpath(path) if stat.S_ISLNK(facts.st_mode) and mine else path


def make_folder(path: str) -> None:
    """A folder for pages. Raises BadInvocation."""
    try:
        os.makedirs(path, FOLDER_MODE, exist_ok=True)
    except OSError as error:
        raise BadInvocation(f"{path} cannot be made: {error.strerror}") from None


def pages_folder(env: Mapping[str, str]) -> str:
    """Where pages go that nobody gave a place."""
    return os.path.join(yume_folder(env), "pages")


def show_in_browser(path: str) -> None:
    """Open a file or an address in the user's browser; says where it is if there is none."""
    import webbrowser

    address = path
    if "://" not in path:
        from pathlib import Path

        address = Path(path).absolute().as_uri()
    if not webbrowser.open(address):
        os.write(2, f"yume-shim: no browser was found; open {address}\n".encode("utf-8", "replace"))


def open_door(path: str, address: str) -> None:
    """Open an address that holds a key: by a file that leads there, because all users see the words of a command."""
    from yume_shim.pages.html.live_page import door

    try:
        make_folder(os.path.dirname(path))
        save(path, door(address))
    except BadInvocation as error:
        os.write(2, f"yume-shim: {error.message}; open the address yourself\n".encode("utf-8", "replace"))
        return
    show_in_browser(path)


def browser_page(name: str, text: str, output: str, env: Mapping[str, str]) -> str:
    """Write a page where it was wanted, or into the folder for pages; returns its path."""
    if not output:
        folder = pages_folder(env)
        make_folder(folder)
        safe = "".join(char if char.isalnum() or char in "-_" else "-" for char in name)[:80] or "session"
        output = os.path.join(folder, f"{safe}.html")
    save(output, text)
    return output


def not_on_a_terminal(text: str) -> str:
    """The text of a page for stdout. Raises BadInvocation on a terminal."""
    if os.isatty(1):
        raise BadInvocation("an HTML page on a terminal helps nobody: add --open, or --output FILE")
    return text
