"""What was measured as a table in Markdown and as a plot in SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from bench_parts.figures import Figures

BAR, GAP, LABEL, WIDE = 14, 5, 190, 520
"""Pixels of the plot."""
BARE = "bare Python"
"""The reference where no other program is there."""
SCALE, BARE_SCALE = 1.0, 10.0
"""The ratio at the right end; longer bars are cut, and marked."""
OURS, OTHERS, LIMIT = "#2f6f9f", "#b9b9b9", "#b03030"
EXTENSIONS = ", with extensions"
TARGETS = {
    f"spawn → first delta{EXTENSIONS}": 0.30,
    "spawn → first line": 0.10,
    "spawn → first delta": 0.12,
    "CPU of a short turn": 0.10,
    "CPU per event": 0.12,
    "wall per event": 0.12,
    "peak memory, short turn": 0.08,
    "peak memory, 20,000 deltas": 0.06,
}
"""Promised ratios to the Claude CLI, by the start of the figure's name. With extensions (their servers count, too) only
one is."""
BARE_TARGETS = {"spawn → first line": 3.0, "spawn → first delta": 5.0}
"""The same to bare Python, for machines without a Claude CLI."""


class Bar(NamedTuple):
    """A figure of a program, as a ratio to the reference."""

    figure: str
    name: str
    ratio: float
    limit: float
    ours: bool


def table(figures: Figures, reference: str) -> str:
    """A row for each program, a column for each figure; ratios to the reference where there is one."""
    columns = list(dict.fromkeys(row for values in figures.values() for row in values))
    lines = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    base = figures.get(reference, {})
    for name, values in figures.items():
        cells = [_cell(values.get(column), base.get(column) if name != reference else None) for column in columns]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(value: float | None, base: float | None) -> str:
    if value is None:
        return "–"
    shown = f"{value:,.0f}" if value >= 100 else f"{value:.2f}"
    return f"{shown} ({value / base:.2f})" if base else shown


def ratios(figures: Figures, reference: str) -> list[Bar]:
    """A bar for each program and each figure that has a target, figure by figure."""
    base, targets = figures.get(reference, {}), BARE_TARGETS if reference == BARE else TARGETS
    rows = dict.fromkeys(row for values in figures.values() for row in values if base.get(row))
    found: list[Bar] = []
    for row in rows:
        fits = (start for start in targets if row.startswith(start) and (EXTENSIONS in start) == (EXTENSIONS in row))
        limit = next((targets[start] for start in fits), None)
        if limit is None or " same run" in row:
            continue
        for name, values in figures.items():
            if name not in (reference, BARE) and row in values:
                ours = name.partition(" ")[2] in ("stream-json", "flat")
                found.append(Bar(row.rpartition(",")[0], name, values[row] / base[row], limit, ours))
    return found


def promises(bars: list[Bar]) -> list[str]:
    """What was promised of ours, and what was measured."""
    return [f"{bar.name}: {bar.figure} = {bar.ratio:.2f} (≤ {bar.limit:g})" for bar in bars if bar.ours]


def plot(bars: list[Bar], title: str) -> str:
    """Bars of ratios, a group for each figure; a red line marks what was promised for ours."""
    scale = SCALE if all(bar.limit < SCALE for bar in bars) else BARE_SCALE
    groups = dict.fromkeys(bar.figure for bar in bars)
    height = (BAR + GAP) * len(bars) + (BAR + 2 * GAP) * len(groups) + 44
    size = f'width="{LABEL + WIDE + 60}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">',
        f'<rect width="100%" height="100%" fill="#ffffff"/><text x="8" y="20" font-size="13">{_text(title)}</text>',
    ]
    top = 34
    for figure in groups:
        group = [bar for bar in bars if bar.figure == figure]
        top += GAP
        parts.append(f'<text x="8" y="{top + 11}" font-weight="bold">{_text(figure)}</text>')
        top += BAR + GAP
        mark, goals = min(group[0].limit / scale, 1) * WIDE, sum(bar.ours for bar in group)
        parts.append(f'<path d="M{LABEL + mark:.1f} {top - 3}v{(BAR + GAP) * goals}" stroke="{LIMIT}"/>')
        for bar in group:
            width, colour = min(bar.ratio / scale, 1) * WIDE, OURS if bar.ours else OTHERS
            more = "" if bar.ratio <= scale else " →"
            parts.append(f'<text x="{LABEL - 6}" y="{top + 11}" text-anchor="end">{_text(bar.name)}</text>')
            parts.append(f'<rect x="{LABEL}" y="{top}" width="{width:.1f}" height="{BAR}" fill="{colour}"/>')
            place = LABEL + (max(width, mark) if bar.ours else width) + 4
            parts.append(f'<text x="{place:.1f}" y="{top + 11}">{bar.ratio:.2f}{more}</text>')
            top += BAR + GAP
    return "\n".join([*parts, "</svg>"]) + "\n"


def _text(words: str) -> str:
    return words.replace("&", "&amp;").replace("<", "&lt;")
