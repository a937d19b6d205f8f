"""Corrects calls of models that know a tool only roughly: wrong parameter names, values sent as JSON text, parameters
that the tool does not have.

No name is guessed beyond the table: a wrong name is accepted only if the real parameter is missing and the wrong name
is not a parameter itself. Parameters that are unknown all the same are left out; a missing or wrong value fails
validation.
"""

from __future__ import annotations

from yume_shim.text.codec import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from yume_shim.types.blocks import Json

ALIASES: dict[str, tuple[str, ...]] = {
    "file_path": ("path", "filename", "file", "filepath", "absolute_path", "target_file"),
    "notebook_path": ("path", "file_path", "filename", "file", "notebook"),
    "path": ("directory", "dir", "folder", "dir_path", "cwd"),
    "offset": ("start_line", "line_start", "start"),
    "limit": ("num_lines", "line_count", "max_lines"),
    "replace_all": ("all_occurrences", "global"),
    "command": ("cmd", "script", "shell_command", "bash"),
    "old_string": ("old", "old_str", "old_text", "search"),
    "new_string": ("new", "new_str", "new_text", "replace", "replacement"),
    "content": ("contents", "text", "file_text", "body"),
    "pattern": ("regex", "regexp", "query", "search", "glob"),
    "edits": ("changes", "replacements"),
    "todos": ("items", "tasks", "todo_list"),
    "task_id": ("bash_id", "shell_id", "agent_id", "id"),
    "url": ("uri", "link", "address"),
    "prompt": ("question", "instructions"),
    "query": ("q", "search", "search_term"),
    "new_source": ("source", "content", "code"),
    "cell_id": ("cell", "id"),
    "questions": ("question_list",),
}
"""Parameter -> names that models use for it by mistake, the likelier first."""


def fix_arguments(given: Json, schema: Json, report_drift: Callable[[str, str], None]) -> Json:
    """The corrected input; the same object if nothing was wrong. Calls `report_drift(name, what)` for each change."""
    fields: Json = schema["properties"]
    made = _renamed(given, fields, report_drift)
    if all(made.get(name) is not None for name in schema.get("required", ())):
        made = _without_unknown(made, fields, report_drift)
    for name, item in made.items():
        better = _item(item, fields[name], name, report_drift) if name in fields else item
        if better is not item:
            made = {**made, name: better}
    return made


def _renamed(given: Json, fields: Json, report_drift: Callable[[str, str], None]) -> Json:
    taken: dict[str, str] = {}
    for name in fields:
        if given.get(name) is not None:
            continue
        for other in given:
            if other not in fields and other not in taken and (_plain(other) == _plain(name)):
                taken[other] = name
                break
        else:
            for other in ALIASES.get(name, ()):
                found = next((key for key in given if _plain(key) == _plain(other)), None)
                if found is not None and found not in fields and found not in taken:
                    taken[found] = name
                    break
    for other, name in taken.items():
        report_drift(other, f"taken as `{name}`")
    if not taken:
        return given
    return {taken.get(key, key): item for key, item in given.items() if key not in taken.values()}


def _without_unknown(given: Json, fields: Json, report_drift: Callable[[str, str], None]) -> Json:
    """The input without what the tool does not know. Where a required parameter is missing too, nothing is left out:
    the model then reads about both."""
    unknown = [name for name in given if name not in fields]
    for name in unknown:
        report_drift(name, "ignored: there is no such parameter")
    return {name: item for name, item in given.items() if name in fields} if unknown else given


def _plain(name: str) -> str:
    """`filePath`, `file-path` and `file_path` are one name. (`-i` and `i` too, but `-i` is then a parameter itself.)"""
    return name.replace("_", "").replace("-", "").lower()


def _item(item: Any, field: Json, name: str, report_drift: Callable[[str, str], None]) -> Any:
    expected = field.get("type")
    if isinstance(item, str) and expected in ("array", "object"):
        try:
            parsed = loads(item)
        except ValueError:
            return item
        if not isinstance(parsed, list if expected == "array" else dict):
            return item
        report_drift(name, f"parsed from text to {expected}")
        item = parsed
    inner = field.get("items", {})
    if expected == "array" and isinstance(item, list) and "properties" in inner:
        better = [fix_arguments(part, inner, report_drift) if isinstance(part, dict) else part for part in item]
        if any(new is not old for new, old in zip(better, item, strict=True)):
            return better
    return item
