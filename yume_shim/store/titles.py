"""Titles of sessions: their form, and the transcript lines that hold them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json

MAX_TITLE = 200
"""Characters of a title."""


def clean_title(text: str) -> str:
    """A title on one line, of a length that lists can show."""
    words = "".join(char if char.isprintable() else " " for char in text).split()
    return " ".join(words)[:MAX_TITLE].rstrip()


def title_lines(session_id: str, title: str) -> list[Json]:
    """The transcript lines of a title, as the Claude CLI writes them."""
    return [
        {"type": "custom-title", "customTitle": title, "sessionId": session_id},
        {"type": "agent-name", "agentName": title, "sessionId": session_id},
    ]
