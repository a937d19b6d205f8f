"""Ends of turns that are no failure of a provider: the subtypes of results, and signals."""

from __future__ import annotations

from yume_shim.types.error_entries.entry import Entry

OUTCOMES: tuple[Entry, ...] = (
    Entry(
        "outcome",
        "max_turns",
        "The turn has made as many requests as --max-turns allows.",
        "Raise --max-turns, or send a further prompt to go on",
    ),
    Entry("outcome", "max_budget", "The budget is used up.", "Raise --max-budget-usd, or choose a cheaper model"),
    Entry(
        "outcome",
        "structured_output_retries",
        "No answer matched the schema of --json-schema.",
        "Make the schema simpler or describe its fields, or choose a stronger model",
    ),
    Entry(
        "outcome",
        "execution_error",
        "The model repeated a call that fails, or this program failed inside; the message says which.",
        "Say in a further prompt how to go on; --debug-file FILE keeps what happened",
    ),
    Entry("outcome", "cancelled", "The turn was interrupted.", "Send a further prompt to go on"),
)
