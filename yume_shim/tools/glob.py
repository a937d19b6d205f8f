"""Glob: lists paths that match a pattern, newest first, up to a limit."""

from __future__ import annotations

import os
import time

from yume_shim.disk.resolve import resolve
from yume_shim.text.path_patterns import PathPattern, below
from yume_shim.tools.search import walk
from yume_shim.types.errors import ToolFailed
from yume_shim.types.outputs import ToolOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from yume_shim.tools.dispatch.session_state import ToolState
    from yume_shim.types.blocks import Json
    from yume_shim.types.outputs import ToolContext

MAX_SHOWN = 100


def run(given: Json, state: ToolState, context: ToolContext) -> ToolOutput:
    """List the files that match."""
    began = time.monotonic()
    shown = given.get("path", state.cwd)
    top = context.judged or resolve(state.resolve(shown)).real
    check_folder(top, shown, state.cwd)
    name = state.name_of(state.resolve(shown), top)
    try:
        pattern = PathPattern(_inside(given["pattern"], name, top), fold=walk.FOLDS)
    except ValueError as error:
        raise ToolFailed(f"Bad pattern: {error}") from None
    budget = walk.Budget(context.cancel)
    found = newest_first(walk.matching_files(top, pattern, budget))
    names = [state.relative(renamed(path, top, name)) for path in found[:MAX_SHOWN]]
    cut = len(found) > MAX_SHOWN
    text = "\n".join(names) or "No files found"
    if cut:
        text += f"\n(the newest {MAX_SHOWN} of {len(found)}; a narrower pattern or path shows the others)"
    if budget.spent:
        text += "\n(the folder is too big to be searched to its end; give a narrower path)"
    structured = {
        "filenames": names,
        "durationMs": round((time.monotonic() - began) * 1000),
        "numFiles": len(names),
        "truncated": cut or budget.spent,
        "totalMatches": len(found),
        "countIsComplete": not budget.spent,
    }
    return ToolOutput(text, structured)


def check_folder(path: str, shown: str, cwd: str) -> None:
    """Raise unless this is a folder."""
    if not os.path.exists(path):
        raise ToolFailed(f"Directory does not exist: {shown}. Note: your current working directory is {cwd}.")
    if not os.path.isdir(path):
        raise ToolFailed(f"Path is not a directory: {shown}")


def renamed(path: str, top: str, name: str) -> str:
    """A path below the resolved folder `top` as a path below `name`, which the user knows."""
    return path if top == name else os.path.join(name, path[len(top) :].lstrip(os.sep))


def newest_first(paths: Iterable[str]) -> list[str]:
    """By time of last change; those of the same time by name."""
    timed: list[tuple[int, str]] = []
    for path in paths:
        try:
            timed.append((-os.lstat(path).st_mtime_ns, path))
        except OSError:
            timed.append((0, path))
    timed.sort()
    return [path for _, path in timed]


def _inside(pattern: str, *folders: str) -> str:
    """The pattern relative to the folder searched. The gate did not judge anything outside it, so that is refused."""
    inside = below(pattern, folders, windows=os.sep == "\\", fold=walk.FOLDS)
    if inside is None:
        raise ToolFailed("The pattern must be relative to the folder searched; name another folder with `path`.")
    if ".." in inside.split("/"):
        raise ToolFailed("The pattern must not contain `..`; name another folder with `path`.")
    return inside
