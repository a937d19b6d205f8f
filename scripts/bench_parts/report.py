"""What was measured as a table in Markdown and as a plot in SVG."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench_parts.figures import Figures

BAR, GAP, LABEL, WIDE = 14, 6, 330, 420
"""Pixels of the plot."""
OURS, LIMIT = "#2f6f9f", "#b03030"
TARGETS = {
    "spawn → first line": 0.10,
    "spawn → first delta": 0.12,
    "CPU of a short turn": 0.10,
    "CPU per event": 0.12,
    "wall per event": 0.12,
    "peak memory, short turn": 0.08,
    "peak memory, 20,000 deltas": 0.06,
}
"""Promised ratios to the Claude CLI, by the start of the figure's name."""


def table(figures: Figures, reference: str) -> str:
    """A row for each figure, a column for each program; ratios to the reference where there is one."""
    names = list(figures)
    rows = list(dict.fromkeys(row for values in figures.values() for row in values))
    lines = ["| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for row in rows:
        base = figures.get(reference, {}).get(row)
        cells = [_cell(figures[name].get(row), base if name != reference else None) for name in names]
        lines.append(f"| {row} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(value: float | None, base: float | None) -> str:
    if value is None:
        return "–"
    shown = f"{value:,.0f}" if value >= 100 else f"{value:.2f}"
    return f"{shown} ({value / base:.2f})" if base else shown


def ratios(figures: Figures, reference: str) -> list[tuple[str, float, float]]:
    """(what, ratio to the reference, promised ratio) of each figure of ours that has a target."""
    found: list[tuple[str, float, float]] = []
    base = figures.get(reference, {})
    for name, values in figures.items():
        if name.partition(" ")[2] not in ("stream-json", "flat"):
            continue
        for row, value in values.items():
            limit = next((limit for start, limit in TARGETS.items() if row.startswith(start)), None)
            if limit is not None and base.get(row):
                found.append((f"{name}: {row.partition(',')[0]}", value / base[row], limit))
    return found


def plot(bars: list[tuple[str, float, float]], title: str) -> str:
    """Bars of ratios; a red line marks what was promised."""
    largest = max([0.25, *(ratio for _, ratio, _ in bars)])
    height = (BAR + GAP) * len(bars) + 50
    size = f'width="{LABEL + WIDE + 60}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">',
        f'<rect width="100%" height="100%" fill="#ffffff"/><text x="8" y="20" font-size="13">{_text(title)}</text>',
    ]
    for place, (what, ratio, limit) in enumerate(bars):
        top = 34 + place * (BAR + GAP)
        width, mark = ratio / largest * WIDE, LABEL + limit / largest * WIDE
        parts.append(f'<text x="{LABEL - 6}" y="{top + 11}" text-anchor="end">{_text(what)}</text>')
        parts.append(f'<rect x="{LABEL}" y="{top}" width="{width:.1f}" height="{BAR}" fill="{OURS}"/>')
        parts.append(f'<path d="M{mark:.1f} {top - 2}v{BAR + 4}" stroke="{LIMIT}"/>')
        parts.append(f'<text x="{LABEL + width + 4:.1f}" y="{top + 11}">{ratio:.3f}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _text(words: str) -> str:
    return words.replace("&", "&amp;").replace("<", "&lt;")
