"""Charts as inline SVG: where the time of a turn went, how long turns took, what they cost. Colours come from classes; no
attribute holds anything foreign but labels, which are escaped."""

from __future__ import annotations

from yume_shim.pages import figures
from yume_shim.pages.html.escaping import prose
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from yume_shim.pages.document import Document, Turn

MAX_SPANS = 150
"""Spans of one turn that are drawn; the rest is drawn as one."""
MAX_COLUMNS = 240
"""Columns of a chart: further turns share one."""
WIDTH, HEIGHT = 1000, 120
KINDS = ("model", "tool", "wait", "retry")
NAMES = {"model": "model", "tool": "tools", "wait": "waiting for approval", "retry": "waiting to retry"}


def strip(turn: Turn) -> str:
    """A line that shows where the time of a turn went."""
    start, end = turn.started, turn.ended
    spans = [span for span in turn.spans if span.end > span.start]
    if start is None or end is None or end - start < 0.05 or not spans:
        return ""
    scale = WIDTH / (end - start)
    boxes = []
    for span in spans[:MAX_SPANS]:
        left = min(max((span.start - start) * scale, 0), WIDTH)
        wide = min(max((span.end - span.start) * scale, 1.5), WIDTH - left)
        title = f"{NAMES[span.kind]} {figures.duration((span.end - span.start) * 1000)} {span.label}"
        boxes.append(
            f'<rect class="{span.kind}" x="{left:.1f}" width="{wide:.1f}" height="8"><title>{prose(title)}</title></rect>'
        )
    boxes += _beginnings(turn, scale)
    words = time_words(turn)
    return (
        f'<svg class="strip" viewBox="0 0 {WIDTH} 8" preserveAspectRatio="none" role="img" aria-label="{prose(words)}">'
        f"{''.join(boxes)}</svg>"
    )


def time_words(turn: Turn) -> str:
    """Where its time went, in words."""
    return ", ".join(f"{NAMES[kind]} {figures.duration(spent)}" for kind, spent in _spent(turn).items() if spent >= 1)


def _beginnings(turn: Turn, scale: float) -> list[str]:
    """What of the model's time passed before each answer began."""
    boxes = []
    for request in turn.requests[:MAX_SPANS]:
        if request.started is None or turn.started is None or not request.first_ms:
            continue
        left = min(max((request.started - turn.started) * scale, 0), WIDTH)
        wide = min(request.first_ms / 1000 * scale, WIDTH - left)
        title = f"answer began after {figures.duration(request.first_ms)}"
        boxes.append(f'<rect class="first" x="{left:.1f}" width="{wide:.1f}" height="8"><title>{title}</title></rect>')
    return boxes


def _spent(turn: Turn) -> dict[str, float]:
    """Milliseconds by kind."""
    spent: dict[str, float] = dict.fromkeys(KINDS, 0.0)
    for span in turn.spans:
        spent[span.kind] += max(span.end - span.start, 0) * 1000
    return spent


def charts(document: Document) -> str:
    """Time and cost of all turns, one column per turn (or per few of them)."""
    turns = [turn for turn in document.turns if turn.requests or turn.spans]
    if not turns:
        return ""
    if len(turns) == 1:
        return _of_one_turn(turns[0])
    group = -(-len(turns) // MAX_COLUMNS)
    columns = [turns[place : place + group] for place in range(0, len(turns), group)]
    each = "turn" if group == 1 else f"{group} turns"
    return f'<div class="charts">{_times(columns, each)}{_costs(columns, each)}</div>'


def _of_one_turn(turn: Turn) -> str:
    """What each answer of the only turn cost: the line above the turn shows its times."""
    answers = [replace(turn, requests=(each,)) for each in turn.requests]
    if len(answers) < 2:
        return ""
    group = -(-len(answers) // MAX_COLUMNS)
    columns = [answers[place : place + group] for place in range(0, len(answers), group)]
    return f'<div class="charts">{_costs(columns, "answer" if group == 1 else f"{group} answers")}</div>'


def _times(columns: Sequence[Sequence[Turn]], each_column: str) -> str:
    spent = [{kind: sum(_spent(turn)[kind] for turn in column) for kind in KINDS} for column in columns]
    most = max(sum(each.values()) for each in spent)
    if most < 1:
        return ""
    totals = {kind: sum(each[kind] for each in spent) for kind in KINDS}
    boxes = [
        _stack(
            place,
            len(columns),
            [(kind, each[kind] / most) for kind in KINDS],
            _title(column, each, figures.duration),
            column[0].id,
        )
        for place, (column, each) in enumerate(zip(columns, spent, strict=True))
    ]
    legend = _legend([(kind, f"{NAMES[kind]} {figures.duration(totals[kind])}") for kind in KINDS if totals[kind] >= 1])
    return _figure(f"Time per {each_column}", figures.duration(most), boxes, legend)


def _costs(columns: Sequence[Sequence[Turn]], each_column: str) -> str:
    kinds = ("input", "cache_read", "cache_write", "output")
    used = [{kind: float(sum(getattr(turn.tokens, kind) for turn in column)) for kind in kinds} for column in columns]
    most = max(sum(each.values()) for each in used)
    if most < 1:
        return ""
    boxes = [
        _stack(
            place,
            len(columns),
            [(kind, each[kind] / most) for kind in kinds],
            prose(f"{figures.short(int(sum(each.values())))} tokens")
            if each_column.endswith(("answer", "answers"))
            else _title(column, each, _whole),
            column[0].id,
        )
        for place, (column, each) in enumerate(zip(columns, used, strict=True))
    ]
    names = {"input": "input", "cache_read": "from the cache", "cache_write": "into the cache", "output": "output"}
    totals = {kind: sum(each[kind] for each in used) for kind in kinds}
    entries = [(kind, f"{names[kind]} {figures.short(int(totals[kind]))}") for kind in kinds if totals[kind]]
    costs = [sum(turn.cost_usd or 0 for turn in column) for column in columns]
    if any(costs):
        boxes.append(_line(costs))
        entries.append(("cost", f"cost, added up to {figures.amount(sum(costs))}"))
    return _figure(f"Tokens per {each_column}, and cost", f"{figures.short(int(most))} tokens", boxes, _legend(entries))


def _stack(place: int, count: int, shares: Sequence[tuple[str, float]], title: str, anchor: str) -> str:
    step = WIDTH / count
    wide = max(min(step * 0.8, 60), 1)
    left, top = place * step + (step - wide) / 2, float(HEIGHT)
    boxes = []
    for kind, share in shares:
        tall = share * HEIGHT
        if tall >= 0.2:
            top -= tall
            boxes.append(f'<rect class="{kind}" x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{tall:.1f}"/>')
    return f'<g data-turn="{anchor}"><title>{title}</title>{"".join(boxes)}</g>'


def _title(column: Sequence[Turn], values: dict[str, float], shown: Callable[[float], str]) -> str:
    name = f"Turn {column[0].number}" if len(column) == 1 else f"Turns {column[0].number} to {column[-1].number}"
    return prose(f"{name}: {shown(sum(values.values()))}")


def _whole(number: float) -> str:
    return f"{number:,.0f} tokens"


def _line(costs: Sequence[float]) -> str:
    """Costs added up, from the left to the right."""
    total, step, points, so_far = sum(costs), WIDTH / len(costs), [f"0,{HEIGHT}"], 0.0
    for place, cost in enumerate(costs):
        so_far += cost
        points.append(f"{(place + 1) * step:.1f},{HEIGHT - so_far / total * (HEIGHT - 4):.1f}")
    return f'<polyline class="cost" points="{" ".join(points)}" vector-effect="non-scaling-stroke"/>'


def _legend(entries: Sequence[tuple[str, str]]) -> str:
    return "".join(f'<span><i class="key {kind}"></i>{prose(text)}</span>' for kind, text in entries)


def _figure(title: str, most: str, boxes: Sequence[str], legend: str) -> str:
    return (
        f'<figure class="chart"><figcaption><b>{title}</b> <span class="meta">highest: {prose(most)}</span></figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" role="img" aria-label="{title}">{"".join(boxes)}</svg>'
        f'<p class="legend">{legend}</p></figure>'
    )
