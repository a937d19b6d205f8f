"""The tables of docs/telemetry.md, from the names that telemetry uses."""

from __future__ import annotations


def sections() -> dict[str, str]:
    """The tables by the name of their section."""
    return {"metrics": metrics(), "events": events(), "spans": spans()}


def metrics() -> str:
    """All counters."""
    from yume_shim.telemetry.names import METRICS

    lines = ["", "| metric | unit | meaning | attributes |", "|---|---|---|---|"]
    lines += [
        f"| `{row.name}` | {row.unit or '–'} | {row.text} | {_listed(row.attributes)} |" for row in METRICS.values()
    ]
    return "\n".join(lines) + "\n\n"


def events() -> str:
    """All events."""
    from yume_shim.telemetry.names import EVENTS

    lines = ["", "| event | when | attributes | where they apply |", "|---|---|---|---|"]
    lines += [
        f"| `claude_code.{row.name}` | {row.text} | {_listed(row.attributes)} | {_listed(row.optional)} |"
        for row in EVENTS.values()
    ]
    return "\n".join(lines) + "\n\n"


def spans() -> str:
    """All kinds of spans."""
    from yume_shim.telemetry.names import SPANS

    lines = ["", "| span | what it covers | attributes | with content |", "|---|---|---|---|"]
    lines += [
        f"| `{row.operation}` | {row.text} | {_listed(row.attributes)} | {_listed(row.content)} |"
        for row in SPANS.values()
    ]
    return "\n".join(lines) + "\n\n"


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "–"
