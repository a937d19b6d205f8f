"""The pages of `yume-shim watch`: the same as the static ones, plus a script that listens to the server."""

from __future__ import annotations

from yume_shim.pages.html.escaping import attribute
from yume_shim.pages.html.index_page import index_body
from yume_shim.pages.html.page import body
from yume_shim.pages.html.skeleton import frame, policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from yume_shim.pages.document import Document
    from yume_shim.pages.html.index_page import IndexEntry

CUT = "Only the newest part of this session is shown here; <code>yume-shim sessions show ID --open</code> shows all of it."
SCRIPTS = ("page.js", "watch.js")


def live_policy() -> str:
    """The policy of these pages, also sent as a header."""
    return policy(SCRIPTS, live=True)


def live_page(document: Document, offset: int, number: int, *, cut: bool = False) -> str:
    """A session that may still run. The script asks for changes from `offset` on, where turn `number` begins. `cut`: an
    older part is not shown."""
    note = f'<p class="warn">{CUT}</p>' if cut else ""
    bar = (
        f'<div class="livebar" id="live" data-events="events?offset={int(offset)}&amp;turn={int(number)}"><a href="../../">All sessions</a>'
        '<span id="state">connecting …</span><label><input type="checkbox" id="follow" checked> follow</label></div>'
        f"{note}"
    )
    return frame(document.title, body(document, bar), SCRIPTS, live=True)


def door(address: str) -> str:
    """A page that leads to an address. Unlike the words of a command, a file is read by its owner alone."""
    target = attribute(address)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
        f'<meta http-equiv="refresh" content="0;url={target}"><title>Sessions, live</title></head>'
        f'<body><p><a href="{target}">Sessions, live</a></p></body></html>\n'
    )


def live_index(entries: Sequence[IndexEntry]) -> str:
    """The sessions that were written last."""
    bar = '<div class="livebar" id="live" data-events="events"><span id="state">connecting …</span></div>'
    return frame("Sessions, live", index_body(entries, "Sessions, live", bar), SCRIPTS, live=True)
