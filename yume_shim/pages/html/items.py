"""Turns and their items as HTML. Every item has its id, so that a live page can replace it alone."""

from __future__ import annotations

from yume_shim.pages import figures
from yume_shim.pages.document import Answer, Aside, Call, Mark, Prompt, Thinking, Words
from yume_shim.pages.html.cards import card
from yume_shim.pages.html.charts import strip
from yume_shim.pages.html.escaping import attribute, code, prose
from yume_shim.pages.html.markdown import first_words, rendered
from yume_shim.pages.html.parts import cut_note, prose_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from yume_shim.pages.document import Document, Item, Turn

_SIGNS = {
    "compaction": "⇣",
    "retry": "↻",
    "failure": "✗",
    "interrupted": "■",
    "model": "⇄",
    "notice": "·",
    "warning": "!",
    "hook": "⚓",
}
_PROMPTS = {"user": "User", "command": "Command", "notice": "Notice", "context": "Context", "summary": "Summary"}


MAX_LATENCIES = 40
"""Times until an answer began that a title lists."""
MAX_MODELS = 4
"""Models that the line above a turn names."""


def turn(found: Turn) -> str:
    """A whole turn."""
    return (
        f'<section class="turn" id="{found.id}">{turn_head(found)}'
        f"{item(found.prompt) if found.prompt is not None and found.prompt.parts else ''}"
        f'<div class="items">{items(found.items)}</div></section>'
    )


def turn_head(found: Turn) -> str:
    """The line above a turn: its number, when, how long, how much."""
    number = f'<a href="#{found.id}">{found.number}</a>' if found.number else "Before the first prompt"
    words = [moment(found.started, short=True)] if found.started is not None else []
    if found.started is not None and found.ended is not None and found.ended - found.started >= 0.001:
        words.append(figures.duration((found.ended - found.started) * 1000))
    first = [request.first_ms for request in found.requests if request.first_ms]
    if first:
        title = f"each answer: {', '.join(figures.duration(each) for each in first[:MAX_LATENCIES])}"
        words.append(f'<span title="{title}">answer began after {figures.duration(first[0])}</span>')
    models = dict.fromkeys(request.model for request in found.requests if request.model)
    words += [f"<bdi>{code(name)}</bdi>" for name in list(models)[:MAX_MODELS]]
    if found.calls:
        words.append(figures.plural(found.calls, "call"))
    tokens = found.tokens
    if tokens.total:
        title = f"{tokens.input:,} input, {tokens.cache_read:,} from the cache, {tokens.cache_write:,} into it, {tokens.output:,} output"
        words.append(f'<span title="{title}">{figures.short(tokens.total)} tokens</span>')
    if found.cost_usd is not None:
        words.append(figures.amount(found.cost_usd))
    bad = "".join(
        f'<span class="badge {kind}">{text}</span>'
        for kind, text in (
            ("bad", "failed" if found.failure else ""),
            ("bad", figures.plural(found.errors, "error") if found.errors else ""),
            ("warn", "1 retry" if found.retries == 1 else f"{found.retries} retries" if found.retries else ""),
        )
        if text
    )
    return (
        f'<header class="turnhead" id="{found.id}-h"><h2>{number}</h2><p class="meta">{" · ".join(words)} {bad}</p>'
        f"{strip(found)}</header>"
    )


def items(found: Sequence[Item]) -> str:
    """Items one after the other."""
    return "".join(item(each) for each in found)


def item(found: Item) -> str:
    """One item."""
    match found:
        case Prompt():
            return _prompt(found)
        case Answer():
            return f'<article class="item answer" id="{found.id}" data-kind="answer">{rendered(found.words.text)}{cut_note(found.words)}</article>'
        case Thinking():
            return _thinking(found)
        case Call():
            return card(found, items)
        case Mark():
            return _mark(found)
        case Aside():
            count = figures.plural(len(found.items), "item")
            return (
                f'<details class="item aside" id="{found.id}" data-kind="aside"><summary>{prose(found.title)} '
                f'<span class="meta">{count}</span></summary>{items(found.items)}</details>'
            )


def _prompt(found: Prompt) -> str:
    label = prose(found.title or _PROMPTS[found.kind])
    if found.kind in ("context", "summary"):
        if not found.parts:
            return f'<p class="item context" id="{found.id}" data-kind="context">{label}</p>'
        return (
            f'<details class="item context" id="{found.id}" data-kind="context"><summary>{label}</summary>'
            f"{prose_parts(found.parts)}</details>"
        )
    body = prose_parts(found.parts, plain=found.kind == "command")
    when = moment(found.at, short=True) if found.at is not None else ""
    return (
        f'<article class="item prompt {found.kind}" id="{found.id}" data-kind="prompt"><p class="who">{label} '
        f'<span class="meta">{when}</span></p>{body}</article>'
    )


def _thinking(found: Thinking) -> str:
    text = found.words.text.strip()
    if not text:
        return f'<p class="item thinking kept" id="{found.id}" data-kind="thinking">Thinking <span class="meta">kept by the provider</span></p>'
    first = prose(first_words(text, 140))
    return (
        f'<details class="item thinking" id="{found.id}" data-kind="thinking"><summary><span>Thinking</span> <span class="peek" dir="auto">{first}</span>'
        f"</summary>{rendered(found.words.text)}{cut_note(found.words)}</details>"
    )


def _mark(found: Mark) -> str:
    wait = f' <span class="meta">waits {figures.duration(found.wait_ms)}</span>' if found.wait_ms else ""
    detail = f'<div class="detail" dir="auto">{prose(found.detail)}</div>' if found.detail else ""
    kind = "error" if found.kind == "failure" else "mark"
    return (
        f'<div class="item mark {found.kind}" id="{found.id}" data-kind="{kind}" role="note"><p><span class="st">{_SIGNS[found.kind]}</span> '
        f"<bdi>{prose(found.title)}</bdi>{wait}</p>{detail}</div>"
    )


def moment(at: float, *, short: bool = False) -> str:
    """A time; the page's script shows it in the reader's time zone."""
    text = figures.clock(at) if short else f"{figures.day_and_time(at)} UTC"
    kind = ' class="clock"' if short else ""
    return f'<time datetime="{figures.stamp(at)}"{kind} title="{figures.day_and_time(at)} UTC">{text}</time>'


def contents(document: Document) -> str:
    """The list of turns."""
    return "".join(contents_entry(each) for each in document.turns)


def contents_entry(found: Turn) -> str:
    """A turn's line in the list."""
    text = (
        next((part.text for part in found.prompt.parts if isinstance(part, Words)), "")
        if found.prompt is not None
        else ""
    )
    label = prose(first_words(text, 110)) or (
        "Before the first prompt" if not found.number else "(prompt not in the stream)"
    )
    bad = (
        '<span class="dot bad" role="img" aria-label="errors" title="errors"></span>'
        if found.failure or found.errors
        else ""
    )
    kind = found.prompt.kind if found.prompt is not None else "none"
    return (
        f'<li id="{found.id}-c" class="{attribute(kind)}"><a href="#{found.id}"><span class="n">{code(str(found.number or ""))}</span>'
        f'<span class="l" dir="auto">{label}</span>{bad}</a></li>'
    )
