"""The answer as text for a person at a terminal: while it comes, and what there is of it after an interrupt."""

from __future__ import annotations

from yume_shim.dialects.plain import TextDialect, closing_text
from yume_shim.types.blocks import Text
from yume_shim.types.events import (
    SUCCESSES,
    BlockDelta,
    BlockStarted,
    Interrupted,
    ResponseDropped,
    ResponseStarted,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from yume_shim.types.blocks import Json
    from yume_shim.types.events import Event, Tagged

NOT_SHOWN = dict.fromkeys([*(code for code in range(32) if code not in (9, 10)), *range(127, 160)])
"""Control characters but tab and line feed: a model's text must not move the cursor or set a title."""


class AttendedText(TextDialect):
    """Prints the answer when the turn has ended, as `TextDialect` does; after an interrupt what has come of it."""

    def __init__(self, *, errors: bool = True) -> None:
        super().__init__(errors=errors)
        self._pieces: list[str] = []
        self._kept = 0
        """How many of them a dropped response leaves."""

    def feed(self, tagged: Tagged) -> list[Json]:
        """`{"!text": …}` at the end of a turn."""
        event = tagged.event
        if tagged.parent_call_id is not None:
            return []
        if isinstance(event, TurnEnded) and event.outcome == "cancelled":
            text = "".join(self._pieces).strip()
            return [{"!text": f"{text}\n"}] if text and not self._muted else []
        self._remember(event)
        return super().feed(tagged)

    def delta_lines(self, event: BlockDelta, uuids: Sequence[str]) -> None:
        """Text is remembered by `feed`."""

    def _remember(self, event: Event) -> None:
        match event:
            case BlockDelta(kind="text"):
                self._pieces.append(event.text)
            case BlockStarted(block=Text()) if len(self._pieces) > self._kept:
                self._pieces.append("\n")
            case ResponseStarted():
                self._kept = len(self._pieces)
            case ResponseDropped(from_index=0):
                del self._pieces[self._kept :]
            case ToolStarted() | TurnStarted():
                self._pieces.clear()
                self._kept = 0
            case _:
                pass


class LiveText:
    """Prints text as it comes, also that between tool calls; then the failure, if there is one. Text that was shown
    stays: a cut answer goes on where it broke off, and an answer that was shown is not printed again at the end."""

    def __init__(self, *, errors: bool = True) -> None:
        """`errors`: failures are printed as well."""
        self._errors = errors
        self._muted = False
        self._in_line = False
        """The cursor is within a line."""
        self._shown = False
        """Some text of the answer was shown since the last call."""
        self._several = False
        """The response has shown a text block already."""
        self._gap = ""
        """What goes before the next text."""

    def feed(self, tagged: Tagged) -> list[Json]:
        """`{"!text": …}` for each piece of text, and at the end of a turn."""
        event = tagged.event
        if tagged.parent_call_id is not None:
            return []
        if isinstance(event, Interrupted) and event.reason == "shutdown":
            self._muted = True
        if self._muted:
            return []
        text = self._text_of(event)
        return [{"!text": text}] if text else []

    def delta_lines(self, event: BlockDelta, uuids: Sequence[str]) -> None:
        """Text is no line of JSON."""

    def break_line(self) -> str:
        """What ends the line that is begun: something else is going to be printed."""
        ending, self._in_line = "\n" if self._in_line else "", False
        return ending

    def _text_of(self, event: Event) -> str:
        match event:
            case BlockDelta(kind="text"):
                return self._piece(event.text)
            case BlockStarted(block=Text()) if self._several and self._in_line:
                self._gap = "\n"
            case ResponseStarted():
                self._several = False
            case ToolStarted() | TurnStarted():
                self._gap, self._shown = "\n" if self._shown or self._gap else "", False
                return self.break_line()
            case TurnEnded():
                return self._closing(event)
            case _:
                pass
        return ""

    def _piece(self, text: str) -> str:
        shown = text.translate(NOT_SHOWN)
        if not self._shown:  # blank lines before the first word look like a hang
            shown = shown.lstrip()
        if not shown:
            return ""
        if self._gap:
            shown, self._gap = self._gap + shown, ""
        self._shown = self._several = True
        self._in_line = not shown.endswith("\n")
        return shown

    def _closing(self, event: TurnEnded) -> str:
        ending = self.break_line()
        self._gap = "\n"  # before the answer of a further turn
        if event.outcome == "cancelled":
            return ending
        if event.outcome in SUCCESSES:
            return ending if self._shown or not event.text.strip() else ending + _line(event.text)
        return ending + _line(closing_text(event)) if self._errors else ending


def _line(text: str) -> str:
    shown = text.translate(NOT_SHOWN)
    return shown if shown.endswith("\n") else f"{shown}\n"
