"""Makes an agent's definition from the fields of a file, of `--agents`, of `initialize.agents` or of a plugin.

Unknown fields are ignored, as the Claude CLI does. A field with a wrong value is left out and reported. A list of tools
or hooks that cannot be read refuses the whole definition: they limit what the agent may do.
"""

from __future__ import annotations

import re

from yume_shim.text.frontmatter import as_flag, as_names, as_text
from yume_shim.types.agents import AGENT_TOOL, TASK_TOOL, AgentDefinition
from yume_shim.types.effort import EFFORTS
from yume_shim.types.settings import AUTO_MODE, CLAUDE_MODES
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from yume_shim.types.agents import AgentOrigin
    from yume_shim.types.blocks import Json
    from yume_shim.types.effort import Effort

    Warn = Callable[[str], None]

ALL_TOOLS = "*"
INHERIT = "inherit"
"""As the model: the parent's."""
MAX_TURNS = 10_000
WIDER_MODES = ("acceptEdits", "bypassPermissions", AUTO_MODE)
_STARTS = re.compile(rf"(?:{AGENT_TOOL}|{TASK_TOOL})\((.*)\)", re.DOTALL)


class BadDefinition(Exception):
    """Why a definition cannot be used."""


def read_definition(
    name: str, fields: Mapping[str, Any], prompt: str, origin: AgentOrigin, warn: Warn
) -> AgentDefinition:
    """The definition with these fields; `warn` learns what is left out. Raises BadDefinition."""
    given = {_plain(key): item for key, item in fields.items()}
    description = as_text(given.get("description"))
    if not description:
        raise BadDefinition("it needs a `description`")
    reader = _Fields(given, warn)
    tools, types = _tools(reader.names("tools"))
    return AgentDefinition(
        name=name,
        description=description,
        prompt=prompt,
        origin=origin,
        tools=tools,
        agent_types=types,
        disallowed_tools=reader.names("disallowedtools") or (),
        model=_model(as_text(given.get("model"))),
        fallback_models=reader.names("fallbackmodel"),
        effort=reader.effort(),
        permission_mode=reader.mode(),
        max_turns=reader.turns(),
        background=as_flag(given["background"], False) if given.get("background") is not None else None,
        skills=reader.names("skills") or (),
        mcp_servers=reader.servers(),
        hooks=reader.hooks(),
        initial_prompt=as_text(given.get("initialprompt")),
        color=as_text(given.get("color")),
    )


def narrowed(definition: AgentDefinition, *, starts: bool) -> tuple[AgentDefinition, tuple[str, ...]]:
    """The definition as a file of an untrusted folder may give it, and the fields that do not count: it widens nothing,
    and starts hooks and servers only if `starts`."""
    dropped: list[str] = []
    if definition.permission_mode in WIDER_MODES:
        definition = replace(definition, permission_mode="")
        dropped.append("permissionMode")
    if definition.fallback_models is not None:
        definition = replace(definition, fallback_models=None)
        dropped.append("fallbackModel")
    if not starts and definition.mcp_servers:
        definition = replace(definition, mcp_servers=())
        dropped.append("mcpServers")
    if not starts and definition.hooks:
        definition = replace(definition, hooks={})
        dropped.append("hooks")
    return replace(definition, same_provider=True), tuple(dropped)


def _plain(key: object) -> str:
    """`disallowedTools`, `disallowed-tools` and `disallowed_tools` are one field."""
    return str(key).replace("-", "").replace("_", "").lower()


def _model(text: str) -> str:
    return "" if text.lower() == INHERIT else text


def _tools(names: tuple[str, ...] | None) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    """(tools, agents that it may start): `Agent(reviewer)` is the tool Agent, for one kind of agent."""
    if names is None or ALL_TOOLS in names:
        return None, None
    tools: list[str] = []
    types: list[str] | None = None
    for name in names:
        starts = _STARTS.fullmatch(name)
        tools.append(AGENT_TOOL if starts is not None else name)
        if starts is not None:
            types = [*(types or ()), *(part.strip() for part in starts[1].split(",") if part.strip())]
    return tuple(tools), None if types is None else tuple(types)


class _Fields:
    """Reads single fields, and reports those with a wrong value."""

    def __init__(self, given: Mapping[str, Any], warn: Warn) -> None:
        self._given, self._warn = given, warn

    def names(self, key: str) -> tuple[str, ...] | None:
        field = self._given.get(key)
        if isinstance(field, dict) or (isinstance(field, list) and not all(isinstance(item, str) for item in field)):
            raise BadDefinition(f"`{key}` must be a list of names")
        if isinstance(field, list):
            return tuple(item.strip() for item in field if item.strip())
        return as_names(field)

    def effort(self) -> Effort | None:
        text = as_text(self._given.get("effort")).lower()
        levels: dict[str, Effort] = {level: level for level in EFFORTS}
        found = levels.get(text)
        if text and found is None:
            self._warn(f"`effort` must be one of {', '.join(EFFORTS)}, not '{text}'")
        return found

    def mode(self) -> str:
        text = as_text(self._given.get("permissionmode"))
        if text and text not in (*CLAUDE_MODES, AUTO_MODE):
            self._warn(f"`permissionMode` must be one of {', '.join(CLAUDE_MODES)}, not '{text}': the parent's counts")
            return ""
        return text

    def turns(self) -> int | None:
        field = self._given.get("maxturns")
        if field is None:
            return None
        text = as_text(field)
        if not text.isdecimal() or not 0 < int(text[:9]) <= MAX_TURNS:
            self._warn(f"`maxTurns` must be a number from 1 to {MAX_TURNS:,}, not '{text[:20]}'")
            return None
        return int(text)

    def servers(self) -> tuple[str | Json, ...]:
        """Names and `{name: configuration}` objects; a single object may hold several servers."""
        field = self._given.get("mcpservers")
        if isinstance(field, str):
            return as_names(field) or ()
        items = [field] if isinstance(field, dict) else field
        found: list[str | Json] = []
        for item in items if isinstance(items, list) else ():
            if isinstance(item, str):
                found.append(item)
            elif isinstance(item, dict):
                found += [{str(name): server} for name, server in item.items()]
            else:
                self._warn("an entry of `mcpServers` is neither a name nor an object")
        if field is not None and not isinstance(items, list):
            self._warn("`mcpServers` must be a list")
        return tuple(found)

    def hooks(self) -> Mapping[str, Any]:
        field = self._given.get("hooks")
        if field is None:
            return {}
        if not isinstance(field, dict):
            raise BadDefinition("`hooks` must be an object of events")
        return field
