"""The page of a session."""

from __future__ import annotations

from yume_shim.pages import figures
from yume_shim.pages.document import Call
from yume_shim.pages.html.charts import charts, time_words
from yume_shim.pages.html.escaping import attribute, code, prose
from yume_shim.pages.html.items import contents, items, moment, turn
from yume_shim.pages.html.skeleton import frame
from yume_shim.pages.tool_words import shown_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from yume_shim.pages.document import Document, Item

FILTERS = (
    ("prompt", "Prompts"),
    ("answer", "Answers"),
    ("thinking", "Thinking"),
    ("tool", "Tools"),
    ("mark", "Events"),
    ("context", "Context"),
)
KEYS = (
    ("/", "search"),
    ("n  N", "next, previous match"),
    ("j  k", "next, previous turn"),
    ("e  c", "expand, collapse everything"),
    ("x", "only errors"),
    ("t", "light or dark"),
    ("Esc", "clear the search"),
    ("?", "this list"),
)
MAX_TOOLS = 60
"""Names of tools that can be filtered."""


def page(document: Document) -> str:
    """The whole session as one HTML file."""
    return frame(document.title, body(document))


def body(document: Document, live: str = "") -> str:
    """What the page shows. `live` is put above it."""
    turns = "".join(turn(each) for each in document.turns)
    agents = "".join(
        f'<section class="turn" id="a{place + 1}"><header class="turnhead"><h2>Agent {prose(each.kind)}</h2>'
        f'<p class="meta">{prose(each.description)} · its call is not in this session</p></header>'
        f'<div class="items">{items(each.items)}</div></section>'
        for place, each in enumerate(document.agents)
    )
    empty = "" if turns or agents else '<p class="empty">There is no conversation in it.</p>'
    return (
        f'<a class="skip" href="#session">To the conversation</a>{_side(document)}<div class="sheetwrap">{live}'
        f'<header class="top">{head(document)}{charts(document)}</header>{toolbar(document)}'
        f'<main id="session">{turns}{agents}{empty}</main><footer class="foot">Made by yume-shim. '
        f"This file is complete: it loads nothing.</footer></div>{_help()}"
    )


def head(document: Document) -> str:
    """Title and facts."""
    tokens = document.tokens
    rows: list[tuple[str, str]] = []
    if document.folder:
        branch = f' <span class="meta">on <bdi>{code(document.branch)}</bdi></span>' if document.branch else ""
        rows.append(("Folder", f'<bdi dir="ltr">{code(document.folder)}</bdi>{branch}'))
    if document.models:
        rows.append(("Models", ", ".join(f"<bdi>{code(name)}</bdi>" for name in document.models[:12])))
    if document.started is not None:
        length = figures.duration(((document.ended or document.started) - document.started) * 1000)
        spent = time_words(document.turns[0]) if len(document.turns) == 1 else ""
        over = f"over {length}{f': {prose(spent)}' if spent else ''}"
        rows.append(("Time", f'{moment(document.started)} <span class="meta">{over}</span>'))
    if latency := _latency(document):
        rows.append(("Latency", latency))
    if document.cost_usd is not None:
        note = f' <span class="meta">{prose(document.cost_note)}</span>' if document.cost_note else ""
        rows.append(("Cost", f"{figures.amount(document.cost_usd)}{note}"))
    if tokens.total:
        parts = [
            (tokens.input, "input"),
            (tokens.cache_read, "from the cache"),
            (tokens.cache_write, "into the cache"),
            (tokens.output, "output"),
        ]
        rows.append(("Tokens", " · ".join(f"{count:,} {name}" for count, name in parts if count)))
    rows.append(("Content", _content(document)))
    if document.session_id:
        rows.append(
            (
                "Session",
                f'<bdi dir="ltr">{code(document.session_id)}</bdi> <span class="meta">{code(document.source)}</span>',
            )
        )
    facts = "".join(f"<div><dt>{name}</dt><dd>{shown}</dd></div>" for name, shown in rows)
    unread = (
        f'<p class="warn">{figures.plural(document.unread, "line")} could not be read.</p>' if document.unread else ""
    )
    return f'<h1 dir="auto">{prose(document.title)}</h1><dl class="facts">{facts}</dl>{unread}'


def _latency(document: Document) -> str:
    """How long after their request answers began, where the transcript says it."""
    found = sorted(request.first_ms for turn in document.turns for request in turn.requests if request.first_ms)
    if not found:
        return ""
    middle, slowest = figures.duration(found[len(found) // 2]), figures.duration(found[-1])
    return f'{middle} <span class="meta">until half of the answers began, {slowest} until the slowest</span>'


def _content(document: Document) -> str:
    turns = document.turns
    words = [figures.plural(sum(each.number > 0 for each in turns), "turn")]
    words.append(figures.plural(sum(each.calls for each in turns), "tool call"))
    for count, name in (
        (sum(each.errors for each in turns), "error"),
        (sum(bool(each.failure) for each in turns), "failed turn"),
    ):
        if count:
            words.append(f'<b class="badword">{figures.plural(count, name)}</b>')
    retries = sum(each.retries for each in turns)
    if retries:
        words.append("1 retry" if retries == 1 else f"{retries} retries")
    return " · ".join(words)


def toolbar(document: Document) -> str:
    """Search and filters."""
    chips = "".join(
        f'<button type="button" class="chip" data-filter="{kind}" aria-pressed="true">{label}</button>'
        for kind, label in FILTERS
    )
    names = sorted(dict.fromkeys(_names(document)))[:MAX_TOOLS]
    options = "".join(f'<option value="{attribute(name)}">{code(shown_name(name))}</option>' for name in names)
    tools = (
        f'<select id="tools" aria-label="Tool"><option value="">all tools</option>{options}</select>'
        if len(names) > 1
        else ""
    )
    return (
        '<div class="bar" role="search"><div class="find"><input id="find" type="search" placeholder="Search (/)" aria-label="Search" '
        'autocomplete="off" spellcheck="false"><output id="found" for="find"></output>'
        '<button type="button" id="prev" title="previous match (N)" aria-label="Previous match">↑</button>'
        '<button type="button" id="next" title="next match (n)" aria-label="Next match">↓</button></div>'
        f'<div class="chips">{chips}<button type="button" class="chip bad" id="errors" aria-pressed="false">Only errors</button>{tools}</div>'
        '<div class="acts"><button type="button" id="expand">Expand all</button><button type="button" id="collapse">Collapse all</button>'
        '<button type="button" id="theme" title="light or dark (t)" aria-label="Light or dark">◐</button>'
        '<button type="button" id="keys" title="keyboard (?)" aria-label="Keyboard">?</button></div></div>'
    )


def _names(document: Document) -> Iterable[str]:
    for each in document.turns:
        yield from _item_names(each.items)


def _item_names(found: Sequence[Item]) -> Iterable[str]:
    for each in found:
        if isinstance(each, Call):
            yield each.name
            if each.agent is not None:
                yield from _item_names(each.agent.items)


def _side(document: Document) -> str:
    return (
        '<nav class="side" aria-label="Contents"><details id="contents" open><summary>Contents</summary>'
        f"<ol>{contents(document)}</ol></details></nav>"
    )


def _help() -> str:
    rows = "".join(f"<div><dt><kbd>{keys}</kbd></dt><dd>{what}</dd></div>" for keys, what in KEYS)
    return f'<dialog id="help"><h2>Keyboard</h2><dl class="facts">{rows}</dl><p><label><input type="checkbox" id="singles" checked> single keys act</label></p><form method="dialog"><button>Close</button></form></dialog>'
