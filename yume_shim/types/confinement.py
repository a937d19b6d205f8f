"""What the operating system must enforce on a command: which files it may change or read, and whether it has a network.

The gate sets it on a decision, the shell tool carries it out. A command with a confinement never runs without it.
"""

from __future__ import annotations

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal


class Confinement(Value):
    """`read`: judged to only read. `edit`: judged to change only files that acceptEdits covers. `sandbox`: the sandbox
    that the settings ask for. All paths are absolute, links resolved."""

    kind: Literal["read", "edit", "sandbox"]
    folders: tuple[str, ...] = ()
    """edit: folders in which files may be made, changed and removed; their other subfolders stay as they are."""
    trees: tuple[str, ...] = ()
    """Folders that may be changed as a whole."""
    protected: tuple[str, ...] = ()
    """Names that must not be changed and must not appear below a writable folder, lower case."""
    hidden: tuple[str, ...] = ()
    """Files and folders that cannot be read."""
    programs: tuple[str, ...] = ()
    """The commands that it runs, by name."""
