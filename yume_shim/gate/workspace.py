"""The folders a session may work in, and whether a path is inside them."""

from __future__ import annotations

import os

from yume_shim.gate.paths import alias_below_mounts, contains, expand, flaw, protected_row, resolve, tidy
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.disk.resolve import Resolved
    from yume_shim.gate.paths import Flavour


class Place(Value):
    """A path as requested (`asked`) and as resolved (`real`); `flaw` says why it cannot be judged. `has_other_names`: a
    file with further hard links."""

    asked: str
    real: str
    flaw: str = ""
    is_link: bool = False
    is_folder: bool = False
    exists: bool = False
    has_other_names: bool = False


def resolved_by_text(path: str) -> Resolved:
    """Where an absolute path of Windows leads if there are no links and no other names: for judging it elsewhere."""
    from yume_shim.disk.resolve import Resolved
    from yume_shim.text.windows_paths import SHORT, is_short_name

    return Resolved(path, flaw=SHORT if any(map(is_short_name, path.split("\\"))) else "")


class Workspace:
    """The working folder and the additional ones. Each folder counts as written and as resolved."""

    def __init__(
        self,
        cwd: str,
        home: str,
        flavour: Flavour,
        extra: tuple[str, ...] = (),
        *,
        shell: str = "",
        resolver: Callable[[str], Resolved] = resolve,
    ) -> None:
        """`shell`: how the shell reads paths (a kind of `system/shell_choice.py`; only Windows has several).
        `resolver` finds where an absolute path leads."""
        self.flavour = flavour
        self.shell = shell
        if flavour.windows and os.name != "nt" and resolver is resolve:
            resolver = resolved_by_text
        self.resolve = resolver
        self.home = home
        self.cwd = tidy(expand(cwd, cwd, home, flavour), flavour)
        self.extra: tuple[str, ...] = ()
        self.confined = False
        self.rules_only = False
        """Commands and edits run unasked only by a rule: a settings file is damaged, and guards may be missing."""
        """Nothing outside may be reached, whatever mode and rules say."""
        self._forms: tuple[str, ...] = self._spellings(self.cwd)
        for folder in extra:
            self.add(folder)

    def _spellings(self, folder: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys((folder, tidy(self.resolve(folder).real, self.flavour))))

    def absolute(self, path: str) -> str:
        if self.flavour.windows:
            from yume_shim.disk.foreign_paths import from_linux

            path = from_linux(path)
        return tidy(expand(path, self.cwd, self.home, self.flavour), self.flavour)

    def add(self, folder: str) -> None:
        """Add a folder."""
        path = self.absolute(folder)
        if path not in self.extra:
            self._set((*self.extra, path))

    def remove(self, folder: str) -> None:
        """Remove an added folder (the working folder itself stays)."""
        path = self.absolute(folder)
        self._set(tuple(kept for kept in self.extra if kept != path))

    def _set(self, extra: tuple[str, ...]) -> None:
        self.extra = extra
        self._forms = tuple(form for folder in (self.cwd, *extra) for form in self._spellings(folder))

    @property
    def folders(self) -> tuple[str, ...]:
        """Every folder in every spelling."""
        return self._forms

    def place(self, path: str, base: str = "") -> Place:
        """Where a path leads; a relative path starts at `base` (default: the working folder)."""
        if self.flavour.windows:
            from yume_shim.disk.foreign_paths import from_linux

            path = from_linux(path)
        wrong = flaw(path, self.flavour, self._shares) if self.flavour.windows else flaw(path, self.flavour)
        if "NUL" in wrong or (wrong and self.flavour.windows):
            return Place(path, path, wrong)
        # Resolve the path before tidying it: `link/..` is the parent of the folder that the link leads to.
        full = expand(path, base or self.cwd, self.home, self.flavour)
        found = self.resolve(full)
        asked, real = tidy(full, self.flavour), tidy(found.real, self.flavour)
        wrong = wrong or found.flaw or (alias_below_mounts(real, self.flavour) if self.flavour.mounts else "")
        return Place(asked, real, wrong, found.is_link, found.is_folder, found.exists, found.has_other_names)

    def shell_place(self, word: str, base: str = "") -> Place:
        """Where a word of a command leads: the shell of Windows has a path syntax of its own."""
        if not self.flavour.windows:
            return self.place(word, base)
        from yume_shim.text.windows_paths import ABOVE, climbs, shell_path

        path, wrong = shell_path(word, self.shell)
        if path.startswith("\\") and path[1:2] not in ("\\", "/", "?"):  # from the root of the drive
            path = expand(path, base or self.cwd, self.home, self.flavour)
        if not wrong and ".." in path and climbs(expand(path, base or self.cwd, self.home, self.flavour)):
            wrong = ABOVE
        return Place(word, word, wrong) if wrong else self.place(path, base)

    def shell_text(self, word: str) -> str:
        """The path that a word of a command is to the shell."""
        if not self.flavour.windows:
            return word
        from yume_shim.text.windows_paths import shell_path

        return shell_path(word, self.shell)[0]

    @property
    def _shares(self) -> tuple[str, ...]:
        from yume_shim.text.windows_paths import share_of

        return tuple(share for folder in (self.cwd, *self.extra) if (share := share_of(folder)))

    def misread(self, place: Place) -> bool:
        """Whether a rule cannot be compared with this path: the system may open another file than its text says."""
        if self.flavour.name == "macos":
            from yume_shim.text.macos_paths import HIDDEN_ROOT

            return place.flaw == HIDDEN_ROOT
        return bool(place.flaw) and (self.flavour.windows or self.flavour.mounts)

    def inside(self, place: Place) -> bool:
        """Whether the path is in the workspace, both as requested and as resolved."""
        return not place.flaw and self._in(place.asked) and self._in(place.real)

    def _in(self, path: str) -> bool:
        return any(contains(folder, path, self.flavour) for folder in self._forms)

    def protected(self, place: Place, mode: str = "") -> str:
        """The protected name in the path, counted from its workspace folder down; "" if there is none, or none that
        matters in this mode."""
        return self._protected(place.asked, mode) or self._protected(place.real, mode)

    def _protected(self, path: str, mode: str) -> str:
        inner = [folder for folder in self._forms if contains(folder, path, self.flavour)]
        row = protected_row(path, self.flavour, max(inner, key=len, default=""), mode)
        return row.plain if row is not None else ""
