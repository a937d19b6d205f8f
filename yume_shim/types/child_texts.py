"""The text that reports a child's end: its report, or why there is none."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.children import ChildResult

NO_TEXT = "(The agent ended without a report.)"
_MESSAGE = "A message from the conversation that started you. Take it into account before you report:"
_UNREAD = "NOTE: {count} message(s) came too late: the agent has not read them. Send them again if they still matter."


def message_text(message: str) -> str:
    """A message to an agent, as its model reads it."""
    return f"{_MESSAGE}\n{message}"


def unread_text(count: int) -> str:
    """The note to the sender about messages that an agent has not read; "" if it has read all."""
    return _UNREAD.format(count=count) if count else ""


def failure_text(result: ChildResult) -> str:
    """Why a child failed; "" if it did not. A limit of turns or of hooks is no failure."""
    match result.outcome:
        case "provider_error" | "auth_error":
            reason = result.failure.message if result.failure is not None else "the provider failed"
            kind = f" ({result.failure.kind})" if result.failure is not None else ""
            return f"The agent ended early because of an API error{kind}: {reason}"
        case "execution_error":
            return f"The agent failed: {result.failure.message if result.failure is not None else result.limit}"
        case "max_budget":
            return f"The agent ended early: the budget ({result.limit}) is used up."
        case "cancelled":
            return "The agent was stopped."
        case _:
            return ""


def notes_on(result: ChildResult) -> tuple[str, ...]:
    """What the reader of a report must know about it."""
    notes: list[str] = []
    if result.tools_used:
        notes.append(f"Tools used before this report: {', '.join(result.tools_used)}")
    if result.outcome == "max_turns":
        notes.append(
            f"NOTE: this agent stopped at its limit of {result.limit} turn(s) before it was done. What follows is "
            "incomplete."
        )
    return tuple(notes)


def report_text(result: ChildResult) -> str:
    """The report with what limits it, for people and notices."""
    limited = notes_on(result)[-1:] if result.outcome == "max_turns" else ()
    return "\n\n".join((*limited, result.text or NO_TEXT))
