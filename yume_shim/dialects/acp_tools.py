"""Tool calls in the form of the Agent Client Protocol: kind, title, locations, content. Pure."""

from __future__ import annotations

import os

from yume_shim.dialects.records.acp_records import ContentItem, DiffItem, ImageContent, Location, TextContent
from yume_shim.types.blocks import Document, Image, Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.dialects.records.acp_records import CallContent
    from yume_shim.types.blocks import Json, ToolCall
    from yume_shim.types.events import ToolFinished

KINDS = {
    "Read": "read",
    "LS": "read",
    "Edit": "edit",
    "MultiEdit": "edit",
    "Write": "edit",
    "NotebookEdit": "edit",
    "Bash": "execute",
    "BashOutput": "execute",
    "KillShell": "execute",
    "TaskOutput": "execute",
    "TaskStop": "execute",
    "Grep": "search",
    "Glob": "search",
    "ToolSearch": "search",
    "WebSearch": "fetch",
    "WebFetch": "fetch",
    "Task": "think",
    "Agent": "think",
    "TodoWrite": "think",
    "EnterPlanMode": "switch_mode",
    "ExitPlanMode": "switch_mode",
}
"""The protocol's kind of each tool; any other tool is `other`."""
PATH_FIELDS = ("file_path", "notebook_path", "path")
MAX_TITLE = 160
"""Characters of a title."""
MAX_TEXT = 256 * 1024
"""Characters of one text in an update. The model and the transcript have more; a card does not show it."""
MAX_INPUT_TEXT = 16 * 1024
"""Characters of one string of `rawInput`."""
MAX_DEPTH = 8
MAX_ITEMS = 200
"""Levels and items of `rawInput` that are passed on."""
MAX_DIFFS = 100


def kind_of(name: str) -> str:
    """The protocol's kind of a tool."""
    return KINDS.get(name, "other")


def title_of(call: ToolCall, cwd: str) -> str:
    """One line that says what the call does."""
    given = call.input
    match call.name:
        case "Bash":
            title = _string(given, "command") or "Bash"
        case "Grep" | "Glob":
            title = f"{call.name} {_string(given, 'pattern')}"
        case "WebFetch" | "WebSearch":
            title = f"{call.name} {_string(given, 'url') or _string(given, 'query')}"
        case "Task" | "Agent":
            title = _string(given, "description") or call.name
        case "ExitPlanMode":
            title = "Ready to carry out the plan?"
        case _:
            path = path_of(call, cwd)
            title = f"{call.name} {_short(path, cwd)}" if path else call.name
    return clipped(" ".join(title.split()), MAX_TITLE)


def path_of(call: ToolCall, cwd: str) -> str:
    """The absolute path that a built-in call names; "" if there is none."""
    if call.name not in KINDS:
        return ""
    found = next((path for field in PATH_FIELDS if (path := _string(call.input, field))), "")
    return os.path.normpath(os.path.join(cwd, os.path.expanduser(found))) if found else ""


def locations(call: ToolCall, cwd: str) -> list[Location]:
    """The files that a call touches."""
    path = path_of(call, cwd)
    if not path:
        return []
    line = call.input.get("offset") if call.name == "Read" else None
    plain = isinstance(line, int) and not isinstance(line, bool) and line > 0
    return [Location(path=path, line=line if plain else None)]


def proposed_content(call: ToolCall, cwd: str) -> list[CallContent]:
    """What a card shows before the call has run: the change that it asks for, or the plan."""
    path = path_of(call, cwd)
    if call.name == "Edit":
        return _diffs(path, [call.input])
    if call.name == "MultiEdit":
        edits = call.input.get("edits")
        return _diffs(path, [edit for edit in edits if isinstance(edit, dict)]) if isinstance(edits, list) else []
    if call.name == "Write" and path:
        return [_diff(path, None, _string(call.input, "content"))]
    if call.name == "ExitPlanMode" and (plan := _string(call.input, "plan")):
        return [text_content(plan)]
    return []


def finished_content(event: ToolFinished, cwd: str) -> list[CallContent]:
    """What a card shows of a result: the change that was made, the output of a command, text, images."""
    call, result = event.call, event.result
    path = path_of(call, cwd)
    if not result.is_error and kind_of(call.name) == "edit" and isinstance(event.structured, dict):
        made = _changes(path, event.structured)
        if made:
            return made
    if isinstance(result.content, str):
        if not result.content:
            return []
        return [text_content(_fenced(result.content) if call.name == "Bash" else result.content)]
    return [_part(part) for part in result.content]


def text_content(text: str) -> ContentItem:
    """A text as the content of a tool call."""
    return ContentItem(content=TextContent(text=clipped(text, MAX_TEXT)))


def shown_input(given: Any, depth: int = 0) -> Any:
    """The input for `rawInput`: bounded in length and depth."""
    if isinstance(given, str):
        return clipped(given, MAX_INPUT_TEXT)
    if depth >= MAX_DEPTH:
        return "…" if isinstance(given, (dict, list)) else given
    if isinstance(given, dict):
        return {key: shown_input(item, depth + 1) for key, item in list(given.items())[:MAX_ITEMS]}
    if isinstance(given, list):
        return [shown_input(item, depth + 1) for item in given[:MAX_ITEMS]]
    return given


def clipped(text: str, most: int) -> str:
    """The text, cut after `most` characters with a note about the rest."""
    return text if len(text) <= most else f"{text[:most]}… [{len(text) - most} more characters]"


# ---------------------------------------------------------------- diffs


def _diffs(path: str, edits: list[Json]) -> list[CallContent]:
    if not path:
        return []
    return [_diff(path, _string(edit, "old_string"), _string(edit, "new_string")) for edit in edits[:MAX_DIFFS]]


def _diff(path: str, old: str | None, new: str) -> CallContent:
    """A change of a file. One that is too long is named only: half a diff would show another change."""
    if len(old or "") > MAX_TEXT or len(new) > MAX_TEXT:
        return text_content(f"The change of {path} is too long to show.")
    return DiffItem(path=path, oldText=old, newText=new)


def _changes(path: str, structured: Json) -> list[CallContent]:
    """The change that a file tool reports: a new file, or each place that changed, with the lines around it."""
    if not path:
        return []
    content = structured.get("content")
    if structured.get("type") == "create" and isinstance(content, str):
        return [_diff(path, None, content)]
    patch = structured.get("structuredPatch")
    made = []
    for hunk in patch[:MAX_DIFFS] if isinstance(patch, list) else ():
        lines = [line for line in hunk.get("lines", ()) if isinstance(line, str) and line[:1] in (" ", "-", "+")]
        old = "\n".join(line[1:] for line in lines if line[0] != "+")
        new = "\n".join(line[1:] for line in lines if line[0] != "-")
        made.append(_diff(path, old, new))
    return made


# ---------------------------------------------------------------- texts


def _fenced(text: str) -> str:
    """The output of a command as a code block; the fence is longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}console\n{clipped(text, MAX_TEXT).rstrip()}\n{fence}"


def _part(part: Text | Image | Document) -> ContentItem:
    match part:
        case Text():
            return text_content(part.text)
        case Image() if part.data and len(part.data) <= MAX_TEXT * 16:
            return ContentItem(content=ImageContent(data=part.data, mimeType=part.media_type))
        case Image():
            return text_content(f"[image: {part.media_type or part.url}]")
        case Document():
            if part.media_type == "text/plain":
                return text_content(part.data)
            return text_content(f"[document: {part.title or part.media_type}]")


def _short(path: str, cwd: str) -> str:
    base = cwd.rstrip(os.sep) + os.sep
    return path[len(base) :] if path.startswith(base) else path


def _string(given: Json, field: str) -> str:
    found = given.get(field)
    return found if isinstance(found, str) else ""
