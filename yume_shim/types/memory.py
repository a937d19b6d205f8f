"""A file of standing instructions that was loaded, and why."""

from __future__ import annotations

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    MemoryKind = Literal["Managed", "User", "Project", "Local"]
    LoadReason = Literal["session_start", "include", "nested_traversal", "path_glob_match"]


class MemoryFile(Value):
    """Its text as the model reads it, and how it was found."""

    path: str
    kind: MemoryKind
    text: str
    tokens: int
    """An estimate."""
    reason: LoadReason = "session_start"
    parent: str = ""
    """The file that imports it."""
    globs: tuple[str, ...] = ()
    """The patterns of a rule that counts for some files only."""
    trigger: str = ""
    """The file whose use loaded it, if it was not loaded at the start."""
