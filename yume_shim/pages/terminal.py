"""A document as text for a terminal: one line per call, the rest as it was said. Colours only where they are wanted; no
control character of the content reaches the terminal."""

from __future__ import annotations

from yume_shim.pages import figures
from yume_shim.pages.document import Answer, Aside, Call, Mark, Picture, Prompt, Thinking, Words
from yume_shim.pages.edits import hunks_of_call
from yume_shim.pages.printed import plain, settled
from yume_shim.pages.tool_words import shown_name, size, subject, todos_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from yume_shim.pages.document import Document, Item, Part, Turn

SHOWN_LINES = 12
"""Lines of a result that are shown; an error's are all shown up to MAX_ERROR_LINES."""
MAX_ERROR_LINES = 40
SHOWN_COLUMNS = 400
"""Characters of a line of a result that are shown."""
_COLOURS = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "magenta": "35", "cyan": "36"}
_STATES = {"ok": ("✓", "green"), "error": ("✗", "red"), "denied": ("⊘", "yellow"), "open": ("…", "yellow")}
_MARKS = {"failure": "red", "retry": "yellow", "warning": "yellow", "interrupted": "yellow", "compaction": "magenta"}


def rendered(document: Document, *, colours: bool = False, everything: bool = False) -> str:
    """The whole session. `everything`: results and thoughts without a limit."""
    lines = _Terminal(colours, everything).lines(document)
    return "".join(f"{line.replace(chr(10), ' ')}\n" for line in lines)  # no content begins a line of its own


class _Terminal:
    def __init__(self, colours: bool, everything: bool) -> None:
        self._colours = colours
        self._everything = everything

    def lines(self, document: Document) -> Iterator[str]:
        yield self._in("bold", plain(document.title))
        facts = [
            f"session {document.session_id}" if document.session_id else "",
            document.folder,
            ", ".join(document.models),
        ]
        if document.started is not None:
            facts.append(f"{figures.day_and_time(document.started)} UTC")
        if document.cost_usd is not None:
            facts.append(figures.amount(document.cost_usd) + (f" ({document.cost_note})" if document.cost_note else ""))
        if document.tokens.total:
            facts.append(f"{figures.short(document.tokens.total)} tokens")
        yield self._in("dim", plain(" · ".join(filter(None, facts))))
        for turn in document.turns:
            yield ""
            yield from self._turn(turn)
        for agent in document.agents:
            yield ""
            yield self._in("magenta", plain(f"Agent {agent.kind} {agent.description}".strip()))
            yield from self._items(agent.items, "  ")
        if document.unread:
            yield self._in("yellow", f"{figures.plural(document.unread, 'line')} could not be read.")

    def _turn(self, turn: Turn) -> Iterator[str]:
        words = [f"#{turn.number}" if turn.number else "before the first prompt"]
        if turn.started is not None:
            words.append(figures.clock(turn.started))
        if turn.started is not None and turn.ended is not None and turn.ended > turn.started:
            words.append(figures.duration((turn.ended - turn.started) * 1000))
        first = next((request.first_ms for request in turn.requests if request.first_ms), 0)
        if first:
            words.append(f"answer began after {figures.duration(first)}")
        if turn.cost_usd is not None:
            words.append(figures.amount(turn.cost_usd))
        yield self._in("dim", "── " + " · ".join(words) + " ──")
        if turn.prompt is not None and turn.prompt.parts:
            yield from self._prompt(turn.prompt, "")
        yield from self._items(turn.items, "")

    def _items(self, items: Sequence[Item], indent: str) -> Iterator[str]:
        for item in items:
            match item:
                case Prompt():
                    yield from self._prompt(item, indent)
                case Answer():  # indented: nothing in it looks like a prompt or a call
                    yield from self._text((item.words,), indent + "  ")
                case Thinking():
                    yield from self._thought(item, indent)
                case Call():
                    yield from self._call(item, indent)
                case Mark():
                    wait = f" (waits {figures.duration(item.wait_ms)})" if item.wait_ms else ""
                    yield indent + self._in(_MARKS.get(item.kind, "dim"), f"[{plain(item.title)}{wait}]")
                    yield from self._indented(item.detail, indent + "  ")
                case Aside():
                    yield indent + self._in("dim", f"[{plain(item.title)}: {figures.plural(len(item.items), 'item')}]")

    def _prompt(self, prompt: Prompt, indent: str) -> Iterator[str]:
        if prompt.kind in ("context", "summary") and not self._everything:
            yield indent + self._in("dim", f"[{plain(prompt.title or 'Context')}]")
            return
        for place, line in enumerate(self._text(prompt.parts, "")):
            yield indent + self._in("cyan", ("› " if not place else "  ") + line)

    def _thought(self, item: Thinking, indent: str) -> Iterator[str]:
        text = item.words.text.strip()
        if self._everything:
            yield from (indent + self._in("dim", f"~ {line}") for line in plain(text).split("\n"))
        else:
            first = " ".join(text[:200].split())[:90]
            yield indent + self._in("dim", f"~ {plain(first)} …" if first else "~ thinking, kept by the provider")

    def _text(self, parts: Sequence[Part], indent: str) -> Iterator[str]:
        for part in parts:
            if isinstance(part, Words):
                yield from (indent + line for line in plain(settled(part.text).strip("\n")).split("\n"))
                if part.cut:
                    yield f"{indent}[{part.cut:,} more characters]"
            else:
                name = part.media_type if isinstance(part, Picture) else f"{part.kind} {part.name} {part.note}".strip()
                yield f"{indent}[{plain(name)}]"

    def _call(self, call: Call, indent: str) -> Iterator[str]:
        sign, colour = _STATES[call.state]
        words = [size(call)]
        if call.waited_ms:
            words.append(f"waited {figures.duration(call.waited_ms)}")
        if call.duration_ms:
            words.append(figures.duration(call.duration_ms))
        about = plain(subject(call))
        name = self._in("bold", plain(shown_name(call.name)))
        yield f"{indent}{self._in(colour, sign)} {name} {about} {self._in('dim', '· ' + ' · '.join(words))}"
        inner = indent + "  "
        if call.name == "TodoWrite":
            signs = {"completed": "[x]", "in_progress": "[~]"}
            yield from (f"{inner}{signs.get(state, '[ ]')} {plain(text)}" for text, state in todos_of(call.input))
            return
        if call.name in ("Edit", "MultiEdit"):
            yield from self._diff(call, inner)
            if call.state == "ok":
                return
        if call.agent is not None:
            yield from self._items(call.agent.items, indent + "  │ ")
        if call.result is not None:
            yield from self._result(call, inner)

    def _diff(self, call: Call, indent: str) -> Iterator[str]:
        facts = call.result.facts if call.result is not None and isinstance(call.result.facts, dict) else {}
        for hunk in hunks_of_call(call.input, facts):
            for line in hunk["lines"]:
                colour = "green" if line.startswith("+") else "red" if line.startswith("-") else "dim"
                yield indent + self._in(colour, plain(line))

    def _result(self, call: Call, indent: str) -> Iterator[str]:
        assert call.result is not None
        lines = list(self._text(call.result.parts, ""))
        limit = MAX_ERROR_LINES if call.result.is_error else SHOWN_LINES
        shown = lines if self._everything or len(lines) <= limit + 1 else lines[:limit]
        for line in shown:
            rest = 0 if self._everything else max(len(line) - SHOWN_COLUMNS, 0)
            text = f"{line[:SHOWN_COLUMNS]} … {rest:,} more characters" if rest else line
            yield indent + self._in("red" if call.result.is_error else "dim", text)
        if len(shown) < len(lines):
            yield indent + self._in("dim", f"… {len(lines) - len(shown):,} more lines")

    def _indented(self, text: str, indent: str) -> Iterator[str]:
        if text:
            yield from (indent + line for line in plain(text).split("\n"))

    def _in(self, colour: str, text: str) -> str:
        return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if self._colours and text else text
