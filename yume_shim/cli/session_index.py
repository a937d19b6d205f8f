"""Writes the pages of many sessions into one folder, and the page that lists them."""

from __future__ import annotations

import os
from urllib.parse import quote

from yume_shim.cli.page_output import as_page, save
from yume_shim.pages.html.index_page import IndexEntry, index_page
from yume_shim.pages.html.skeleton import generator, policy
from yume_shim.store.children import child_files
from yume_shim.types.errors import BadInvocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from yume_shim.pages.cleaning import Cleaner
    from yume_shim.pages.document import Document
    from yume_shim.store.index import Listed

HEAD = 4_096
"""Bytes of a page that say what made it."""


def write_index(
    sessions: Sequence[Listed],
    folder: str,
    read: Callable[[str], Document],
    cleaner: Cleaner,
    say: Callable[[str], None],
) -> str:
    """Write `index.html`, and the pages that are missing or older than their transcripts; returns the list's path."""
    entries: list[IndexEntry] = []
    for listed in sessions:
        name = f"{listed.session_id}.html"
        path = os.path.join(folder, name)
        if not _is_current(path, listed):
            try:
                save(path, as_page(read(listed.path)))
            except BadInvocation as error:  # one unreadable session does not keep the others from their list
                say(f"{listed.session_id}: {error.message}\n")
                name = ""
        entries.append(entry(listed, quote(name), cleaner))
    path = os.path.join(folder, "index.html")
    save(path, index_page(entries))
    return path


def entry(listed: Listed, link: str, cleaner: Cleaner) -> IndexEntry:
    """The row of a session."""
    line = cleaner.line
    return IndexEntry(
        title=line(listed.shown),
        session_id=line(listed.session_id),
        folder=line(listed.cwd),
        modified=listed.modified,
        size=listed.size,
        first_prompt=line(listed.first_prompt),
        branch=line(listed.git_branch),
        link=link,
    )


def _is_current(path: str, listed: Listed) -> bool:
    """Whether the page is newer than everything that it shows, and was made by this version of the program."""
    try:
        made = os.stat(path).st_mtime
        sources = [os.stat(file).st_mtime for _, _, file in child_files(listed.path)]
        with open(path, "rb") as file:
            head = file.read(HEAD).decode("utf-8", "replace")
    except OSError:
        return False
    return made >= max([listed.modified, *sources]) and generator() in head and policy(("page.js",)) in head
