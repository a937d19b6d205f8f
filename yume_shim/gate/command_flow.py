"""Follows a shell command through its `cd`s: in which folders its parts may run, and where their words lead."""

from __future__ import annotations

from yume_shim.gate.unwrap import name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from yume_shim.gate.shell import Script
    from yume_shim.gate.workspace import Place, Workspace

MAX_BASES = 16
"""A command that may change into more folders than this is not followed."""


class Flow:
    """`bases`: every folder that the parts may run in (a `cd` can fail); `unknown`: there may be others."""

    def __init__(self, space: Workspace, bases: tuple[str, ...], unknown: bool) -> None:
        self._space = space
        self.bases = bases
        self.unknown = unknown

    def places(self, text: str) -> Iterator[Place]:
        """Where a word may lead: one place per folder."""
        for base in self.bases:
            yield self._space.place(text, base)

    def is_folder(self, text: str) -> bool:
        return any(place.is_folder for place in self.places(text))

    def exists(self, text: str) -> bool:
        return any(place.exists for place in self.places(text))


def follow(script: Script, space: Workspace, base: str) -> Flow:
    """Follow the script, which starts in `base`."""
    bases = [base]
    unknown = False
    for command in script.commands:
        if not command.words or name_of(command.words[0]) not in ("cd", "pushd", "popd"):
            continue
        target = command.words[1] if len(command.words) == 2 else None
        if target is None or target.kind != "plain" or target.text.startswith("-") or command.words[0].text != "cd":
            unknown = True
            continue
        reached = [space.place(target.text, known).real for known in bases]
        bases = list(dict.fromkeys((*bases, *reached)))
        if len(bases) > MAX_BASES:
            return Flow(space, tuple(bases[:MAX_BASES]), True)
    return Flow(space, tuple(bases), unknown)
