"""One card per tool call: a line that says what it was and how it went, and below it the input and the result."""

from __future__ import annotations

import re

from yume_shim.pages import figures
from yume_shim.pages.document import Words
from yume_shim.pages.edits import counts, hunks_of_call
from yume_shim.pages.html.coloured_code import coloured, language_of
from yume_shim.pages.html.diffs import diff
from yume_shim.pages.html.escaping import attribute, code, prose
from yume_shim.pages.html.markdown import rendered
from yume_shim.pages.html.parts import cut_note, fields, prose_parts, result_part
from yume_shim.pages.tool_words import AGENTS, EDITS, lines_of, shown_name, size, subject, todos_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from yume_shim.pages.document import Call, Item, Part
    from yume_shim.types.blocks import Json

    RenderItems = Callable[[Sequence[Item]], str]

STATES = {"ok": ("✓", "done"), "error": ("✗", "failed"), "denied": ("⊘", "not permitted"), "open": ("…", "no result")}
_NUMBER = re.compile(r" {0,12}([0-9]{1,9})(?:\t|→)")
OPEN_DIFF = 60
"""Lines of a diff that is open from the start."""
OPEN_TODOS = 20
"""Entries of a to-do list that is open from the start: each change of a list is a call with all of it."""
_TODO = {"completed": ("☑", "done"), "in_progress": ("◐", "doing"), "pending": ("☐", "open")}
_PROSE_RESULTS = ("Task", "Agent", "WebFetch", "WebSearch", "ExitPlanMode", "AskUserQuestion", "Skill")


def card(call: Call, items: RenderItems) -> str:
    """The card of a call. `items` renders the conversation of its agent."""
    state = call.state
    sign, said = STATES[state]
    hunks = hunks_of_call(call.input, _facts(call)) if call.name in EDITS else []
    body = _body(call, hunks, items)
    opened = " open" if state in ("error", "denied") or _is_open(call, hunks) else ""
    about = subject(call)
    return (
        f'<details class="item card {state}" id="{call.id}" data-kind="tool" data-tool="{attribute(call.name)}"{opened}><summary>'
        f'<span class="st" role="img" aria-label="{said}" title="{said}">{sign}</span><b class="name">{code(shown_name(call.name))}</b>'
        f'<code class="arg" dir="ltr">{code(about)}</code><span class="meta">{_meta(call, hunks)}</span></summary>'
        f'<div class="body">{body}</div></details>'
    )


def _facts(call: Call) -> Json:
    facts = call.result.facts if call.result is not None else None
    return facts if isinstance(facts, dict) else {}


def _is_open(call: Call, hunks: list[Json]) -> bool:
    if call.name in ("AskUserQuestion", "ExitPlanMode"):
        return True
    if call.name == "TodoWrite":
        return len(todos_of(call.input)) <= OPEN_TODOS
    if call.result is not None and any(not isinstance(part, Words) for part in call.result.parts):
        return True
    return bool(hunks) and sum(len(hunk["lines"]) for hunk in hunks) <= OPEN_DIFF


def _meta(call: Call, hunks: list[Json]) -> str:
    added, removed = counts(hunks)
    words = [f'<span class="plus">+{added}</span> <span class="minus">−{removed}</span>'] if hunks else []
    if call.name == "Write" and isinstance(call.input.get("content"), str):
        words.append(figures.plural(lines_of(call.input["content"]), "line"))
    elif not hunks and call.name != "TodoWrite":
        words.append(prose(size(call)))
    if call.agent is not None and (calls := _calls(call.agent.items)):
        words.append(figures.plural(calls, "call"))
    if call.waited_ms:
        words.append(f"waited {figures.duration(call.waited_ms)}")
    if call.duration_ms:
        words.append(figures.duration(call.duration_ms))
    return " · ".join(words)


def _calls(items: Sequence[Item]) -> int:
    return sum(hasattr(item, "input") for item in items)


def _body(call: Call, hunks: list[Json], items: RenderItems) -> str:
    parts = [_input(call, hunks)]
    if call.broken:
        parts.append(
            f'<p class="label">Arguments that are not JSON</p><div class="code"><pre dir="ltr">{code(call.broken)}</pre></div>'
        )
    if call.agent is not None:
        title = " · ".join(filter(None, (code(call.agent.kind), prose(call.agent.description))))
        parts.append(
            f'<details class="agent"><summary>Conversation of the agent <bdi>{title}</bdi></summary>{items(call.agent.items)}</details>'
        )
    parts.append(_result(call, hunks))
    return "".join(parts)


def _input(call: Call, hunks: list[Json]) -> str:
    given, name = call.input, call.name
    if name == "Bash" and isinstance(given.get("command"), str):
        rest = {key: found for key, found in given.items() if key not in ("command", "description")}
        said = given.get("description")
        note = f'<p class="note" dir="auto">{prose(said)}</p>' if isinstance(said, str) and said else ""
        shell = coloured(given["command"], "bash")
        return f'{note}<div class="code shell"><pre dir="ltr"><code>{shell}</code></pre></div>{fields(rest)}'
    if name == "TodoWrite":
        return _todos(given)
    if hunks:
        return _file(given, diff(hunks))
    if name == "Write" and isinstance(given.get("content"), str):
        text = coloured(given["content"], language_of(str(given.get("file_path") or "")))
        return _file(given, f'<div class="code"><pre dir="ltr"><code>{text}</code></pre></div>')
    if name in AGENTS and isinstance(given.get("prompt"), str):
        rest = {key: found for key, found in given.items() if key not in ("prompt", "description")}
        return f'<div class="said">{rendered(given["prompt"])}</div>{fields(rest)}'
    if name == "ExitPlanMode" and isinstance(given.get("plan"), str):
        return f'<div class="said">{rendered(given["plan"])}</div>'
    if name == "AskUserQuestion":
        return _questions(given)
    about = subject(call)  # what the card's line says in full is not said twice
    return fields({key: found for key, found in given.items() if found != about})


def _file(given: Json, body: str) -> str:
    path = given.get("file_path") or given.get("notebook_path")
    return f'<figure class="sheet"><figcaption><bdi dir="ltr">{code(str(path or "file"))}</bdi></figcaption>{body}</figure>'


def _todos(given: Json) -> str:
    rows = []
    for text, state in todos_of(given):
        sign, kind = _TODO.get(state, _TODO["pending"])
        rows.append(
            f'<li class="{kind}" dir="auto"><span class="box" role="img" aria-label="{kind}">{sign}</span> <span>{prose(text)}</span></li>'
        )
    return f'<ul class="todos">{"".join(rows)}</ul>' if rows else fields(given)


def _questions(given: Json) -> str:
    found = given.get("questions")
    rows: list[str] = []
    for question in found if isinstance(found, list) else ():
        if not isinstance(question, dict):
            continue
        options = question.get("options")
        shown = "".join(
            f'<li dir="auto"><b>{prose(str(option.get("label") or ""))}</b> {prose(str(option.get("description") or ""))}</li>'
            for option in (options if isinstance(options, list) else ())
            if isinstance(option, dict)
        )
        rows.append(f'<p dir="auto">{prose(str(question.get("question") or ""))}</p><ul>{shown}</ul>')
    return f'<div class="said">{"".join(rows)}</div>' if rows else fields(given)


def _numbered(part: Part) -> str:
    """The lines of a file as Read gives them, with their numbers apart."""
    if not isinstance(part, Words):
        return result_part(part)
    lines = part.text.split("\n")
    found = [_NUMBER.match(line) for line in lines]
    width = max((len(number[1]) for number in found if number), default=0)
    if not width or found[0] is None:
        return result_part(part)
    rows = [
        f"<u>{number[1]:>{width}}</u>{code(line[number.end() :])}" if number else code(line)
        for line, number in zip(lines, found, strict=True)
    ]
    body = "\n".join(rows)
    return f'<div class="code"><pre dir="auto"><code>{body}</code></pre></div>{cut_note(part)}'


def _result(call: Call, hunks: list[Json]) -> str:
    if call.result is None:
        return '<p class="note">No result was stored: the call was still running, or the session ended.</p>'
    if call.result.is_error:
        return f'<div class="out bad"><p class="label">Error</p>{"".join(result_part(part) for part in call.result.parts)}</div>'
    if hunks or call.name == "TodoWrite":  # what it says is on the card already
        return ""
    if call.name in _PROSE_RESULTS:
        return f'<div class="out said">{prose_parts(call.result.parts)}</div>'
    show = _numbered if call.name == "Read" else result_part
    shown = "".join(show(part) for part in call.result.parts)
    return f'<div class="out">{shown}</div>' if shown else '<p class="note">The result is empty.</p>'
