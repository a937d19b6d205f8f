"""What a tool call is about, in one line: which input says it, and how much its result is. For all renderers."""

from __future__ import annotations

from yume_shim.pages.document import Picture, Words
from yume_shim.pages.figures import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.pages.document import Call
    from yume_shim.types.blocks import Json

MAX_SUBJECT = 160
_SUBJECT = {
    "Bash": ("command",),
    "Read": ("file_path",),
    "Write": ("file_path",),
    "Edit": ("file_path",),
    "MultiEdit": ("file_path",),
    "NotebookEdit": ("notebook_path",),
    "Glob": ("pattern",),
    "Grep": ("pattern",),
    "LS": ("path",),
    "WebFetch": ("url",),
    "WebSearch": ("query",),
    "Task": ("description",),
    "Agent": ("description",),
    "Skill": ("skill", "command"),
    "SendMessage": ("to",),
    "TaskOutput": ("task_id",),
    "BashOutput": ("bash_id",),
}
_OTHERWISE = (
    *(
        "command",
        "file_path",
        "path",
        "pattern",
        "query",
        "url",
        "description",
        "title",
        "name",
        "prompt",
        "id",
        "text",
    ),
)
FILE_TOOLS = ("Read", "Write", "Edit", "MultiEdit", "NotebookEdit")
EDITS = ("Edit", "MultiEdit")
AGENTS = ("Task", "Agent")


def shown_name(name: str) -> str:
    """`mcp__server__tool` as `server › tool`."""
    parts = name.split("__", 2)
    return f"{parts[1]} › {parts[2]}" if len(parts) == 3 and parts[0] == "mcp" and parts[1] and parts[2] else name


def subject(call: Call) -> str:
    """The input that says most, on one line."""
    if call.name == "TodoWrite":
        todos = todos_of(call.input)
        done = sum(state == "completed" for _, state in todos)
        return f"{done} of {len(todos)} done"
    for key in (*_SUBJECT.get(call.name, ()), *_OTHERWISE):
        found = call.input.get(key)
        if isinstance(found, str) and found.strip():
            lines = found.strip().split("\n", 1)
            text = " ".join(lines[0].split())
            cut = len(text) > MAX_SUBJECT or len(lines) > 1
            return text[:MAX_SUBJECT] + (" …" if cut else "") + _where(call)
    first = next((text for text in call.input.values() if isinstance(text, str) and text.strip()), "")
    return " ".join(first.split())[:MAX_SUBJECT]


def _where(call: Call) -> str:
    if call.name == "Read":
        start, count = call.input.get("offset"), call.input.get("limit")
        if isinstance(start, int) and isinstance(count, int):
            return f":{start}-{start + count - 1}"
        return f":{start}-" if isinstance(start, int) else ""
    if call.name in ("Grep", "Glob") and isinstance(call.input.get("path"), str):
        return f" in {' '.join(call.input['path'].split())}"
    return ""


def todos_of(given: Json) -> list[tuple[str, str]]:
    """(text, state) of each item of a to-do list."""
    found = given.get("todos")
    return [
        (str(item.get("content") or item.get("activeForm") or ""), str(item.get("status") or ""))
        for item in (found if isinstance(found, list) else ())
        if isinstance(item, dict)
    ]


def size(call: Call) -> str:
    """How much the result is: `14 lines`, `+3 −1`, `2 images`."""
    if call.result is None:
        return "no result"
    words = [part for part in call.result.parts if isinstance(part, Words)]
    others = [part for part in call.result.parts if not isinstance(part, Words)]
    if others:
        images = all(isinstance(part, Picture) or part.kind == "image" for part in others)
        return plural(len(others), "image" if images else "file")
    return plural(sum(part.lines or lines_of(part.text) for part in words), "line")


def lines_of(text: str) -> int:
    """Lines of a text, without empty ones at its end."""
    text = text.rstrip("\n")
    return text.count("\n") + 1 if text else 0


def word(found: Any) -> str:
    """A value as a word: what JSON calls `true` stays so."""
    return "true" if found is True else "false" if found is False else "null" if found is None else str(found)
