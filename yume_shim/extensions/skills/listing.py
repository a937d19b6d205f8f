"""The list of skills that the model reads: names and descriptions, within a share of its window."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from yume_shim.types.prompt_files import PromptFile

WINDOW_SHARE = 0.01
"""The part of the window that the list may take."""
CHARACTERS_PER_TOKEN = 4
LEAST, MOST = 2_000, 40_000
"""Characters of the list, whatever the window."""
SHORTEST = 20
"""Descriptions are not cut below this; then they are left out."""
INTRODUCTION = "Skills that you can use with the Skill tool. Use one when the task is what its description says:"


def budget(window: int, asked: str = "") -> int:
    """Characters for the list. `asked` is a number that the user set."""
    if asked.isascii() and asked.isdigit() and asked:
        return min(int(asked), MOST)
    return max(LEAST, min(MOST, round(window * WINDOW_SHARE) * CHARACTERS_PER_TOKEN))


def listing(files: Iterable[PromptFile], room: int) -> str:
    """The list; "" if there is nothing to list. Long descriptions are cut so that all names fit; what does not fit even
    so is counted."""
    named = [(_shown(file), file.description) for file in files if _is_listed(file)]
    if not named:
        return ""
    left = room - sum(len(name) + 3 for name, _ in named)
    length = _fitting([len(text) + 2 for _, text in named], left)
    lines: list[str] = []
    used = 0
    for place, (name, text) in enumerate(named):
        line = f"- {name}" + (f": {_cut(text, length - 2)}" if text and length >= min(SHORTEST, len(text) + 2) else "")
        if used + len(line) + 1 > room and lines:
            lines.append(f"- … and {len(named) - place} more")
            break
        used += len(line) + 1
        lines.append(line)
    return "\n".join(["<system-reminder>", INTRODUCTION, "", *lines, "</system-reminder>"])


def _is_listed(file: PromptFile) -> bool:
    """A plugin's command without a description is for users, as in the Claude CLI."""
    return file.for_model and (file.described or not file.where.plugin)


def _shown(file: PromptFile) -> str:
    return f"{file.name} ({file.title})" if file.title else file.name


def _fitting(lengths: list[int], room: int) -> int:
    """The greatest length to which all can be cut so that together they fit."""
    low, high = 0, max(lengths)
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(length, middle) for length in lengths) <= room:
            low = middle
        else:
            high = middle - 1
    return low


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: max(0, length - 1)].rstrip() + "…"
