"""What the operating system must enforce on a command that was judged harmless, in case a table is wrong.

A command that runs because of a rule or an answer is not confined here. Where the system cannot enforce what a judged
command needs, the command is asked about.
"""

from __future__ import annotations

import os
import stat

from yume_shim.gate import wording
from yume_shim.types.confinement import Confinement
from yume_shim.types.outputs import Decision
from yume_shim.types.protected_names import single_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from yume_shim.gate.command_calls import CommandCall
    from yume_shim.gate.rulebook import RuleBook
    from yume_shim.gate.rules import PathPattern
    from yume_shim.gate.workspace import Place, Workspace
    from yume_shim.types.ports import Confiner

MAX_SEARCHED = 50_000
"""Directory entries searched for files that `Read` deny rules hide; in a larger tree the command is asked about."""
ASK_AGAIN = "it failed when it ran confined, and approved it runs unconfined"


def confine(command: CommandCall, space: Workspace, book: RuleBook, confiner: Confiner | None, mode: str) -> Decision:
    """Allow a judged command with its confinement, or ask."""
    if confiner is not None and confiner.failed(command.text):
        return _ask(ASK_AGAIN, mode)
    hidden, why = hidden_files(book.hidden_patterns())
    if why:
        return _ask(why, mode)
    folders, trees = _writable(command.targets)
    confinement = Confinement(
        "edit" if command.targets else "read",
        folders,
        trees,
        single_names() if command.targets else (),
        hidden,
        command.programs,
    )
    why = confiner.problem(confinement) if confiner is not None else ""
    return _ask(why, mode) if why else Decision("allow", confinement=confinement)


def _ask(why: str, mode: str) -> Decision:
    return Decision("ask", wording.command_approval(why, mode), "safetyCheck", why)


def _writable(targets: list[Place]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(the folders in which the targets are, the targets that are folders)."""
    folders = dict.fromkeys(_existing(os.path.dirname(place.real)) for place in targets)
    trees = dict.fromkeys(place.real for place in targets if place.is_folder)
    return tuple(folders), tuple(trees)


def _existing(folder: str) -> str:
    """The folder, or the nearest one above it that exists: `mkdir -p` makes the rest."""
    while not os.path.isdir(folder) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    return folder


# ---------------------------------------------------------------- hidden files


def hidden_files(patterns: tuple[PathPattern, ...], limit: int = MAX_SEARCHED) -> tuple[tuple[str, ...], str]:
    """(the files and folders that match now, ""), or ((), why they cannot all be known)."""
    found: dict[str, None] = {}
    searched: dict[str, list[PathPattern]] = {}
    for pattern in patterns:
        if pattern.matches(pattern.literal):
            found[pattern.literal] = None
        else:
            searched.setdefault(pattern.literal, []).append(pattern)
    count = 0
    for top, matching in searched.items():
        for path in _below(top, matching):
            count += 1
            if count > limit:
                return (), f"rules hide files from reading, and there are over {limit} files to search for them"
            if path:
                found[path] = None
    hidden: dict[str, None] = {}
    for path in found:
        try:
            info = os.stat(path)
        except (OSError, ValueError):
            continue  # there is nothing to hide
        if stat.S_ISREG(info.st_mode) and info.st_nlink > 1:
            return (), f"rules hide {path} from reading, and it has a second name (a hard link)"
        hidden[os.path.realpath(path)] = None
    return tuple(hidden), ""


def _below(top: str, patterns: list[PathPattern]) -> Iterator[str]:
    """For every entry below a folder: its path if it is hidden, else ""."""
    waiting = [top]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if any(pattern.matches(entry.path) for pattern in patterns):
                        yield entry.path
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    yield ""
        except OSError:
            continue  # what we cannot list, the command cannot list
