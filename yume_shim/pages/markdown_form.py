"""A document as Markdown. Its headings are ours alone: those of the content stand two levels below them."""

from __future__ import annotations

import re

from yume_shim.pages import figures
from yume_shim.pages.document import Answer, Aside, Call, Mark, Picture, Prompt, Thinking, Words
from yume_shim.pages.edits import hunks_of_call
from yume_shim.pages.printed import plain, printed
from yume_shim.pages.tool_words import EDITS, shown_name, size, subject, todos_of
from yume_shim.text.codec import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from yume_shim.pages.document import Document, Item, Part, Turn

_STATES = {"ok": "✓", "error": "✗", "denied": "⊘", "open": "…"}
_WHO = {"user": "User", "command": "Command", "notice": "Notice", "context": "Context", "summary": "Summary"}
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"( {0,3})(#{1,6})(?=[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_TAG = re.compile(r"\\*<(?!https?://|mailto:)(?=[A-Za-z/!?])")
LOWERED = 2
"""Levels by which headings of the content are lowered; 6 is the lowest."""


def as_markdown(document: Document) -> str:
    """The whole session."""
    return "\n".join(_lines(document)).rstrip("\n") + "\n"


def _lines(document: Document) -> Iterator[str]:
    yield f"# {_line(document.title)}\n"
    facts = [_code(document.session_id) if document.session_id else "", *map(_code, document.models)]
    if document.started is not None:
        facts.append(f"{figures.day_and_time(document.started)} UTC")
    if document.cost_usd is not None:
        facts.append(figures.amount(document.cost_usd) + (f" ({document.cost_note})" if document.cost_note else ""))
    if document.tokens.total:
        facts.append(f"{figures.short(document.tokens.total)} tokens")
    where = f" in {_code(document.folder)}" if document.folder else ""
    yield f"Session {' · '.join(filter(None, facts))}{where}\n"
    for turn in document.turns:
        yield from _turn(turn)
    for agent in document.agents:
        yield f"## Agent {_line(f'{agent.kind} {agent.description}')}\n"
        yield from _items(agent.items)
    if document.unread:
        yield f"*{figures.plural(document.unread, 'line')} could not be read.*\n"


def _turn(turn: Turn) -> Iterator[str]:
    if turn.prompt is not None and turn.prompt.parts:
        yield f"## {_line(turn.prompt.title) or _WHO[turn.prompt.kind]}\n"
        yield from map(_part, turn.prompt.parts)
    if turn.items:
        models = dict.fromkeys(request.model for request in turn.requests if request.model)
        yield f"## Assistant ({', '.join(map(_line, models))})\n" if models else "## Assistant\n"
        yield from _items(turn.items)


def _items(items: Sequence[Item]) -> Iterator[str]:
    for item in items:
        match item:
            case Prompt():
                yield f"*{_line(item.title) or _WHO[item.kind]}:*\n"
                yield _quoted("\n".join(map(_part, item.parts)))
            case Answer():
                yield _part(item.words)
            case Thinking():
                if item.words.text.strip():
                    yield _quoted(_part(item.words))
            case Call():
                yield from _call(item)
            case Mark():
                wait = f", waits {figures.duration(item.wait_ms)}" if item.wait_ms else ""
                yield f"*[{_line(item.title)}{wait}]*\n"
                if item.detail:
                    yield _fenced(item.detail)
            case Aside():
                yield f"*[{_line(item.title)}]*\n"
                yield _quoted("\n".join(_items(item.items)))


def _call(call: Call) -> Iterator[str]:
    facts = call.result.facts if call.result is not None and isinstance(call.result.facts, dict) else {}
    about = _flat(subject(call))
    words = [f"**{_STATES[call.state]} {_line(shown_name(call.name))}**", *([_code(about)] if about else ())]
    words += ["·", size(call), *(("·", figures.duration(call.duration_ms)) if call.duration_ms else ())]
    yield " ".join(words) + "\n"
    hunks = hunks_of_call(call.input, facts) if call.name in EDITS else []
    if call.name == "TodoWrite":
        signs = {"completed": "x"}
        yield "\n".join(f"- [{signs.get(state, ' ')}] {_line(text)}" for text, state in todos_of(call.input)) + "\n"
    elif hunks:
        yield _fenced("\n".join(line for hunk in hunks for line in hunk["lines"]), "diff")
    elif call.name == "Bash" and isinstance(call.input.get("command"), str):
        yield _fenced(call.input["command"], "sh")
    else:
        yield _fenced(call.broken or dumps(call.input).decode("utf-8"), "" if call.broken else "json")
    if call.agent is not None:
        yield _quoted("\n".join(_items(call.agent.items)))
    if call.result is None or ((hunks or call.name == "TodoWrite") and not call.result.is_error):
        return
    if call.result.is_error:
        yield "Error:\n"
    for part in call.result.parts:
        yield _fenced(part.text) + _cut(part) if isinstance(part, Words) else _part(part)


def _part(part: Part) -> str:
    """A part as Markdown, closed in itself: no heading, no open fence of it reaches what follows."""
    if isinstance(part, Words):
        return f"{contained(plain(part.text.strip()))}\n{_cut(part)}"
    if isinstance(part, Picture):
        return f"*[{part.media_type} {part.width} × {part.height}]*\n"
    return f"*[{_line(f'{part.kind} {part.name} {part.note}')}]*\n"


def _cut(words: Words) -> str:
    return f"\n*{words.cut:,} more characters*\n" if words.cut else ""


def contained(text: str) -> str:
    """A Markdown text with its headings lowered, its HTML as text, and its last fence closed."""
    fence = ""
    made: list[str] = []
    lines = text.split("\n")
    simple = not any("``" in line.lstrip(" `") or line.count("`") % 2 for line in lines if not _FENCE.match(line))
    for line in lines:
        found = _FENCE.match(line)
        if fence:
            if found is not None and found[1].startswith(fence) and not line[found.end() :].strip():
                fence = ""
        elif found is not None:
            fence = found[1]
        else:
            line = _lowered(_without_html(line, simple), made[-1] if made else "")
        made.append(line)
    return "\n".join([*made, fence] if fence else made)


def _lowered(line: str, above: str) -> str:
    heading = _HEADING.match(line)
    if heading is not None:
        return f"{heading[1]}{'#' * min(len(heading[2]) + LOWERED, 6)}{line[heading.end() :]}"
    if above.strip() and _UNDERLINE.match(line):  # it would make the line above a heading
        return "\\" + line.lstrip()
    return line


def _without_html(line: str, simple: bool) -> str:
    """HTML becomes text. In code between single marks it is text already; where the marks are not that simple, it gets
    its backslash there too, which shows."""
    if "<" not in line:
        return line
    pieces = line.split("`") if simple else [line]
    return "`".join(_TAG.sub(r"\\<", piece) if place % 2 == 0 else piece for place, piece in enumerate(pieces))


def _fenced(text: str, kind: str = "") -> str:
    """A code block whose fence is longer than any in the text."""
    text, fence = printed(text), "```"
    while fence in text:
        fence += "`"
    return f"{fence}{kind}\n{text}\n{fence}\n"


def _quoted(text: str) -> str:
    return "".join(f"> {line}\n" if line else ">\n" for line in text.rstrip("\n").split("\n"))


def _line(text: str) -> str:
    return re.sub(r"[\\`<]", r"\\\g<0>", _flat(text))


def _flat(text: str) -> str:
    return " ".join(plain(text).split())


def _code(text: str) -> str:
    """A name or a command as code."""
    shown = _flat(text)
    marks = "`"
    while marks in shown:
        marks += "`"
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{marks}{space}{shown}{space}{marks}"
