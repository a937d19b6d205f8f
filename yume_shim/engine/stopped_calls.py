"""The result of a call that was stopped: what the model reads about what it did, and about what comes next."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.events import InterruptReason

BY_USER = "The user doesn't want to proceed with this tool use."
"""Hosts of the Claude CLI recognise a stopped call by this sentence."""
BY_MESSAGE = "This tool use was stopped because the user sent a new message."
BY_SHUTDOWN = "This tool use was stopped because the session was ended."
NOT_RUN = "It was not run."
RAN = "It had started and was stopped before its end. Whatever it did until then remains, such as files that it wrote."
RUNS_ON = "It had started and did not stop when told to. It may still be running: check what it did before you go on."
WAIT = "STOP what you are doing and wait for the user to tell you how to proceed."
MESSAGE_FOLLOWS = "The user's message follows."
OUTPUT = "Output until it was stopped:"


def stopped_text(reason: InterruptReason, *, ran: bool, runs_on: bool = False, output: str = "") -> str:
    """The text for the model. `ran`: the tool had begun; `runs_on`: it could not be stopped; `output` is what it had
    put out."""
    match reason:
        case "priority":
            why, then = BY_MESSAGE, MESSAGE_FOLLOWS
        case "signal" | "shutdown" | "deadline":
            why, then = BY_SHUTDOWN, WAIT
        case _:
            why, then = BY_USER, WAIT
    did = RUNS_ON if ran and runs_on else RAN if ran else NOT_RUN
    text = f"{why} {did} {then}"
    return f"{text}\n{OUTPUT}\n{output}" if output else text
