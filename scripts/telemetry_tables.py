"""The tables of docs/telemetry.md, from the names that telemetry uses."""

from __future__ import annotations


def sections() -> dict[str, str]:
    """The tables by the name of their section."""
    return {"metrics": metrics(), "events": events(), "spans": spans()}


def metrics() -> str:
    """All counters."""
    from yume_shim.telemetry.names import METRICS

    lines = ["", "| metric | unit | meaning | attributes |", "|---|---|---|---|"]
    for row in METRICS.values():
        lines.append(f"| `{row.name}` | {row.unit or '–'} | {row.text} | {_listed(row.attributes)} |")
    return "\n".join(lines) + "\n\n"


def events() -> str:
    """All events."""
    from yume_shim.telemetry.names import EVENTS

    lines = ["", "| event | when | attributes | where they apply |", "|---|---|---|---|"]
    for row in EVENTS.values():
        lines.append(f"| `claude_code.{row.name}` | {row.text} | {_listed(row.attributes)} | {_listed(row.optional)} |")
    return "\n".join(lines) + "\n\n"


def spans() -> str:
    """All kinds of spans."""
    from yume_shim.telemetry.names import SPANS

    lines = ["", "| span | what it covers | attributes | with content |", "|---|---|---|---|"]
    for row in SPANS.values():
        lines.append(f"| `{row.operation}` | {row.text} | {_listed(row.attributes)} | {_listed(row.content)} |")
    return "\n".join(lines) + "\n\n"


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "–"
