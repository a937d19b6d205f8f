"""The commands and skills of a session: found by name, listed for the host, read again when files change."""

from __future__ import annotations

import threading

from yume_shim.extensions.commands.files import read_folder, signature
from yume_shim.types.blocks import NOTHING
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from yume_shim.types.blocks import Json
    from yume_shim.types.prompt_files import PromptFile, PromptFolder

ORIGINS = {"user": " (user)", "project": " (project)"}


class PromptLibrary:
    """Implements `types.ports.PromptFiles`. The session's thread and the stdin reader's use it: what was read is
    replaced as a whole, under the lock."""

    def __init__(
        self,
        folders: Sequence[PromptFolder],
        hidden: Callable[[str], bool],
        log: Callable[[str, str], None],
        overrides: Mapping[str, str] = NOTHING,
    ) -> None:
        """`hidden` says whether a rule hides a file from reading, `overrides` how single skills are offered."""
        self._folders, self._hidden, self._log, self._overrides = tuple(folders), hidden, log, overrides
        self._lock = threading.Lock()
        self._warned: set[str] = set()
        self._files: dict[str, PromptFile] = {}
        self._signature: tuple[object, ...] = ()
        self.session_id: Callable[[], str] = str
        """The id of the session, for files that name it; set when there is one."""
        self.refresh()

    def refresh(self) -> bool:
        """Read the files again if they have changed; True if they have."""
        now = tuple(map(signature, self._folders))
        with self._lock:
            if now == self._signature:
                return False
            files: dict[str, PromptFile] = {}
            for where in self._folders:
                for file in read_folder(where, self._hidden, self._warn):
                    if (offered := self._offered(file)) is not None:
                        files.setdefault(file.name, offered)
            changed = files != self._files
            self._files, self._signature = files, now
            return changed

    def _offered(self, file: PromptFile) -> PromptFile | None:
        """The skill as the settings offer it; None = not at all. Those of plugins are not changed, as in the Claude
        CLI."""
        how = self._overrides.get(file.name) if file.folder and not file.where.plugin else None
        if how == "name-only":
            return replace(file, description="")
        if how == "user-invocable-only":
            return replace(file, for_model=False)
        return None if how == "off" else file

    def all(self) -> tuple[PromptFile, ...]:
        """All of them: skills first, then commands by name."""
        files = self._files.values()
        commands = sorted((file for file in files if not file.folder), key=lambda file: file.name)
        return (*(file for file in files if file.folder), *commands)

    def find(self, name: str) -> PromptFile | None:
        """By name, by the other name of its frontmatter, or a plugin's skill without the plugin's name."""
        files = self._files
        found = files.get(name)
        if found is None:
            found = next((file for file in files.values() if name and file.title == name), None)
        if found is None and ":" not in name:
            own = [file for file in files.values() if file.folder and file.where.plugin]
            found = next((file for file in own if file.name.partition(":")[2] == name), None)
        return None if found is None else self._with_variables(found)

    def listed(self) -> tuple[Json, ...]:
        """What a user may run, for the answer to `initialize`."""
        return tuple(map(_listed, filter(lambda file: file.for_user, self.all())))

    def _with_variables(self, file: PromptFile) -> PromptFile:
        """The file with its folders and the session's id in place of the variables that name them."""
        known = {
            "${CLAUDE_SKILL_DIR}": file.folder,
            "${CLAUDE_PLUGIN_ROOT}": file.where.plugin_root,
            "${CLAUDE_SESSION_ID}": self.session_id(),
        }
        body = file.body
        for name, text in known.items():
            body = body.replace(name, text) if text else body
        return replace(file, body=body)

    def _warn(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            self._log("warning", text)


def _listed(file: PromptFile) -> Json:
    origin = f" ({file.where.plugin})" if file.where.plugin else ORIGINS[file.where.source]
    entry: Json = {
        "name": file.title or file.name,
        "description": file.description + origin,
        "argumentHint": file.hint,
    }
    return {**entry, "aliases": [file.name]} if file.title else entry
