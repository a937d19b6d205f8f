"""LS: lists a folder as a tree, up to a limit; entries near the top come first."""

from __future__ import annotations

import os

from yume_shim.disk.resolve import resolve
from yume_shim.text.path_patterns import anywhere
from yume_shim.tools.glob import check_folder
from yume_shim.tools.search import walk
from yume_shim.types.errors import ToolFailed
from yume_shim.types.outputs import ToolOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.text.path_patterns import PathPattern
    from yume_shim.tools.dispatch.session_state import ToolState
    from yume_shim.types.blocks import Json
    from yume_shim.types.outputs import ToolContext

    Inside = dict[str, list[tuple[str, bool]]]

MAX_SHOWN = 1_000
MAX_READ = 100_000
CLOSED = frozenset(("node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache", ".pytest_cache"))
"""Folders that are named but not opened: big, and never the user's own work."""


def run(given: Json, state: ToolState, context: ToolContext) -> ToolOutput:
    """List the folder."""
    shown = given.get("path", state.cwd)
    top = context.judged or resolve(state.resolve(shown)).real
    check_folder(top, shown, state.cwd)
    try:
        os.scandir(top).close()
        ignore = [anywhere(pattern) for pattern in given.get("ignore", ())]
    except OSError as error:
        raise ToolFailed(f"Cannot list {shown}: {(error.strerror or str(error)).lower()}") from None
    except ValueError as error:
        raise ToolFailed(f"Bad pattern: {error}") from None
    inside, more = _gather(top, ignore, walk.Budget(context.cancel, MAX_READ))
    lines, names = _draw(top, inside)
    name = state.name_of(state.resolve(shown), top)
    text = "\n".join((f"- {name.rstrip(os.sep)}/", *(lines or ["(empty)"])))
    if more:
        text += f"\n(cut: only {len(names)} entries are shown; list a folder below for more)"
    return ToolOutput(text, {"path": name, "entries": names, "numEntries": len(names), "truncated": more})


def _gather(top: str, ignore: list[PathPattern], budget: walk.Budget) -> tuple[Inside, bool]:
    """(name, is folder) per folder, breadth first until there are enough; and whether something was left out."""
    inside: Inside = {}
    count = 0
    todo = [(top, "")]
    for folder, prefix in todo:  # grows while it is walked
        kept = inside.setdefault(folder, [])
        for name, is_folder in _sorted_names(folder, budget):
            if name in walk.VCS_FOLDERS or any(rule.matches(prefix + name) for rule in ignore):
                continue
            if count == MAX_SHOWN:
                return inside, True
            count += 1
            kept.append((name, is_folder))
            if is_folder and name not in CLOSED:
                todo.append((os.path.join(folder, name), f"{prefix}{name}/"))
    return inside, budget.spent


def _sorted_names(folder: str, budget: walk.Budget) -> list[tuple[str, bool]]:
    return sorted((entry.name, walk.is_folder(entry)) for entry in walk.scan(folder) if budget.take())


def _draw(top: str, inside: Inside) -> tuple[list[str], list[str]]:
    """The lines of the tree, and the paths in it. Folders may be nested deeper than Python recurses."""
    lines: list[str] = []
    paths: list[str] = []
    todo = [(top, "", name, is_folder) for name, is_folder in reversed(inside[top])]
    while todo:
        folder, prefix, name, is_folder = todo.pop()
        ending = "/" if is_folder else ""
        lines.append(f"{'  ' * (prefix.count('/') + 1)}- {name}{ending}")
        paths.append(prefix + name + ending)
        below = os.path.join(folder, name)
        if is_folder:
            todo += [(below, paths[-1], *entry) for entry in reversed(inside.get(below, []))]
    return lines, paths
