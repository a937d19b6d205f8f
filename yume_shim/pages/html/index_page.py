"""The page of all sessions: a list with search, grouped by folder."""

from __future__ import annotations

from yume_shim.pages import figures
from yume_shim.pages.html.escaping import attribute, code, prose
from yume_shim.pages.html.items import moment
from yume_shim.pages.html.skeleton import frame
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class IndexEntry(Value):
    """A session of the list. `link` is the address of its page; "" if it has none."""

    title: str
    session_id: str
    folder: str
    modified: float
    size: int
    first_prompt: str = ""
    branch: str = ""
    state: str = ""
    link: str = ""


def index_page(entries: Sequence[IndexEntry], *, title: str = "Sessions") -> str:
    """All sessions as one HTML file."""
    return frame(title, index_body(entries, title))


def index_body(entries: Sequence[IndexEntry], title: str, live: str = "") -> str:
    """What the list shows."""
    total, folders = figures.plural(len(entries), "session"), {entry.folder for entry in entries}
    return (
        f'<div class="sheetwrap wide">{live}<header class="top"><h1>{prose(title)}</h1><p class="meta">{total} in '
        f"{figures.plural(len(folders), 'folder')}</p></header>"
        '<div class="bar" role="search"><div class="find"><input id="find" type="search" placeholder="Search (/)" aria-label="Search" '
        'autocomplete="off" spellcheck="false"><output id="found" for="find"></output></div><div class="acts">'
        '<button type="button" id="theme" title="light or dark (t)" aria-label="Light or dark">◐</button></div></div>'
        f'<main id="session" class="index">{index_list(entries)}</main></div>'
    )


def index_list(entries: Sequence[IndexEntry]) -> str:
    """The rows by folder; the folder that was used last comes first."""
    folders: dict[str, list[IndexEntry]] = {}
    for entry in entries:
        folders.setdefault(entry.folder, []).append(entry)
    return "".join(_folder(name, found) for name, found in folders.items()) or '<p class="empty">No sessions.</p>'


def _folder(name: str, entries: Sequence[IndexEntry]) -> str:
    rows = "".join(index_row(entry) for entry in entries)
    return f'<section class="turn folder"><h2><bdi dir="ltr">{code(name or "unknown folder")}</bdi></h2><ul class="items">{rows}</ul></section>'


def index_row(entry: IndexEntry) -> str:
    """A session's row."""
    label = prose(" ".join(entry.title[:400].split())) or code(entry.session_id)
    shown = f'<a href="{attribute(entry.link)}">{label}</a>' if entry.link else label
    # <bdi>: the direction of the row is that of the title
    state = f'<bdi class="badge live">{prose(entry.state)}</bdi> ' if entry.state else ""
    branch = f" · <bdi>{code(entry.branch)}</bdi>" if entry.branch else ""
    prompt = " ".join(entry.first_prompt[:300].split())
    more = f'<p class="peek" dir="auto">{prose(prompt)}</p>' if prompt and prompt != entry.title else ""
    return (
        f'<li class="item row" data-kind="row"><p class="l" dir="auto">{state}{shown}</p>{more}'
        f'<p class="meta">{moment(entry.modified)} · {entry.size / 1024:,.0f} KiB{branch} · <bdi dir="ltr">{code(entry.session_id)}</bdi></p></li>'
    )
