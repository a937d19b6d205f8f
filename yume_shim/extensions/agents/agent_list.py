"""All agents of a session by name: built in, of plugins, of the user's and the project's files, of flags and host."""

from __future__ import annotations

import threading

from yume_shim.extensions.agents.builtin_agents import BUILTIN_AGENTS
from yume_shim.extensions.agents.definition_files import read_folder
from yume_shim.extensions.agents.definition_reader import BadDefinition, read_definition
from yume_shim.text.frontmatter import as_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from yume_shim.types.agents import AgentDefinition, AgentOrigin, AgentSettings

MAX_AGENTS = 1_000
"""Of one session."""


class AgentList:
    """Read on the threads of loops, changed on the stdin reader's: the table is replaced as a whole, under a lock.

    Of two agents with one name the later source counts: built in, plugins, the user's files, the project's files,
    `--agents`, the host."""

    def __init__(self, settings: AgentSettings, warn: Callable[[str], None]) -> None:
        self._warn, self._lock = warn, threading.Lock()
        self._plugins: dict[str, AgentDefinition] = {}
        self._files: dict[str, AgentDefinition] = {}
        for folder in settings.folders:
            self._files |= read_folder(folder, warn)
        self._given = self._read(settings.given, "flag")
        self._table: dict[str, AgentDefinition] = {}
        self._all: tuple[AgentDefinition, ...] = ()
        self._join()

    def get(self, name: str) -> AgentDefinition | None:
        return self._table.get(name)

    def all(self) -> tuple[AgentDefinition, ...]:
        """In alphabetical order, whatever the case. The same tuple as long as nothing changes."""
        return self._all

    def names(self) -> tuple[str, ...]:
        return tuple(self._table)

    def add_given(self, definitions: Mapping[str, Any]) -> None:
        """Definitions that the host sends with `initialize`."""
        found = self._read(definitions, "host")
        with self._lock:
            self._given = {**self._given, **found}
            self._join()

    def set_plugins(self, definitions: Iterable[AgentDefinition]) -> None:
        """The agents of plugins, with their whole names (`plugin:agent`)."""
        with self._lock:
            self._plugins = {definition.name: definition for definition in definitions}
            self._join()

    def _read(self, definitions: Mapping[str, Any], origin: AgentOrigin) -> dict[str, AgentDefinition]:
        found: dict[str, AgentDefinition] = {}
        for name, fields in definitions.items():
            try:
                if not isinstance(fields, dict) or not as_text(fields.get("prompt")):
                    raise BadDefinition("it needs a `prompt`")
                found[name] = read_definition(name, fields, fields["prompt"], origin, self._about(name))
            except BadDefinition as error:
                self._warn(f"agent '{name}' is not offered: {error}")
        return found

    def _about(self, name: str) -> Callable[[str], None]:
        return lambda text: self._warn(f"agent '{name}': {text}")

    def _join(self) -> None:
        builtin = {definition.name: definition for definition in BUILTIN_AGENTS}
        joined = {**builtin, **self._plugins, **self._files, **self._given}
        if len(joined) > MAX_AGENTS:
            self._warn(f"there are more than {MAX_AGENTS:,} agents: the rest is not offered")
        self._table = dict(sorted(joined.items(), key=lambda item: (item[0].lower(), item[0]))[:MAX_AGENTS])
        self._all = tuple(self._table.values())
