"""What the operating system must enforce on a command that was judged harmless, in case a table is wrong.

A command that runs because of a rule or an answer is not confined here. Where the system cannot enforce what a judged
command needs, the command is asked about.
"""

from __future__ import annotations

import os

from yume_shim.gate import wording
from yume_shim.types.confinement import Confinement
from yume_shim.types.outputs import Decision
from yume_shim.types.protected_names import single_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.gate.command_calls import CommandCall
    from yume_shim.gate.hidden_files import HiddenFiles
    from yume_shim.gate.rulebook import RuleBook
    from yume_shim.gate.workspace import Place
    from yume_shim.types.ports import Confiner

ASK_AGAIN = "it failed when it ran confined, and approved it runs unconfined"


def confine(
    command: CommandCall, search: HiddenFiles, book: RuleBook, confiner: Confiner | None, mode: str
) -> Decision:
    """Allow a judged command with its confinement, or ask."""
    if confiner is not None and confiner.failed(command.text):
        return _ask(ASK_AGAIN, mode)
    hidden, why = search.find(book.hidden_patterns())
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
