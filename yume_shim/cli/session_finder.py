"""Finds stored sessions by what people call them: an id, the start of one, a title, `last`."""

from __future__ import annotations

from yume_shim.store import index
from yume_shim.store.layout import projects_dir
from yume_shim.types.errors import BadInvocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.store.index import Listed
    from yume_shim.types.settings import Settings

MIN_PREFIX = 4
"""How many characters of an id must be given."""
MAX_NAMED = 5
"""Sessions that a message names."""
LAST = "last"


class SessionFinder:
    """The sessions of this machine."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        self._settings = settings

    def projects(self) -> str:
        """The folder of all projects."""
        settings = self._settings()
        return projects_dir(settings.env, settings.session.folder)

    def listing(self, everywhere: bool) -> list[Listed]:
        """All sessions, or those of the working folder; newest first."""
        return index.listing(self.projects(), "" if everywhere else self._settings().cwd)

    def find(self, name: str) -> Listed:
        """By id, by the start of an id, or by title; this folder's sessions first. `last` is the newest of this folder,
        or of all if there is none. Raises BadInvocation."""
        projects, cwd = self.projects(), self._settings().cwd
        if name == LAST:
            newest = index.newest(projects, cwd)
            found = [listed] if newest and (listed := index.look(newest)) else index.listing(projects)[:1]
        else:
            path = index.find(projects, name, cwd)
            known = index.look(path) if path else None
            found = [known] if known is not None else self._similar(name)
        if not found:
            raise BadInvocation("no session is stored" if name == LAST else f"no session '{name}'")
        if len(found) > 1:
            several = ", ".join(each.session_id for each in found[:MAX_NAMED])
            more = f" and {len(found) - MAX_NAMED:,} more" if len(found) > MAX_NAMED else ""
            raise BadInvocation(f"'{name}' matches more than one session: {several}{more}")
        return found[0]

    def _similar(self, name: str) -> list[Listed]:
        everything = index.listing(self.projects())
        named = [each for each in everything if each.title and each.title.casefold() == name.casefold()]
        return named or [each for each in everything if len(name) >= MIN_PREFIX and each.session_id.startswith(name)]
